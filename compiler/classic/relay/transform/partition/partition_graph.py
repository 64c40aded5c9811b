"""PartitionGraph: outlines the regions of external compilers as functions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from compiler.classic.relay.analysis.annotated_regions import BEGIN, END, AnnotatedRegion, AnnotatedRegionSet
from compiler.classic.relay.transform.partition.annotate_target import DEFAULT
from compiler.classic.relay.transform.partition.merge_compiler_regions import without_empty_regions
from compiler.ir.expr import RelayExpr
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.transform import ModulePass, PassContext
from compiler.relay.analysis import bottom_up
from compiler.relay.binding import bind
from compiler.relay.expr import Call, Constant, GraphExpr, Tuple, TupleGetItem, Var, expect
from compiler.relay.expr_functor import ExprMutator
from compiler.relay.function import Function
from compiler.relay.inference import infer_module
from compiler.relay.operator import call_op, op_name
from compiler.runtime.modules.packed_func import get_global_func


class PartitionGraph(ModulePass, required=("InferType",)):
    """Make a function of the module of each region that an external compiler gets, and call it there.

    Level 0; requires InferType.  The functions have the attributes ``Compiler``, ``Primitive``, ``Inline`` and
    ``global_symbol``; their names begin with ``tvmgen_`` and ``mod_name``.  With ``bind_constants`` constants become
    parts of them, otherwise arguments.  A function registered as ``relay.ext.NAME.optimize`` gets the module of each
    function of compiler NAME and returns another one.

    Examples
    --------
    ``PartitionGraph()``::

        def @main(%x: Tensor[(3), float32]) {
          annotation.compiler_end(exp(annotation.compiler_begin(%x, compiler="dsp")), compiler="dsp")
        }
        ->
        def @main(%x: Tensor[(3), float32]) { @tvmgen_default_dsp_main_0(%x) }
        def @tvmgen_default_dsp_main_0(
          %dsp_0_i0: Tensor[(3), float32],
          global_symbol="tvmgen_default_dsp_main_0", Primitive=1, Compiler="dsp", Inline=1
        ) { exp(%dsp_0_i0) }
    """

    mod_name: str = "default"
    bind_constants: bool = True

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        functions = {var: func for var, func in mod.items() if _is_ours(func)}
        for var, func in functions.items():
            mod[var] = bottom_up(_Flattener(), without_empty_regions(func))
        mod = infer_module(mod)
        for var in functions:
            partitioner = _Partitioner(self, mod[var], var.name_hint)
            mod[var] = bottom_up(partitioner, mod[var])
            for made, func in partitioner.made.items():
                mod[made] = func
        return infer_module(mod)

    def symbol(self, compiler: str, function: str, region: int) -> str:
        """Return the name of the function that a region of another function becomes."""
        parts = (self.mod_name, compiler, function, str(region))
        return re.sub(r"\W", "_", "_".join(("tvmgen", *filter(None, parts))), flags=re.ASCII)


def _is_ours(func: RelayExpr) -> bool:
    return isinstance(func, Function) and not func.attrs.get("SkipOptimization") and not func.attrs.get("Compiler")


def _is_constant(value: RelayExpr) -> bool:
    if isinstance(value, Tuple):
        return bool(value.fields) and all(map(_is_constant, value.fields))
    return isinstance(value, Constant)


class _Flattener(ExprMutator):
    """Removes annotations for this very compiler, and ends each element of a tuple that leaves a region by itself."""

    def visit_call(self, call: Call) -> RelayExpr:
        if op_name(call) in (BEGIN, END) and call.attrs["compiler"] == DEFAULT:
            return self.visit(call.args[0])
        new = self.rebuilt_call(call)
        value = new.args[0] if op_name(new) == END else None
        if isinstance(value, Tuple):
            return Tuple(tuple(call_op(END, part, compiler=call.attrs["compiler"]) for part in value.fields))
        return new


@dataclass
class _RegionFunction:
    """What is known of the function that a region becomes.

    Its parameters are stored by the expressions outside that they stand for, and its results by the values that leave
    the region; there are none before the function is made.
    """

    params: dict[RelayExpr, Var] = field(default_factory=dict)
    results: dict[GraphExpr, RelayExpr] = field(default_factory=dict)


class _Partitioner(ExprMutator):
    def __init__(self, options: PartitionGraph, func: Function, name: str) -> None:
        super().__init__()
        self._options = options
        self._name = name
        self._regions = AnnotatedRegionSet(func)
        self._functions: dict[AnnotatedRegion, _RegionFunction] = {r: _RegionFunction() for r in self._regions}
        self.made: dict[GlobalVar, Function] = {}

    def visit_call(self, call: Call) -> RelayExpr:
        region = self._regions.get_region(call)
        if region is None or op_name(call) not in (BEGIN, END):
            return super().visit_call(call)
        function = self._functions[region]
        if op_name(call) == BEGIN:
            return self._param(region, function, call)
        if not function.results:
            self._make(region, function)
        return function.results[call.args[0]]

    def _param(self, region: AnnotatedRegion, function: _RegionFunction, begin: Call) -> Var:
        value = self.visit(begin.args[0])
        if value not in function.params:
            name = f"{region.target}_{region.id}_i{region.args.index(begin)}"
            function.params[value] = Var(name, begin.checked_type)
        return function.params[value]

    def _make(self, region: AnnotatedRegion, function: _RegionFunction) -> None:
        values = list(dict.fromkeys(end.args[0] for end in region.rets))
        bodies = [self.visit(value) for value in values]
        body = bodies[0] if len(bodies) == 1 else Tuple(tuple(bodies))
        bound = {p: v for v, p in function.params.items() if self._options.bind_constants and _is_constant(v)}
        made = Function(tuple(function.params.values()), body)
        if bound:
            made = expect(Function, bind(made, bound))
        var = self._declared(region, made)
        arguments = tuple(value for value, param in function.params.items() if param not in bound)
        call = Call(var, arguments)
        single = len(values) == 1
        function.results = {value: call if single else TupleGetItem(call, i) for i, value in enumerate(values)}

    def _declared(self, region: AnnotatedRegion, func: Function) -> GlobalVar:
        symbol = self._options.symbol(region.target, self._name, region.id)
        improve = get_global_func(f"relay.ext.{region.target}.optimize", allow_missing=True)
        if improve is not None:
            func = improve(infer_module(IRModule.from_expr(func)))["main"]
        facts = {"global_symbol": symbol, "Primitive": 1, "Compiler": region.target, "Inline": 1}
        var = GlobalVar(symbol)
        self.made[var] = func.with_attr(facts)
        return var
