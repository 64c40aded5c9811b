"""Gives each lane of a vectorised loop its own copy of local memory."""

from __future__ import annotations

from compiler.ir.expr.primexpr import PrimExpr, Var, const
from compiler.ir.node import rebuild
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.stmt import Allocate, BufferStore, Stmt
from compiler.tir.statements.stmt_functor import StmtExprMutator


def widen_allocation(n: Allocate, var: Var, low: PrimExpr, lanes: int) -> tuple[Stmt, PrimExpr]:
    """Give each lane its own elements of memory that is allocated within a vectorized loop.

    The lanes of one element lie side by side, so that a vector of them is one access: index ``i`` becomes
    ``i * lanes + lane``.

    Returns
    -------
    body : Stmt
        With the indices changed, still in terms of the loop variable.
    size : PrimExpr
        The number of elements that are needed.
    """
    size: PrimExpr = const(lanes, n.extents[0].dtype if n.extents else "int32")
    for extent in reversed(n.extents):
        size = extent * size
    lane = var - low
    return _Interleave(n.buffer_var, size, lane, lanes).visit(n.body), size


class _Interleave(StmtExprMutator):
    def __init__(self, data: Var, size: PrimExpr, lane: PrimExpr, lanes: int) -> None:
        self._data = data
        self._size = size
        self._lane = lane
        self._lanes = lanes
        self._wide: dict[Buffer, Buffer] = {}

    def _buffer(self, buffer: Buffer) -> Buffer:
        view = self._wide.get(buffer)
        if view is None:
            view = self._wide[buffer] = rebuild(buffer, shape=(self._size,))
        return view

    def _index(self, index: PrimExpr) -> PrimExpr:
        return index * const(self._lanes, index.dtype) + self._lane

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        indices = self._visit_tuple(n.indices)
        if n.buffer.data is self._data:
            return rebuild(n, buffer=self._buffer(n.buffer), indices=(*indices[:-1], self._index(indices[-1])))
        return rebuild(n, indices=indices, predicate=self._visit_optional(n.predicate))

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        indices, value = self._visit_tuple(n.indices), self.visit(n.value)
        if n.buffer.data is self._data:
            moved = (*indices[:-1], self._index(indices[-1]))
            return rebuild(n, buffer=self._buffer(n.buffer), value=value, indices=moved)
        return rebuild(n, value=value, indices=indices, predicate=self._visit_optional(n.predicate))
