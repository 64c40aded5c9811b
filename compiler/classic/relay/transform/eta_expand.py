"""EtaExpand: wraps constructors and global functions that are used as values."""

from __future__ import annotations

from compiler.ir.expr import RelayExpr
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.transform import ModulePass, PassContext
from compiler.ir.types import FuncType, TypeVar
from compiler.relay.adt import Constructor
from compiler.relay.analysis import bottom_up
from compiler.relay.expr import Call, Var
from compiler.relay.expr_functor import ExprMutator
from compiler.relay.function import Function
from compiler.relay.inference import infer_copies
from compiler.relay.inference.solver import substitute_types


class EtaExpand(ModulePass, opt_level=1):
    """Wrap constructors, and with ``expand_global_var`` functions of the module, into functions of their own where they
    are values.

    Level 1.  This is the eta rule, ``f = fn (x) { f(x) }`` (H. P. Barendregt, "The Lambda Calculus: Its Syntax and
    Semantics", 1984); ``expand_constructor`` applies it to constructors.

    Examples
    --------
    ``EtaExpand(expand_constructor=True)``::

        type Option[A] { Some(A), None }
        def @main(%x: Tensor[(3), float32]) { (Some, %x) }
        ->
        type Option[A] { Some(A), None }
        def @main(%x: Tensor[(3), float32]) { (fn [A](%y: A) -> Option[A] { Some(%y) }, %x) }

    ``EtaExpand(expand_global_var=True)``::

        def @double(%y: Tensor[(3), float32]) -> Tensor[(3), float32] { add(%y, %y) }
        def @main() { (@double,) }
        ->
        def @double(%y: Tensor[(3), float32]) -> Tensor[(3), float32] { add(%y, %y) }
        def @main() { (fn (%x: Tensor[(3), float32]) -> Tensor[(3), float32] { @double(%x) },) }
    """

    expand_constructor: bool = False
    expand_global_var: bool = False

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        typed = infer_copies(mod)
        expand = _Expand(self.expand_constructor, self.expand_global_var)
        result = typed.with_functions(
            {var: bottom_up(expand, func) if isinstance(func, Function) else func for var, func in typed.items()}
        )
        return infer_copies(result)


class _Expand(ExprMutator):
    def __init__(self, constructors: bool, global_vars: bool) -> None:
        super().__init__()
        self._kinds = ((Constructor,) if constructors else ()) + ((GlobalVar,) if global_vars else ())

    def visit_call(self, call: Call) -> RelayExpr:
        if not isinstance(call.op, self._kinds):
            return super().visit_call(call)
        args = self._visit_tuple(call.args)  # what is called is not a value
        return rebuild(call, args=args)

    def visit_constructor(self, con: Constructor) -> RelayExpr:
        return _wrapped(con) if isinstance(con, self._kinds) else con

    def visit_global_var(self, gvar: GlobalVar) -> RelayExpr:
        return _wrapped(gvar) if isinstance(gvar, self._kinds) else gvar


def _wrapped(value: RelayExpr) -> RelayExpr:
    t = value.checked_type
    if not isinstance(t, FuncType):
        return value
    fresh = {old: TypeVar(old.name_hint) for old in t.type_params}
    params = tuple(Var("eta_expand_param", substitute_types(a, dict(fresh))) for a in t.arg_types)
    return Function(params, Call(value, params), substitute_types(t.ret_type, dict(fresh)), tuple(fresh.values()))
