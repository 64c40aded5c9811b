"""Simplifies each side of a condition under the constraint of the other."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from compiler.ir.expr.primexpr import And, Not, Or, PrimExpr


def simplify_branches(
    e: PrimExpr,
    simplify: Callable[[PrimExpr], PrimExpr],
    constraint: Callable[[PrimExpr], AbstractContextManager[None]],
    may_move: Callable[[PrimExpr], bool],
) -> PrimExpr:
    """Simplify each side of ``and`` as the other one holds, of ``or`` as the other one does not. ::

        10 <= x and (5 < x or y < 2)    →    10 <= x

    Where ``may_move`` says that a condition has no value where the one before it does not hold, the left side may guard
    the right one, and stays.
    """

    def branches(e: PrimExpr) -> PrimExpr:
        if not isinstance(e, (And, Or)):
            return simplify(e)
        first = branches(e.a)
        second = beside(first, e, e.b)
        if may_move(second):
            first = beside(second, e, first)
        return simplify(type(e)(first, second))

    def beside(side: PrimExpr, e: And | Or, other: PrimExpr) -> PrimExpr:
        """Simplify one side by what has to hold of the other one for it to matter."""
        holds = side if isinstance(e, And) else simplify(Not(side))
        with constraint(holds):
            return branches(other)

    return branches(e)
