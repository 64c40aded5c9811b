"""Lowers operations on custom data types to the functions registered for them."""

from __future__ import annotations

from compiler.ir import dtype as dt
from compiler.ir.error import DTypeError
from compiler.ir.expr.primexpr import BinaryOp, Call, Cast, CmpOp, Div, FloatImm, PrimExpr, Var, const
from compiler.ir.node import rebuild
from compiler.ir.op import Op
from compiler.tir.expressions.builtin import ACCESS_PTR, ADDRESS_OF, IF_THEN_ELSE, TYPE_ANNOTATION
from compiler.tir.expressions.datatype import Lowering, has_lowering, lower_ite, lowering_of, stored_type
from compiler.tir.expressions.math import sqrt
from compiler.tir.statements.function import PrimFunc
from compiler.tir.transform.calls.device_targets import function_target
from compiler.tir.transform.legalize.bf16_storage_legalize import StorageLegalizer
from compiler.tir.transform.pass_base import FunctionRewrite

_OF_MEMORY = frozenset({ACCESS_PTR, ADDRESS_OF, IF_THEN_ELSE, TYPE_ANNOTATION})
"""Say where numbers lie, and compute nothing."""

_RSQRT = Op.get("tir.rsqrt")
_SPELT_OUT = frozenset({_RSQRT, IF_THEN_ELSE})
"""Need no lowering: the first is a division and a square root, the second chooses among bits."""


class LowerCustomDatatypes(FunctionRewrite):
    """Replace operations on custom types by what ``tvm.target.datatype`` says, and store the numbers as integers.

    For example::

        C[i] = A[i] + T.float32(2)     →     C_1[i] = T.call_pure_extern("uint32", "PositAdd", A_1[i], ...)

    The parameters keep their types, so that arrays of other types are refused. Raises DTypeError if no lowering of an
    operation is registered for the target, or one returns another type than the operation's, and ArgumentError if a
    function does not say which target it is for.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        lower = _Lower(str(function_target(func, "LowerCustomDatatypes").kind))
        for buffer in func.buffer_map.values():
            lower.keep_pointer(buffer.data)
        params = tuple(param if param in func.buffer_map else lower.defined(param) for param in func.params)
        body = lower.visit(func.body)
        return rebuild(func.with_body(body), params=params) if params != func.params else func.with_body(body)


class _Lower(StorageLegalizer):
    def __init__(self, target: str) -> None:
        super().__init__()
        self._target = target

    def keep_pointer(self, pointer: Var) -> None:
        """Let buffers that are parameters be read as integers at the pointer that they have."""
        self._variables[pointer] = pointer

    def is_narrow(self, dtype: str) -> bool:
        return dt.is_custom(dtype)

    def stored(self, dtype: str) -> str:
        return stored_type(dtype)

    def visit_FloatImm(self, n: FloatImm) -> PrimExpr:
        return self._lowered(n, self._lowering("FloatImm", n.dtype)) if dt.is_custom(n.dtype) else n

    def visit_BinaryOp(self, n: BinaryOp) -> PrimExpr:
        a, b = self.visit(n.a), self.visit(n.b)
        made = n if a is n.a and b is n.b else type(n)(a, b)
        if not dt.is_custom(n.a.dtype):
            return made
        result = n.dtype if isinstance(n, CmpOp) else stored_type(n.dtype)
        return self._of_type(result, type(n).__name__, self._lowering(type(n).__name__, n.a.dtype)(made))

    def visit_Cast(self, n: Cast) -> PrimExpr:
        made = rebuild(n, value=self.visit(n.value))
        if not dt.is_custom(n.dtype) and not dt.is_custom(n.value.dtype):
            return made
        source, destination = _type_name(n.value.dtype), _type_name(n.dtype)
        return self._lowered(made, lowering_of("Cast", self._target, source, destination))

    def visit_Call(self, n: Call) -> PrimExpr:
        made = rebuild(n, args=self._visit_tuple(n.args))
        kind = next((d for d in (n.dtype, *(a.dtype for a in n.args)) if dt.is_custom(d)), None)
        if kind is None:
            return made
        if n.op in _OF_MEMORY or not isinstance(n.op, Op):
            return rebuild(made, dtype=stored_type(n.dtype))
        name = _type_name(kind)
        if n.op in _SPELT_OUT and not has_lowering("Call", self._target, name, intrinsic=n.op.name):
            return self.visit(Div(const(1, n.dtype), sqrt(n.args[0]))) if n.op is _RSQRT else lower_ite(made)
        return self._lowered(made, lowering_of("Call", self._target, name, intrinsic=n.op.name))

    def _lowering(self, op_name: str, dtype: str) -> Lowering:
        return lowering_of(op_name, self._target, _type_name(dtype))

    def _lowered(self, n: PrimExpr, lower: Lowering) -> PrimExpr:
        return self._of_type(stored_type(n.dtype), type(n).__name__, lower(n))

    def _of_type(self, dtype: str, op_name: str, result: object) -> PrimExpr:
        """Return what a lowering returned, if it is a value of the type that is expected there."""
        if not isinstance(result, PrimExpr) or result.dtype != dtype:
            returned = f"one of type {result.dtype}" if isinstance(result, PrimExpr) else type(result).__name__
            raise DTypeError(
                f"LowerCustomDatatypes: the lowering of {op_name} must return an expression of {dtype}, got {returned}"
            )
        return result


def _type_name(dtype: str) -> str:
    """Return the name of a type without width and lanes, as lowerings are registered by; bool is of ``uint``."""
    if dt.is_custom(dtype):
        return dt.custom_name(dtype)
    return "uint" if dt.is_bool(dtype) else dt.parse(dtype).code
