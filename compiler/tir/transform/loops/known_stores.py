"""Removes stores of values that an element already holds."""

from __future__ import annotations

from compiler.arith.analyzer import Analyzer
from compiler.tir.analysis.buffer_values import BufferValues
from compiler.tir.analysis.side_effect import has_effect
from compiler.tir.statements.buffer import BufferLoad, BufferStore
from compiler.tir.statements.stmt import Stmt, no_op
from compiler.tir.transform.loops.value_follower import StatementFollower


def without_known_stores(stmt: Stmt) -> Stmt:
    """Return a statement without stores of values that are known to be there.

    For example::

        for i in range(16):            for i in range(16):
            A[i] = i             →         A[i] = i
        A[4] = 4
    """
    return KnownStores(BufferValues(Analyzer())).visit(stmt)


class KnownStores(StatementFollower):
    """Removes stores of known values, and of an element to itself."""

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        self.values.forget(n.value)
        is_plain = (
            n.predicate is None and n.value.dtype == n.buffer.dtype and not any(map(has_effect, (n.value, *n.indices)))
        )
        if is_plain and self._is_there(n):
            return no_op()
        self.values.store(n)
        return n

    def _is_there(self, n: BufferStore) -> bool:
        """Return whether the element holds the stored value already."""
        analyzer = self.values.analyzer
        value = analyzer.simplify(self.values.resolve(n.value))
        there = self.values.value_of(BufferLoad(n.buffer, n.indices))
        if there is not None:
            return analyzer.can_prove_equal(there, value)
        if not isinstance(value, BufferLoad) or value.buffer is not n.buffer:
            return False
        return all(map(analyzer.can_prove_equal, value.indices, n.indices))
