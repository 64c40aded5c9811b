"""``relay.tec.LowerTE``: lowers the fused functions of a module to loops that its other functions call."""

from __future__ import annotations

from compiler.driver.relay.groups import KernelNames, StructuralKey, structural_key
from compiler.driver.relay.lower import lower_group
from compiler.ir.expr import RelayExpr, set_checked_type
from compiler.ir.function import BaseFunc, GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.transform import Pass, PassContext, module_pass
from compiler.ir.types import FuncType, Type
from compiler.relay.analysis.traversal import post_order
from compiler.relay.expr import Call, Constant, GraphExpr, Let, Tuple, Var
from compiler.relay.function import Function
from compiler.relay.op.call_lowered import CallLoweredAttrs
from compiler.relay.operator import call_op, op_name
from compiler.relay.transform.rewriter import GraphMutator, is_primitive
from compiler.relay.ty import TensorType, TupleType
from compiler.runtime.modules.packed_func import register_func
from compiler.target.target import Target
from compiler.target.virtual_device import CompilationConfig

__all__ = ["lower_te", "remove_standalone_reshapes"]

RESHAPE_ONLY = "relay.reshape_only"
"""The attribute of a fused function that does nothing but give its input another shape."""


def lower_te(module_name: str, config: CompilationConfig) -> Pass:
    """Return the pass that makes loops of each fused function, and ``call_lowered`` of each call of one.

    Examples
    --------
    With ``module_name`` ``"mod"``::

        def @main(%x: Tensor[(4), float32]) {
          %0 = fn (%p, Primitive=1) { nn.relu(%p) };
          %0(%x)
        }
        ->
        def @main(%x: Tensor[(4), float32]) {
          %0 = (%x,);
          call_lowered(@mod_fused_nn_relu, %0, metadata=…)
        }
    """
    target = config.default_primitive_virtual_device.target or config.primitive_targets[0]

    def lower_module(mod: IRModule, ctx: PassContext) -> IRModule:
        lowering = _Lowering(module_name, target)
        functions: dict[GlobalVar | str, BaseFunc] = {
            var: lowering.lowered(f) if isinstance(f, Function) and not is_primitive(f) else f
            for var, f in mod.functions.items()
        }
        result = IRModule({**functions, **lowering.functions}, mod.type_definitions, attrs=mod.attrs)
        return result.with_attr("external_mods", []).with_attr("device_contexts", {})

    result: Pass = module_pass(lower_module, opt_level=0, name="LowerTE")
    return result


register_func("relay.tec.LowerTE", lower_te)


class _Lowering:
    """The loops that the calls of a module were lowered to; equal functions share them."""

    def __init__(self, module_name: str, target: Target) -> None:
        self.functions: dict[GlobalVar, BaseFunc] = {}
        self._names = KernelNames(module_name)
        self._target = target
        self._lowered: dict[StructuralKey, tuple[GlobalVar, list[Constant]]] = {}

    def lowered(self, function: Function) -> Function:
        bound = {
            part.var: part.value
            for part in post_order(function.body)
            if isinstance(part, Let) and isinstance(part.value, Function) and is_primitive(part.value)
        }
        return _CallLowered(self, bound).rewrite_function(function)

    def call(self, function: Function, arguments: tuple[RelayExpr, ...], result: Type) -> Call:
        """Return the call of the loops of a fused function."""
        key = structural_key(function)
        if key not in self._lowered:
            self._lowered[key] = self._lower(function)
        name, constants = self._lowered[key]
        tuple_ = Tuple((*arguments, *constants))
        metadata: dict[str, object] = {"relay_attrs": function.attrs, "all_prim_fn_vars": [name]}
        if RESHAPE_ONLY in function.attrs:
            metadata[RESHAPE_ONLY] = function.attrs[RESHAPE_ONLY]
        call = call_op("call_lowered", name, tuple_, metadata=metadata)
        set_checked_type(tuple_, TupleType(tuple(a.checked_type for a in tuple_.fields)))
        set_checked_type(call, result)
        return call

    def _lower(self, function: Function) -> tuple[GlobalVar, list[Constant]]:
        kernel = lower_group(function, self._names.name(function), self._target)
        constants = [Constant(value) for value in kernel.constants]
        for constant in constants:
            set_checked_type(constant, TensorType(constant.data.shape, constant.data.dtype))
        name = GlobalVar(kernel.name)
        types = tuple(p.checked_type for p in (*function.params, *constants))
        set_checked_type(name, FuncType(types, function.body.checked_type))
        loops = kernel.prim_func.with_attr({"global_symbol": kernel.name, "target": self._target})
        self.functions[name] = loops
        return name, constants


class _CallLowered(GraphMutator):
    def __init__(self, lowering: _Lowering, bound: dict[Var, Function]) -> None:
        super().__init__()
        self._lowering = lowering
        self._bound = bound

    def visit_call(self, call: Call) -> RelayExpr:
        callee = self._bound.get(call.op, call.op) if isinstance(call.op, Var) else call.op
        if isinstance(callee, Function) and is_primitive(callee):
            body = callee.body
            if isinstance(body, Call) and op_name(body) == "on_device" and body.args[0] in callee.params:
                return self.visit(call.args[0])  # says where a value is, and computes nothing
            return self._lowering.call(callee, tuple(self.visit(a) for a in call.args), call.checked_type)
        return super().visit_call(call)

    def visit_let(self, let: Let) -> RelayExpr:
        return self.visit(let.body) if let.var in self._bound else super().visit_let(let)


def remove_standalone_reshapes() -> Pass:
    """Return the pass that removes calls of loops that only reshape, which need no loops: what they read is used.

    Examples
    --------
    Where the attributes of ``@mod_fused_reshape`` have ``relay.reshape_only``::

        let %a = call_lowered(@mod_fused_reshape, (%x,));
        let %b = call_lowered(@mod_fused_dense, (%a, %w));
        %b
        ->
        let %b = call_lowered(@mod_fused_dense, (%x, %w));
        %b
    """

    def remove(mod: IRModule, ctx: PassContext) -> IRModule:
        functions: dict[GlobalVar | str, BaseFunc] = {
            var: _ReshapeRemover(f).rewrite_function(f) if isinstance(f, Function) else f
            for var, f in mod.functions.items()
        }
        return IRModule(functions, mod.type_definitions, attrs=mod.attrs)

    result: Pass = module_pass(remove, opt_level=0, name="RemoveStandaloneReshapes")
    return result


register_func("relay._transform.RemoveStandaloneReshapes", remove_standalone_reshapes)


class _ReshapeRemover(GraphMutator):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self._read: dict[Var, RelayExpr] = {}
        for part in post_order(function.body):
            if isinstance(part, Let) and part.body is not part.var:
                read = _reshaped(part.value)
                if read is not None:
                    self._read[part.var] = read

    def visit_var(self, var: Var) -> RelayExpr:
        return self.visit(self._read[var]) if var in self._read else super().visit_var(var)

    def visit_let(self, let: Let) -> RelayExpr:
        return self.visit(let.body) if let.var in self._read else super().visit_let(let)


def _reshaped(expr: GraphExpr) -> RelayExpr | None:
    """Return what loops that only give their input another shape are called with; None of any other expression."""
    if not isinstance(expr, Call) or not isinstance(expr.attrs, CallLoweredAttrs):
        return None
    arguments = expr.args[1]
    if not expr.attrs.metadata.get(RESHAPE_ONLY) or not isinstance(arguments, Tuple):
        return None
    return arguments.fields[0]
