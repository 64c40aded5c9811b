"""Functions of single elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler import te, tir
from compiler.ir import dtype as dt
from compiler.topi.tag import Tag
from compiler.topi.util import dims, number

Unary = Callable[[Any], Any]


def map_elements(x: Any, function: Unary, name: str, tag: Tag = Tag.ELEMWISE) -> Any:
    """Return ``function`` of each element."""
    return te.compute(dims(x), lambda *i: function(x(*i)), name=name, tag=tag)


def _elementwise(name: str, function: Unary, doc: str) -> Unary:
    def build(x: Any) -> Any:
        return map_elements(x, function, name)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"Return {doc}, element by element."
    return build


def _one(e: Any) -> Any:
    return tir.const(1, e.dtype)


def _sign(e: Any) -> Any:
    zero = tir.const(0, e.dtype)
    below = zero if dt.is_uint(e.dtype) else tir.Select(e < zero, tir.const(-1, e.dtype), zero)
    return tir.Select(e > zero, _one(e), below)


def _not(e: Any) -> Any:
    return tir.Not(e) if dt.is_bool(e.dtype) else tir.bitwise_not(e)


def _negative(e: Any) -> Any:
    return e * tir.const(-1, e.dtype) if dt.is_float(e.dtype) else tir.const(0, e.dtype) - e


abs = _elementwise("abs", te.abs, "the absolute value")
exp = _elementwise("exp", te.exp, "e to the power of x")
log = _elementwise("log", te.log, "the natural logarithm")
log2 = _elementwise("log2", te.log2, "the logarithm to base 2")
log10 = _elementwise("log10", te.log10, "the logarithm to base 10")
sqrt = _elementwise("sqrt", te.sqrt, "the square root")
rsqrt = _elementwise("rsqrt", te.rsqrt, "one over the square root")
sin = _elementwise("sin", te.sin, "the sine")
cos = _elementwise("cos", te.cos, "the cosine")
tan = _elementwise("tan", te.tan, "the tangent")
sinh = _elementwise("sinh", te.sinh, "the hyperbolic sine")
cosh = _elementwise("cosh", te.cosh, "the hyperbolic cosine")
tanh = _elementwise("tanh", te.tanh, "the hyperbolic tangent")
asin = _elementwise("asin", te.asin, "the inverse sine")
acos = _elementwise("acos", te.acos, "the inverse cosine")
atan = _elementwise("atan", te.atan, "the inverse tangent")
asinh = _elementwise("asinh", te.asinh, "the inverse hyperbolic sine")
acosh = _elementwise("acosh", te.acosh, "the inverse hyperbolic cosine")
atanh = _elementwise("atanh", te.atanh, "the inverse hyperbolic tangent")
sigmoid = _elementwise("sigmoid", te.sigmoid, "1 / (1 + exp(-x))")
erf = _elementwise("erf", te.erf, "the error function")
floor = _elementwise("floor", te.floor, "the largest whole number not above x")
ceil = _elementwise("ceil", te.ceil, "the smallest whole number not below x")
round = _elementwise("round", te.round, "the nearest whole number, halves away from zero")
trunc = _elementwise("trunc", te.trunc, "the whole number next to x towards zero")
sign = _elementwise("sign", _sign, "-1, 0 or 1 by the sign of x")
negative = _elementwise("negative", _negative, "minus x")
identity = _elementwise("identity", lambda e: e, "x itself")
isnan = _elementwise("isnan", te.isnan, "whether x is not a number")
isfinite = _elementwise("isfinite", te.isfinite, "whether x is neither infinite nor not a number")
isinf = _elementwise("isinf", te.isinf, "whether x is infinite")
logical_not = _elementwise("logical_not", tir.Not, "whether x does not hold")
bitwise_not = _elementwise("bitwise_not", _not, "x with all bits turned over")


def clip(x: Any, a_min: float, a_max: float) -> Any:
    """Return ``x`` where it is from ``a_min`` to ``a_max``, and the nearest of the two elsewhere.

    Bounds that an integer type cannot hold, such as infinity, count as its smallest and largest value.
    """
    low, high = (_bound(v, x.dtype) for v in (a_min, a_max))
    return map_elements(x, lambda e: te.max(te.min(e, high), low), "clip")


def _bound(value: float, dtype: str) -> Any:
    if dt.is_float(dtype):
        return tir.const(float(value), dtype)
    low, high = dt.int_range(dtype)
    return tir.const(low if value <= low else high if value >= high else int(value), dtype)


def cast(x: Any, dtype: str) -> Any:
    """Return ``x`` converted to another data type; fractions are cut off, and truth is what is not zero."""
    if x.dtype == dtype:
        return identity(x)
    return map_elements(x, lambda e: e.astype(dtype), "cast")


def reinterpret(x: Any, dtype: str) -> Any:
    """Return the bits of ``x`` read as another data type of the same size."""
    return map_elements(x, lambda e: tir.reinterpret(dtype, e), "reinterpret")


def fixed_point_multiply(x: Any, multiplier: int, shift: int) -> Any:
    """Return ``x * multiplier * 2 ** (shift - 31)`` of 32-bit integers, rounded to the nearest, halves up."""

    def element(e: Any) -> Any:
        wide = e.astype("int64") << tir.const(max(shift, 0), "int64")
        right = 31 + max(-shift, 0)
        scaled = wide * tir.const(multiplier, "int64") + tir.const(1 << (right - 1), "int64")
        return (scaled >> tir.const(right, "int64")).astype(e.dtype)

    return map_elements(x, element, "fixed_point_multiply")


def full(shape: Any, dtype: str, fill_value: Any) -> Any:
    """Return a tensor of one value: a number, an expression, or a tensor without dimensions."""
    extents = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    value = fill_value() if isinstance(fill_value, te.Tensor) else number(fill_value, dtype)
    return te.compute(extents, lambda *i: value.astype(dtype), name="full", tag=Tag.ELEMWISE)


def full_like(x: Any, fill_value: Any) -> Any:
    """Return a tensor of one value in the shape and data type of ``x``."""
    return full(dims(x), x.dtype, fill_value)


def zeros_like(x: Any) -> Any:
    """Return zeros in the shape and data type of ``x``."""
    return full_like(x, 0)


def ones_like(x: Any) -> Any:
    """Return ones in the shape and data type of ``x``."""
    return full_like(x, 1)
