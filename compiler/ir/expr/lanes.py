"""Vector lengths: a number, or a multiple of ``vscale`` for scalable vectors."""

from __future__ import annotations

from functools import cache
from operator import index
from typing import SupportsIndex, TypeAlias

from compiler.ir.error import LanesError, show
from compiler.ir.expr.operators import ExprLike, operator_builder
from compiler.ir.expr.scalars import IntImm, PrimExpr
from compiler.ir.op import register_op

VSCALE = register_op("tir.vscale", doc="How many times 128 bits the scalable vectors of the processor have.")

Lanes: TypeAlias = int | PrimExpr
"""How many lanes a vector has: a number, or an expression such as ``vscale() * 4``."""


class LaneCount(int):
    """A number of lanes; TVM's is a constant expression, which has a value and a data type."""

    __slots__ = ()

    dtype = "int32"

    @property
    def value(self) -> int:
        """The number."""
        return int(self)


@cache
def _counted(count: int) -> LaneCount:
    return LaneCount(count)


def lane_count(lanes: ExprLike) -> int:
    """Return the lanes of a vector as data types have them: a number, negative for multiples of ``vscale``.

    Examples
    --------
    >>> lane_count(8), lane_count(tir.vscale() * 4)
    (8, -4)
    """
    if isinstance(lanes, (SupportsIndex, IntImm)):
        count = lanes.value if isinstance(lanes, IntImm) else index(lanes)
        if abs(count) < 2:
            raise LanesError(f"a vector must have at least two lanes, got {count}")
        return count
    factor = vscale_factor(lanes) if isinstance(lanes, PrimExpr) else 0
    if factor < 2:
        raise LanesError(f"Invalid expression for scalable lanes {show(lanes)}: expected vscale() * number")
    return -factor


def vscale_factor(e: PrimExpr) -> int:
    """Return ``k`` of ``vscale() * k``, 0 for other expressions."""
    if getattr(e, "op", None) is VSCALE:
        return 1
    if getattr(type(e), "symbol", "") != "*":
        return 0
    a, b = e.a, e.b  # type: ignore[attr-defined]
    scalable, number = (b, a) if isinstance(a, IntImm) else (a, b)
    return number.value * vscale_factor(scalable) if isinstance(number, IntImm) else 0


def lanes_of_count(count: int) -> Lanes:
    """Return the lanes that :func:`lane_count` made a number of."""
    return _counted(count) if count > 0 else operator_builder("vscale")() * -count
