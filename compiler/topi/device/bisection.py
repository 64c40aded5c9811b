"""Binary search within one thread."""

from __future__ import annotations

from collections.abc import Callable

from compiler.ir.expr.primexpr import ExprLike, PrimExpr, Var
from compiler.tir.ir_builder import IRBuilder


def bisected(
    builder: IRBuilder, low: ExprLike, high: ExprLike, rounds: ExprLike, holds: Callable[[Var], PrimExpr]
) -> Var:
    """Write a bisection of a range, and return its result: ``high`` where the condition holds for all of it.

    ``rounds`` is how often the range may have to be halved: bits of its length.  Once the condition ``holds`` does not
    hold for a number, it holds for none after it.
    """
    begin = builder.allocate("int32", 1, "low", "local")
    end = builder.allocate("int32", 1, "high", "local")
    begin[0], end[0] = low, high
    with builder.for_range(0, rounds, name="halving"), builder.if_scope(begin[0] < end[0]):
        middle = builder.let("middle", (begin[0] + end[0]) >> 1)
        with builder.if_scope(holds(middle)):
            begin[0] = middle + 1
        with builder.else_scope():
            end[0] = middle
    return builder.let("split", begin[0])
