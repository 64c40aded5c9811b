"""Removing stores of what an element holds already."""

from __future__ import annotations

from compiler.arith.analyzer import Analyzer
from compiler.ir.primexpr import PrimExpr
from compiler.tir.analysis.buffer_values import BufferValues
from compiler.tir.analysis.side_effect import has_effect
from compiler.tir.buffer import BufferLoad, BufferStore
from compiler.tir.stmt import Stmt, no_op
from compiler.tir.transform.value_follower import ValueFollower

__all__ = ["without_known_stores"]


def without_known_stores(stmt: Stmt) -> Stmt:
    """Return a statement without stores of values that are known to be there. ::

        for i in range(16):            for i in range(16):
            A[i] = i             →         A[i] = i
        A[4] = 4

    Parameters
    ----------
    stmt : Stmt

    Returns
    -------
    Stmt
    """
    return _KnownStores().visit(stmt)  # type: ignore[no-any-return]


class _KnownStores(ValueFollower):
    def __init__(self) -> None:
        self.values = BufferValues(Analyzer())

    def visit_PrimExpr(self, n: PrimExpr) -> PrimExpr:
        return n

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        self.values.forget(n.value)
        if n.value.dtype == n.buffer.dtype and not any(map(has_effect, (n.value, *n.indices))):
            there = self.values.value_of(BufferLoad(n.buffer, n.indices))
            if there is not None and self.values.analyzer.can_prove_equal(there, self.values.resolve(n.value)):
                return no_op()
        self.values.store(n)
        return n
