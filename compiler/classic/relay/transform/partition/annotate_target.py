"""AnnotateTarget: marks the operators that external compilers support."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.classic.relay.analysis.annotated_regions import BEGIN, END
from compiler.ir.expr import RelayExpr, set_checked_type
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.op import Op
from compiler.ir.transform import PassContext
from compiler.relay.analysis import bottom_up
from compiler.relay.expr import Call, GraphExpr, If, Let, Tuple, TupleGetItem, Var
from compiler.relay.expr_functor import ExprMutator
from compiler.relay.function import Function
from compiler.relay.operator import call_of, call_op, op_name
from compiler.relay.reference import RefCreate, RefRead, RefWrite
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.rewriter import typed

DEFAULT = "default"
"""The name of the compiler that compiles everything else: this one."""
_OTHERS = (Tuple, TupleGetItem, RefCreate, RefRead, RefWrite)
"""Expressions beside calls that may be annotated."""


class AnnotateTarget(FunctionPass, required=("InferType",)):
    """Put annotations around the operators that external compilers support.

    Level 0; requires InferType.  An operator's attribute ``target.NAME``, a function from a call to a bool, says
    whether compiler NAME supports the call; ``tvm.ir.register_op_attr(op, "target.NAME")`` sets it.  The call of a
    function whose attribute ``Composite`` begins with ``NAME.`` goes to NAME too.  Of ``targets``, the names of the
    compilers, the first is preferred; ``include_non_call_ops`` annotates tuples, their elements and references too.

    Examples
    --------
    ``AnnotateTarget('dsp')``::

        def @main(%x: Tensor[(3), float32]) {
          %0 = fn (%y: Tensor[(3), float32], Composite="dsp.relu") { nn.relu(%y) };
          exp(%0(%x))
        }
        ->
        def @main(%x: Tensor[(3), float32]) {
          %0 = fn (%y: Tensor[(3), float32], Composite="dsp.relu") { nn.relu(%y) };
          %1 = annotation.compiler_begin(%x, compiler="dsp");
          %2 = annotation.compiler_end(%0(%1), compiler="dsp");
          annotation.compiler_end(exp(annotation.compiler_begin(%2, compiler="default")), compiler="default")
        }
    """

    targets: str | Sequence[str]
    include_non_call_ops: bool = True

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        names = (self.targets,) if isinstance(self.targets, str) else tuple(map(str, self.targets))
        stripper = _Stripper()
        bare = bottom_up(stripper, func)
        return bottom_up(_Annotator(names, self.include_non_call_ops, stripper.targets), bare)


class _Stripper(ExprMutator):
    """Removes annotations, and remembers which compiler has got what."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: dict[GraphExpr, str] = {}

    def visit_call(self, call: Call) -> RelayExpr:
        if op_name(call) in (BEGIN, END):
            return self.visit(call.args[0])
        new = self.rebuilt_call(call)
        if new is not call:
            set_checked_type(new, call.checked_type_)
        begins = [call_of(arg, BEGIN) for arg in call.args]
        given = [begin.attrs["compiler"] for begin in begins if begin is not None]
        if given and given[0] != DEFAULT:
            self.targets[new] = given[0]
        return new

    def visit(self, expr: GraphExpr) -> RelayExpr:
        result = super().visit(expr)
        if result is not expr and result.checked_type_ is None:
            set_checked_type(result, expr.checked_type_)
        return result


def _has_operands(expr: RelayExpr) -> bool:
    if isinstance(expr, Call):
        return bool(expr.args)
    return bool(expr.fields) if isinstance(expr, Tuple) else isinstance(expr, _OTHERS)


