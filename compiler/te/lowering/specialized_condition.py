"""``te.SpecializedCondition``: conditions under which a strategy's implementation applies."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.context_stack import Entered
from compiler.ir.expr.primexpr import PrimExpr, convert


class SpecializedCondition(Entered):
    """A conjunction of conditions on shapes; current within a ``with`` block."""

    def __init__(self, conditions: PrimExpr | bool | Sequence[PrimExpr | bool]) -> None:
        given = conditions if isinstance(conditions, (list, tuple)) else [conditions]
        self.clauses = [convert(c) for c in given]

    @staticmethod
    def current() -> SpecializedCondition | None:
        """Return the condition of the innermost ``with`` block."""
        return SpecializedCondition._innermost()
