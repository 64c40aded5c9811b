"""ChangeDatatype: changes the data type a program computes in."""

from __future__ import annotations

from typing import Any

from compiler.ir import dtype as dt
from compiler.ir.module import IRModule
from compiler.ir.origin import traversing
from compiler.ir.transform import PassContext
from compiler.relay.analysis import bottom_up
from compiler.relay.expr import Constant, Var
from compiler.relay.expr_functor import ExprMutator
from compiler.relay.function import Function
from compiler.relay.op.cast import cast
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.ty import FuncType, TensorType, TupleType, Type


class ChangeDatatype(FunctionPass):
    """Change the data type of parameters, variables and constants.

    Level 0.  Dependent types are inferred again; the caller must convert the values of parameters.
    With ``tvm.target.datatype`` the other type may be a custom data type, ``custom[posit]32``.

    Examples
    --------
    ``ChangeDatatype(src='float32', dst='float16')``::

        def @main(%x: Tensor[(3), float32]) { add(%x, 1f) }
        ->
        def @main(%x: Tensor[(3), float16]) { add(%x, cast(1f, dtype="float16")) }
    """

    src: str
    dst: str

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        change = _Change(dt.canonical(self.src), dt.canonical(self.dst))
        with traversing():
            changed: Function = bottom_up(change, func)
        return changed


class _Change(ExprMutator):
    def __init__(self, src: str, dst: str) -> None:
        super().__init__()
        self._src, self._dst = src, dst

    def visit_constant(self, constant: Constant) -> Any:
        return cast(constant, self._dst) if constant.data.dtype == self._src else constant

    def visit_var(self, var: Var) -> Any:
        changed = self._changed(var.type_annotation)
        return var if changed is var.type_annotation else Var(var.name_hint, changed)

    def visit_function(self, fn: Function) -> Any:
        params = tuple(map(self.visit_bound, fn.params))
        return Function(params, self.visit(fn.body), self._changed(fn.ret_type), fn.type_params, fn.attrs)

    def _changed(self, t: Any) -> Any:
        """Replace the data type within a type."""
        if isinstance(t, TensorType):
            return TensorType(t.shape, self._dst) if t.dtype == self._src else t
        if isinstance(t, TupleType):
            fields: tuple[Type, ...] = tuple([self._changed(field) for field in t.fields])
            return t if all(a is b for a, b in zip(fields, t.fields, strict=True)) else TupleType(fields)
        if isinstance(t, FuncType):
            args = tuple([self._changed(arg) for arg in t.arg_types])
            return FuncType(args, self._changed(t.ret_type), t.type_params, t.type_constraints)
        return t
