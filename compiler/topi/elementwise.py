"""Elementwise operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, overload

from compiler import te, tir
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import PrimExpr, Var, convert
from compiler.te.definition.tensor import Tensor, TensorSlice
from compiler.topi.compute import compute
from compiler.topi.definitions import named
from compiler.topi.operands import Extent, Scalar, dims, number
from compiler.topi.tag import Tag

__all__ = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_not", "cast", "ceil", "clip", "cos", "cosh",
    "erf", "exp", "fixed_point_multiply", "fixed_point_multiply_per_axis", "floor", "full", "full_like", "identity",
    "isfinite", "isinf", "isnan", "log", "log2", "log10", "logical_not", "nearbyint", "negative", "ones_like",
    "reinterpret", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "zeros_like",
]  # fmt: skip

ElementFunction: TypeAlias = Callable[[PrimExpr], PrimExpr]
Unary: TypeAlias = Callable[[Tensor], Tensor]


def map_elements(x: Tensor, function: ElementFunction, name: str, tag: Tag = Tag.ELEMWISE) -> Tensor:
    """Return ``function`` of each element."""
    return compute(dims(x), lambda *i: function(x(*i)), name=name, tag=tag)


_SAME = "has its data type"


def _elementwise(
    name: str, function: ElementFunction, doc: str, operand: str = "of a float type", result: str = _SAME
) -> Unary:
    def build(x: Tensor) -> Tensor:
        """Return {doc}, element by element; ``x`` is {operand}, and the result {result}."""
        return map_elements(x, function, name)

    return named(build, name, doc=doc, operand=operand, result=result)


def _sign(e: PrimExpr) -> PrimExpr:
    if dt.is_bool(e.dtype):
        return e
    zero = tir.const(0, e.dtype)
    below = zero if dt.is_uint(e.dtype) else tir.Select(e < zero, tir.const(-1, e.dtype), zero)
    if dt.is_float(e.dtype):
        below = tir.Select(e < zero, tir.const(-1, e.dtype), tir.Select(e.equal(zero), zero, e))  # NaN stays
    return tir.Select(e > zero, tir.const(1, e.dtype), below)


def _not(e: PrimExpr) -> PrimExpr:
    return tir.Not(e) if dt.is_bool(e.dtype) else tir.bitwise_not(e)


def _negative(e: PrimExpr) -> PrimExpr:
    return e * tir.const(-1, e.dtype) if dt.is_real(e.dtype) else tir.const(0, e.dtype) - e


_NUMBERS, _ANY, _BOOL, _TRUTH = "of a number type", "of any type", "bool", "is bool"

abs = _elementwise("abs", te.abs, "the absolute value", _NUMBERS)
exp = _elementwise("exp", te.exp, "e to the power of x")
log = _elementwise("log", te.log, "the natural logarithm")
log2 = _elementwise("log2", te.log2, "the logarithm to base 2")
log10 = _elementwise("log10", te.log10, "the logarithm to base 10")
sqrt = _elementwise("sqrt", te.sqrt, "the square root")
rsqrt = _elementwise("rsqrt", te.rsqrt, "one over the square root")
sin = _elementwise("sin", te.sin, "the sine of x in radians")
cos = _elementwise("cos", te.cos, "the cosine of x in radians")
tan = _elementwise("tan", te.tan, "the tangent of x in radians")
sinh = _elementwise("sinh", te.sinh, "the hyperbolic sine")
cosh = _elementwise("cosh", te.cosh, "the hyperbolic cosine")
tanh = _elementwise("tanh", te.tanh, "the hyperbolic tangent")
asin = _elementwise("asin", te.asin, "the inverse sine in radians")
acos = _elementwise("acos", te.acos, "the inverse cosine in radians")
atan = _elementwise("atan", te.atan, "the inverse tangent in radians")
asinh = _elementwise("asinh", te.asinh, "the inverse hyperbolic sine")
acosh = _elementwise("acosh", te.acosh, "the inverse hyperbolic cosine")
atanh = _elementwise("atanh", te.atanh, "the inverse hyperbolic tangent")
sigmoid = _elementwise("sigmoid", te.sigmoid, "1 / (1 + exp(-x))")
erf = _elementwise("erf", te.erf, "the error function")
floor = _elementwise("floor", te.floor, "the largest whole number not above x", _NUMBERS)
ceil = _elementwise("ceil", te.ceil, "the smallest whole number not below x", _NUMBERS)
nearbyint = _elementwise("nearbyint", te.nearbyint, "the nearest whole number, halves to the even one", _NUMBERS)
round = _elementwise("round", te.round, "the nearest whole number, halves away from zero", _NUMBERS)
trunc = _elementwise("trunc", te.trunc, "the whole number next to x towards zero", _NUMBERS)
sign = _elementwise("sign", _sign, "-1, 0 or 1 by the sign of x", _NUMBERS)
negative = _elementwise("negative", _negative, "minus x", _NUMBERS)
identity = _elementwise("identity", lambda e: e, "a copy of x", _ANY)
isnan = _elementwise("isnan", te.isnan, "whether x is not a number", _NUMBERS, _TRUTH)
isfinite = _elementwise("isfinite", te.isfinite, "whether x is neither infinite nor not a number", _NUMBERS, _TRUTH)
isinf = _elementwise("isinf", te.isinf, "whether x is infinite", _NUMBERS, _TRUTH)
logical_not = _elementwise("logical_not", tir.Not, "whether x does not hold", _BOOL, _TRUTH)
bitwise_not = _elementwise("bitwise_not", _not, "x with all bits inverted", "bool or of an integer type")


def clip(x: Tensor, a_min: float, a_max: float) -> Tensor:
    """Return ``x`` where it is from ``a_min`` to ``a_max``, and the nearest of the two elsewhere.

    A bound that an integer type cannot hold, such as infinity, counts as its smallest or largest value.
    """
    low, high = limits(a_min, a_max, x.dtype)
    return map_elements(x, lambda e: te.max(te.min(e, high), low), "clip")


def limits(a_min: float, a_max: float, dtype: str) -> tuple[PrimExpr, PrimExpr]:
    """Return the ends of a range in a data type, its own where they lie beyond them."""
    return _bound(a_min, dtype), _bound(a_max, dtype)


def _bound(value: float, dtype: str) -> PrimExpr:
    if dt.is_real(dtype):
        return tir.const(float(value), dtype)
    low, high = dt.int_range(dtype)
    return tir.const(low if value <= low else high if value >= high else int(value), dtype)


@overload
def cast(x: Tensor, dtype: str) -> Tensor: ...
@overload
def cast(x: PrimExpr | TensorSlice, dtype: str) -> PrimExpr: ...
def cast(x: Tensor | PrimExpr | TensorSlice, dtype: str) -> Tensor | PrimExpr:
    """Return ``x`` converted to another data type; fractions are cut off, and what is not zero is true."""
    if not isinstance(x, Tensor):
        return convert(x).astype(dtype)
    if x.dtype == dtype:
        return identity(x)
    return map_elements(x, lambda e: e.astype(dtype), "cast")


def reinterpret(x: Tensor, dtype: str) -> Tensor:
    """Return the bits of ``x`` read as another data type of the same size."""
    return map_elements(x, lambda e: tir.reinterpret(dtype, e), "reinterpret")


def fixed_point_multiply(x: Tensor, multiplier: int, shift: int) -> Tensor:
    """Return ``x * multiplier * 2 ** (shift - 31)`` of int32, rounded to the nearest, halves up.

    The product is computed in 64 bits, so that nothing is rounded twice. ``multiplier`` is a fixed-point number with 31
    fractional bits (Q31).

    References
    ----------
    Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference",
    CVPR 2018, section 2.2.
    """

    def element(e: PrimExpr) -> PrimExpr:
        wide = e.astype("int64") << tir.const(max(shift, 0), "int64")
        right = 31 + max(-shift, 0)
        scaled = wide * tir.const(multiplier, "int64") + tir.const(1 << (right - 1), "int64")
        return (scaled >> tir.const(right, "int64")).astype(e.dtype)

    return map_elements(x, element, "fixed_point_multiply")


def full(shape: Extent | Sequence[Extent], dtype: str, fill_value: Scalar | Tensor) -> Tensor:
    """Return a tensor of one value."""
    extents = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    value = fill_value() if isinstance(fill_value, Tensor) else number(fill_value, dtype)
    return compute(extents, lambda *i: value.astype(dtype), name="full", tag=Tag.ELEMWISE)


def full_like(x: Tensor, fill_value: Scalar | Tensor) -> Tensor:
    """Return a tensor of one value in the shape and data type of ``x``."""
    return full(dims(x), x.dtype, fill_value)


def zeros_like(x: Tensor) -> Tensor:
    """Return zeros in the shape and data type of ``x``."""
    return full_like(x, 0)


def ones_like(x: Tensor) -> Tensor:
    """Return ones in the shape and data type of ``x``."""
    return full_like(x, 1)


def fixed_point_multiply_per_axis(
    x: Tensor,
    y: Tensor,
    lshift: Tensor,
    rshift: Tensor,
    is_lshift_required: int,
    is_rshift_required: int,
    axes: Sequence[int],
) -> Tensor:
    """Return ``x * y * 2 ** (lshift - rshift - 31)`` of int32, with factors of each place along some axes.

    The product is computed in 64 bits, so that nothing is rounded twice; halves are rounded up. ``y`` has 31 fractional
    bits (Q31); ``axes`` are those of ``x`` that the dimensions of the others are. A shift that is not required is left
    out.
    """

    def element(*i: Var) -> PrimExpr:
        place = [i[int(axis)] for axis in axes]
        wide = x(*i).astype("int64")
        if is_lshift_required:
            wide = wide << lshift(*place).astype("int64")
        right: PrimExpr = tir.const(31, "int64")
        if is_rshift_required:
            right = right + rshift(*place).astype("int64")
        scaled = wide * y(*place).astype("int64") + (tir.const(1, "int64") << (right - 1))
        return (scaled >> right).astype(x.dtype)

    return compute(x.shape, element, name="fixed_point_multiply_per_axis", tag=Tag.ELEMWISE)
