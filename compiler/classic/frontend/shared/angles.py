"""Four-quadrant arctangent."""

from __future__ import annotations

import math

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.folding import ops, scalar


def _is_below_zero(x: RelayExpr) -> RelayExpr:
    """Return whether numbers have the sign bit set, including negative zero: 1 / -0 is negative."""
    zero = scalar(0, x)
    below = ops.less(ops.divide(scalar(1, x), x), zero)
    return ops.where(ops.equal(x, zero), below, ops.less(x, zero))


def atan2(y: RelayExpr, x: RelayExpr) -> RelayExpr:
    """Return the angles of points, from -pi to pi, like ``atan2`` in C."""
    height, width = ops.abs(y), ops.abs(x)
    # If both are zero or infinite, the quotient is NaN; the angles are 0 and 45 degrees.
    quotient = ops.where(
        ops.equal(height, width),
        ops.where(ops.equal(ops.add(height, width), scalar(0, x)), scalar(0, x), scalar(1, x)),
        ops.divide(height, width),
    )
    angle = ops.atan(quotient)
    angle = ops.where(_is_below_zero(x), ops.subtract(scalar(math.pi, x), angle), angle)
    return ops.where(_is_below_zero(y), ops.negative(angle), angle)
