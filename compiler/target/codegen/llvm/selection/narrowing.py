"""Conversions of floats to integers of fewer than 32 bits.

LLVM leaves open what a number becomes that the integer cannot hold, and processors differ: some saturate, others keep
the low bits, and vectors may do one where scalars do the other.  Converting to int32 first keeps the low bits, at the
cost of an instruction or two for each vector, which numbers that were clipped before need not pay.
"""

from __future__ import annotations

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Broadcast, Call, FloatImm, Max, Min, PrimExpr
from compiler.ir.op import Op

ROUNDING = frozenset(Op.get(f"tir.{name}") for name in ("round", "nearbyint", "floor", "ceil", "trunc"))
LARGER, SMALLER = Op.get("tir.fmaximum"), Op.get("tir.fminimum")


def may_not_fit(value: PrimExpr, target: str) -> bool:
    """Return whether a float that is converted to an integer type of fewer than 32 bits may be beyond its range.

    What was clipped to the range is in it; NaN is in no range.
    """
    if not dt.is_integral(target) or dt.is_bool(target) or dt.bits(target) >= 32:
        return False
    low, high = dt.int_range(target)
    while isinstance(value, Call) and value.op in ROUNDING:
        value = value.args[0]
    above = below = False
    while (limits := limited(value)) is not None:
        value, limit, is_least = limits
        above, below = above or (is_least and limit >= low), below or (not is_least and limit <= high)
        if not low <= limit <= high:
            return True
    return not (above and below)


def limited(e: PrimExpr) -> tuple[PrimExpr, float, bool] | None:
    """Return what a constant limits, the constant, and whether it is the least value; None for anything else."""
    if isinstance(e, (Max, Min)):
        a, b, is_least = e.a, e.b, isinstance(e, Max)
    elif isinstance(e, Call) and e.op in (LARGER, SMALLER):
        (a, b), is_least = e.args, e.op is LARGER
    else:
        return None
    for other, operand in ((a, b), (b, a)):
        constant = operand.value if isinstance(operand, Broadcast) else operand
        if isinstance(constant, FloatImm):
            return other, constant.value, is_least
    return None