class _Annotator(ExprMutator):
    def __init__(self, names: Sequence[str], everything: bool, earlier: dict[GraphExpr, str]) -> None:
        super().__init__()
        self._names = names
        self._everything = everything
        self._earlier = earlier
        self._targets: dict[GraphExpr, str] = {}

    # which compiler

    def _supporting(self, call: Call) -> str:
        """Return the compiler that gets a call."""
        if call in self._earlier:
            return self._earlier[call]
        if isinstance(call.op, Op):
            for name in self._names:
                supports = call.op.get_attr(f"target.{name}")
                if supports is not None and supports(call):
                    return name
        if isinstance(call.op, Function):
            owner, dot, _ = str(call.op.attrs.get("Composite", "")).partition(".")
            if dot and owner in self._names:
                return owner
        return DEFAULT

    # annotations

    def _ended(self, expr: RelayExpr) -> RelayExpr:
        """Return an expression, behind an annotation where some compiler gets it."""
        target = self._targets.get(expr)
        return expr if target is None or not _has_operands(expr) else self._marked(END, expr, target)

    def _begun(self, parts: Sequence[RelayExpr], target: str | None = None) -> tuple[str, list[RelayExpr]]:
        """Return operands between annotations, and the compiler: the one given, else that of all operands."""
        used = {self._targets.get(part, DEFAULT) for part in parts}
        chosen = target or (used.pop() if len(used) == 1 else DEFAULT)
        return chosen, [self._marked(BEGIN, self._ended(part), chosen) for part in parts]

    def _marked(self, name: str, expr: RelayExpr, target: str) -> Call:
        return typed(call_op(name, expr, compiler=target), expr.checked_type_)

    # rules

    def visit_call(self, call: Call) -> RelayExpr:
        args = [self.visit(arg) for arg in call.args]
        if isinstance(call.op, Var) and not self._everything:
            return rebuild(call, args=tuple(self._ended(arg) for arg in args))
        target, begins = self._begun(args, self._supporting(call))
        op = call.op if isinstance(call.op, Function) and "Composite" in call.op.attrs else self.visit(call.op)
        new = typed(rebuild(call, op=op, args=tuple(begins)), call.checked_type_)
        self._targets[new] = target
        return new

    def visit_function(self, fn: Function) -> RelayExpr:
        if "Composite" in fn.attrs:
            return fn
        return rebuild(fn, body=self._ended(self.visit(fn.body)))

    def visit_let(self, let: Let) -> RelayExpr:
        value = self.visit(let.value)
        if not isinstance(value, Function):
            value = self._begun([value])[1][0]
        return rebuild(let, value=value, body=self._ended(self.visit(let.body)))

    def visit_if(self, i: If) -> RelayExpr:
        cond, yes, no = (self._ended(self.visit(p)) for p in (i.cond, i.true_branch, i.false_branch))
        return rebuild(i, cond=cond, true_branch=yes, false_branch=no)

    def visit_tuple(self, tup: Tuple) -> RelayExpr:
        return self._other(tup, tup.fields, lambda new: rebuild(tup, fields=tuple(new)))

    def visit_tuple_getitem(self, op: TupleGetItem) -> RelayExpr:
        return self._other(op, (op.tuple_value,), lambda new: rebuild(op, tuple_value=new[0]))

    def visit_ref_create(self, r: RefCreate) -> RelayExpr:
        return self._other(r, (r.value,), lambda new: rebuild(r, value=new[0]))

    def visit_ref_read(self, r: RefRead) -> RelayExpr:
        return self._other(r, (r.ref,), lambda new: rebuild(r, ref=new[0]))

    def visit_ref_write(self, r: RefWrite) -> RelayExpr:
        return self._other(r, (r.ref, r.value), lambda new: rebuild(r, ref=new[0], value=new[1]))

    def _other(
        self, expr: RelayExpr, parts: Sequence[RelayExpr], made_of: Callable[[Sequence[RelayExpr]], RelayExpr]
    ) -> RelayExpr:
        new = [self.visit(part) for part in parts]
        if not self._everything:
            return made_of([self._ended(part) for part in new])
        target, begins = self._begun(new)
        result = typed(made_of(begins), expr.checked_type_)
        self._targets[result] = target
        return result
