"""Whether expressions are written alike, cheaply."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.primexpr import PrimExpr
from compiler.ir.structural import structural_equal


def same_exprs(a: Sequence[PrimExpr], b: Sequence[PrimExpr]) -> bool:
    """Return whether two lists of expressions are written alike, with the same variables."""
    return len(a) == len(b) and all(x is y or structural_equal(x, y) for x, y in zip(a, b, strict=True))
