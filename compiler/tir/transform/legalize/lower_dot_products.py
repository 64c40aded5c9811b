"""Lowers 4-way 8-bit dot products to an instruction where there is one, and to products and sums elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Call, PrimExpr, Ramp, Shuffle, StringImm, cast, const, is_const_int
from compiler.ir.node import rebuild
from compiler.ir.op import Op
from compiler.tir.analysis.features import features
from compiler.tir.expressions.builtin import CALL_EXTERN, CALL_PURE_EXTERN, address_of
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.pass_base import FunctionRewrite

_DOT_PRODUCT = Op.get("tir.dp4a")
_CALLS = (CALL_EXTERN, CALL_PURE_EXTERN)
_LANES = 4
_NATIVE = (("int8x4", "int8x4", "int32"), ("uint8x4", "uint8x4", "uint32"))
"""Data types of the operands and of the result that the instruction exists for."""


class LowerDotProducts(FunctionRewrite):
    """Lower ``dp4a``, and calls of ``__dp4a``, to what a target has.

    For example::

        T.call_pure_extern("int32", "__dp4a", A[i:i + 4], B[j:j + 4], c)
        →
        c + T.Cast("int32", A[i]) * T.Cast("int32", B[j]) + T.Cast("int32", A[i + 1]) * …

    With ``native`` the target has the instruction: it is then given the addresses of its operands, where four numbers
    lie side by side and are of types that it multiplies.
    """

    native: bool = False

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        if features(func).ops.isdisjoint({_DOT_PRODUCT.name, *(op.name for op in _CALLS)}):
            return func
        return func.with_body(_Lower(self.native).visit(func.body))


class _Lower(StmtExprMutator):
    def __init__(self, native: bool) -> None:
        self._native = native

    def visit_Call(self, n: Call) -> PrimExpr:
        operands = _operands(n)
        if operands is None:
            return self.visit_Node(n)
        a, b, total = (self.visit(e) for e in operands)
        if self._native and (a.dtype, b.dtype, n.dtype) in _NATIVE and _is_row(a) and _is_row(b):
            return rebuild(n, op=_DOT_PRODUCT, args=(address_of(_loaded(a, 0)), address_of(_loaded(b, 0)), total))
        for lane in range(_LANES):
            total = total + cast(n.dtype, _lane(a, lane)) * cast(n.dtype, _lane(b, lane))
        return total


def _operands(n: Call) -> Sequence[PrimExpr] | None:
    """Return the vectors and the sum of a dot product, None of another call."""
    args = n.args
    if n.op in _CALLS and isinstance(args[0], StringImm) and args[0].value == "__dp4a":
        args = args[1:]
    elif n.op is not _DOT_PRODUCT:
        return None
    return args if len(args) == 3 and all(dt.lanes(e.dtype) == _LANES for e in args[:2]) else None


def _is_row(e: PrimExpr) -> TypeGuard[BufferLoad]:
    return _is_load(e) and isinstance(e.indices[-1], Ramp) and is_const_int(e.indices[-1].stride, 1)


def _is_load(e: PrimExpr) -> TypeGuard[BufferLoad]:
    return isinstance(e, BufferLoad) and isinstance(e.indices[-1], Ramp) and e.predicate is None


def _lane(e: PrimExpr, lane: int) -> PrimExpr:
    """Return one element of a vector; what memory holds is read alone."""
    return _loaded(e, lane) if _is_load(e) else Shuffle((e,), (const(lane),))


def _loaded(e: BufferLoad, lane: int) -> BufferLoad:
    *outer, ramp = e.indices
    assert isinstance(ramp, Ramp)
    return BufferLoad(e.buffer, (*outer, ramp.base + ramp.stride * const(lane, ramp.base.dtype)))
