"""Predicated accesses: only the selected lanes of a vector."""

from __future__ import annotations

from typing import TypeVar

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Call, PrimExpr, Ramp, is_const_int
from compiler.ir.node import rebuild
from compiler.ir.op import CallEffect, Op
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.stmt import BufferStore, SeqStmt, Stmt
from compiler.tir.statements.stmt_functor import StmtExprMutator

ACTIVE_LANES = Op.get("tir.get_active_lane_mask")


_Access = TypeVar("_Access", BufferLoad, BufferStore)


class NoVectorForm(Exception):
    """A statement has no vector form."""


def predicated(stmt: Stmt, mask: PrimExpr) -> Stmt:
    """Give the accesses of a statement a predicate.

    ::

        C[0:8] = A[0:8]     →     C.vstore([T.Ramp(0, 1, 8)], A[0:8] where mask, predicate=mask)

    Raises NoVectorForm if there is anything else than stores of vectors side by side.
    """
    return _Predicate(mask).visit(stmt)


class _Predicate(StmtExprMutator):
    def __init__(self, mask: PrimExpr) -> None:
        self._mask = mask

    def visit_Stmt(self, n: Stmt) -> Stmt:
        raise NoVectorForm

    def visit_SeqStmt(self, n: SeqStmt) -> Stmt:
        return self.visit_Node(n)

    def visit_Call(self, n: Call) -> PrimExpr:
        if not isinstance(n.op, Op) or n.op.effect.value > CallEffect.PURE.value:
            raise NoVectorForm
        return self.visit_Node(n)

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        return self._access(n)

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        return self._access(rebuild(n, value=self.visit(n.value)))

    def _access(self, n: _Access) -> _Access:
        index = n.indices[-1] if n.indices else None
        if not isinstance(index, Ramp) or not is_const_int(index.stride, 1) or n.predicate is not None:
            raise NoVectorForm
        if dt.lanes(index.dtype) != dt.lanes(self._mask.dtype):
            raise NoVectorForm
        return rebuild(n, predicate=self._mask)
