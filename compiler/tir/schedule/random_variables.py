"""Random variables: the blocks, loops and expressions that primitives take and return."""

from __future__ import annotations

from typing import TypeAlias

from compiler.ir.expr.primexpr import PrimExpr


class RandomVariable:
    """Something that a schedule knows the meaning of; compared by identity."""

    __slots__ = ()

    def same_as(self, other: object) -> bool:
        """Return whether ``other`` is this object."""
        return self is other


class BlockRV(RandomVariable):
    """A block of a schedule."""

    __slots__ = ()


class LoopRV(RandomVariable):
    """A loop of a schedule."""

    __slots__ = ()


ExprRV: TypeAlias = PrimExpr
"""A number that a schedule knows, or an expression of such numbers."""
