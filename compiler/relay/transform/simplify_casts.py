"""SimplifyExpr rules for casts and clips."""

from __future__ import annotations

from math import inf
from typing import Any

from compiler.ir import dtype as dt
from compiler.relay.expr import Call
from compiler.relay.op.cast import CastAttrs
from compiler.relay.op.unary import ClipAttrs
from compiler.relay.operator import call_op
from compiler.relay.transform.rewriter import tensor_type
from compiler.relay.transform.simplify_rule import Rule, inner_call, of_same_type

__all__ = ["BUILD_CAST_RULES", "CAST_RULES"]


def _no_cast(call: Call) -> Any:
    return of_same_type(call, call.args[0])


def _cast_of_cast(call: Call) -> Any:
    """A widening cast before another one changes nothing; what narrows does."""
    inner = inner_call(call, "cast")
    if inner is None:
        return None
    source, between = tensor_type(inner.args[0]), tensor_type(inner)
    if source is None or between is None or not _holds(source.dtype, between.dtype):
        return None
    return call_op("cast", inner.args[0], dtype=CastAttrs.of(call).dtype)


def _cast_of_wider(call: Call) -> Any:
    """The same for data types of one kind."""
    inner = inner_call(call, "cast")
    types = None if inner is None else (tensor_type(inner.args[0]), tensor_type(inner))
    kinds = {_kind(t.dtype) for t in types or () if t is not None}
    return _cast_of_cast(call) if len(kinds) == 1 else None


def _kind(dtype: str) -> str:
    return "int" if dt.is_int(dtype) else "uint" if dt.is_uint(dtype) or dtype == "bool" else "float"


def _holds(narrow: str, wide: str) -> bool:
    """Return whether every value of one data type is a value of the other."""
    if narrow == "bool":
        return True
    a, b = dt.parse(narrow), dt.parse(wide)
    if "bfloat16" in (narrow, wide):
        return narrow == "bfloat16" and wide in ("bfloat16", "float32", "float64")
    if dt.is_float(narrow) or dt.is_float(wide):
        return dt.is_float(narrow) and dt.is_float(wide) and a.bits <= b.bits
    if narrow.startswith("uint") == wide.startswith("uint"):
        return a.bits <= b.bits
    return narrow.startswith("uint") and a.bits < b.bits


def _cast_like(call: Call) -> Any:
    t = tensor_type(call)
    return None if t is None else call_op("cast", call.args[0], dtype=t.dtype)


def _cast_within_limits(call: Call) -> Any:
    """Whole numbers that a data type holds are not changed by a cast to it and on."""
    inner = inner_call(call, "cast")
    clip = inner_call(inner, "clip") if inner is not None else None
    source = tensor_type(clip) if clip is not None else None
    if inner is None or clip is None or source is None:
        return None
    held, limits = _limits_of(CastAttrs.of(inner).dtype), ClipAttrs.of(clip)
    if not dt.is_integral(source.dtype) or not held[0] <= limits.a_min <= limits.a_max <= held[1]:
        return None
    return call_op("cast", clip, dtype=CastAttrs.of(call).dtype)


def _limits_of(dtype: str) -> tuple[float, float]:
    return dt.int_range(dtype) if dt.is_integral(dtype) else (-inf, inf)


def _clip_of_all(call: Call) -> Any:
    """Limits that no value of the data type is beyond change nothing."""
    t, limits = tensor_type(call), ClipAttrs.of(call)
    if t is None or not (dt.is_integral(t.dtype) or dt.is_float(t.dtype)):
        return None
    low, high = _limits_of(t.dtype)
    return call.args[0] if limits.a_min <= low and high <= limits.a_max else None


def _clip_of_clip(call: Call) -> Any:
    inner = inner_call(call, "clip")
    if inner is None:
        return None
    outer, limits = ClipAttrs.of(call), ClipAttrs.of(inner)
    low, high = max(outer.a_min, limits.a_min), min(outer.a_max, limits.a_max)
    return call_op("clip", inner.args[0], a_min=low, a_max=high) if low <= high else None


CAST_RULES: tuple[Rule, ...] = (
    Rule("cast", "cast(x, dtype of x) = x", _no_cast),
    Rule("cast", "cast(cast(x, wider), t) = cast(x, t), for data types of one kind", _cast_of_wider),
    Rule("cast", "cast(cast(clip(x, a, b), u), t) = cast(clip(x, a, b), t), where u holds a to b", _cast_within_limits),
    Rule("cast_like", "cast_like(x, y) = cast(x, dtype of y)", _cast_like),
    Rule("clip", "clip(x, a, b) = x, where no value is beyond a and b", _clip_of_all),
)

BUILD_CAST_RULES: tuple[Rule, ...] = (
    Rule("cast", "cast(cast(x, wider), t) = cast(x, t)", _cast_of_cast),
    Rule("clip", "clip(clip(x, a, b), c, d) = clip(x, max(a, c), min(b, d))", _clip_of_clip),
)
