"""SimplifyExpr rules for casts and clips."""

from __future__ import annotations

from math import ceil, floor, inf

from compiler.ir import dtype as dt
from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Call, GraphExpr
from compiler.relay.op.cast import CastAttrs
from compiler.relay.op.unary import ClipAttrs
from compiler.relay.operator import call_op
from compiler.relay.transform.rewriter import op_name, tensor_type
from compiler.relay.transform.simplify.simplify_rule import Rule, inner_call, of_same_type


def _no_cast(call: Call) -> RelayExpr | None:
    return of_same_type(call, call.args[0])


def _idle_cast(call: Call) -> RelayExpr | None:
    """A cast before another one changes nothing if its data type has all values that there can be."""
    inner = inner_call(call, "cast")
    source = None if inner is None else tensor_type(inner.args[0])
    if inner is None or source is None:
        return None
    between = CastAttrs.of(inner).dtype
    if dt.is_real(source.dtype):
        idle = _holds(source.dtype, between)
    else:
        idle = _has_integers(between, *_range_of(inner.args[0], source.dtype))
    return call_op("cast", inner.args[0], dtype=CastAttrs.of(call).dtype) if idle else None


def _holds(narrow: str, wide: str) -> bool:
    """Return whether every real number of one data type is one of the other."""
    if "bfloat16" in (narrow, wide):
        return narrow == "bfloat16" and wide in ("bfloat16", "float32", "float64")
    return narrow == wide or (dt.is_float(narrow) and dt.is_float(wide) and dt.parse(narrow).bits < dt.parse(wide).bits)


def _range_of(expr: GraphExpr, dtype: str) -> tuple[float, float]:
    """Return limits that no element of integers is beyond."""
    low, high = _limits_of(dtype)
    if op_name(expr) == "clip" and isinstance(expr, Call):
        limits = ClipAttrs.of(expr)
        low, high = max(low, floor(max(limits.a_min, low))), min(high, ceil(min(limits.a_max, high)))
    return low, high


_EXACT = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}
"""The bits of the integers that a data type of real numbers has all of."""


def _has_integers(dtype: str, low: float, high: float) -> bool:
    """Return whether a data type has all integers from one to another."""
    if dtype in _EXACT:
        return max(-low, high) <= 1 << _EXACT[dtype]
    limits = _limits_of(dtype) if dt.is_integral(dtype) else (inf, -inf)
    return limits[0] <= low and high <= limits[1]


def _cast_like(call: Call) -> RelayExpr | None:
    t = tensor_type(call)
    return None if t is None else call_op("cast", call.args[0], dtype=t.dtype)


def _limits_of(dtype: str) -> tuple[float, float]:
    return dt.int_range(dtype) if dt.is_integral(dtype) else (-inf, inf)


def _clip_of_all(call: Call) -> RelayExpr | None:
    """Limits that no value of the data type is beyond change nothing."""
    t, limits = tensor_type(call), ClipAttrs.of(call)
    if t is None or not (dt.is_integral(t.dtype) or dt.is_float(t.dtype)):
        return None
    low, high = _limits_of(t.dtype)
    return call.args[0] if limits.a_min <= low and high <= limits.a_max else None


def _clip_of_clip(call: Call) -> RelayExpr | None:
    inner = inner_call(call, "clip")
    if inner is None:
        return None
    outer, limits = ClipAttrs.of(call), ClipAttrs.of(inner)
    low, high = max(outer.a_min, limits.a_min), min(outer.a_max, limits.a_max)
    return call_op("clip", inner.args[0], a_min=low, a_max=high) if low <= high else None


CAST_RULES: tuple[Rule, ...] = (
    Rule("cast", "cast(x, dtype of x) = x", _no_cast),
    Rule("cast", "cast(cast(x, u), t) = cast(x, t), where u has all values of x", _idle_cast),
    Rule("cast_like", "cast_like(x, y) = cast(x, dtype of y)", _cast_like),
    Rule("clip", "clip(x, a, b) = x, where no value is beyond a and b", _clip_of_all),
)

BUILD_CAST_RULES: tuple[Rule, ...] = (
    Rule("clip", "clip(clip(x, a, b), c, d) = clip(x, max(a, c), min(b, d))", _clip_of_clip),
)
