"""Integer arithmetic of canonicalized quantized operators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Constant, array_const
from compiler.relay.inference import infer_expr
from compiler.relay.op.common import along_axis
from compiler.relay.op.qnn.rounding import RequantizeConfig
from compiler.relay.operator import Array, call_op
from compiler.relay.ty import TensorType

FRACTION_BITS = 31
"""Fractional bits of a multiplier in fixed point (Q31)."""


@dataclass(frozen=True, slots=True, eq=False)
class Quantization:
    """How integers stand for real numbers: ``(integer - zero_point) * scale``.

    Scale and zero point are scalars, or vectors along ``axis``, which is not negative.
    """

    scale: RelayExpr
    zero_point: RelayExpr
    axis: int = 0

    def is_same(self, other: Quantization) -> bool:
        """Return whether the same integers certainly stand for the same numbers."""
        return is_same(self.scale, other.scale) and is_same(self.zero_point, other.zero_point)


def rank_of(t: Type) -> int:
    """Return the number of dimensions of a tensor type."""
    return len(t.dims) if isinstance(t, TensorType) else 0


def is_same(a: RelayExpr, b: RelayExpr) -> bool:
    """Return whether two scales or zero points are certainly the same."""
    if isinstance(a, Constant) and isinstance(b, Constant):
        return a.value.size == b.value.size and bool(np.all(a.value.reshape(-1) == b.value.reshape(-1)))
    return a is b


def is_zero(parameter: RelayExpr) -> bool:
    """Return whether a zero point is certainly 0."""
    return isinstance(parameter, Constant) and not parameter.value.any()


def cast(x: RelayExpr, dtype: str) -> RelayExpr:
    """Return a tensor in a data type; itself where it has it."""
    t = infer_expr(x)
    return x if isinstance(t, TensorType) and t.dtype == dtype else call_op("cast", x, dtype=dtype)


def spread(parameter: RelayExpr, axis: int, rank: int) -> RelayExpr:
    """Return a scale or zero point, a scalar or a vector, so that it broadcasts along an axis of a tensor."""
    dims = getattr(infer_expr(parameter), "dims", ())
    if len(dims) != 1:
        return parameter
    return call_op("reshape", parameter, newshape=()) if dims == (1,) else along_axis(parameter, axis, rank)


def centred(x: RelayExpr, zero_point: RelayExpr, axis: int, rank: int, dtype: str = "int32") -> RelayExpr:
    """Return integers of ``rank`` dimensions less their zero point, which may be a vector along ``axis``."""
    wide = cast(x, dtype)
    if is_zero(zero_point):
        return wide
    return call_op("subtract", wide, spread(cast(zero_point, dtype), axis, rank))


def saturated(x: RelayExpr, dtype: str) -> RelayExpr:
    """Return numbers as an integer type: the nearest that it has."""
    limits = np.iinfo(dtype)
    return call_op("cast", call_op("clip", x, a_min=limits.min, a_max=limits.max), dtype=dtype)


def fixed_point(multiplier: float) -> tuple[int, int]:
    """Return a positive multiplier as ``m * 2 ** (shift - 31)`` with a 31-bit ``m``, and the shift.

    After Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference",
    CVPR 2018, section 2.2.
    """
    significand, shift = math.frexp(multiplier)
    scaled = math.floor(significand * (1 << FRACTION_BITS) + 0.5)
    return (scaled // 2, shift + 1) if scaled == 1 << FRACTION_BITS else (scaled, shift)


def multipliers(source: RelayExpr, target: RelayExpr) -> Array | None:
    """Return the ratio of two scales in double precision; None if they are not constants."""
    if not (isinstance(source, Constant) and isinstance(target, Constant)):
        return None
    return np.asarray(source.value.astype("float64") / target.value.astype("float64"))


def requantized(
    x: RelayExpr, source: Quantization, target: Quantization, rank: int, dtype: str, config: RequantizeConfig
) -> RelayExpr:
    """Return integers of ``rank`` dimensions, of one scale and zero point, as those of another."""
    ratio = multipliers(source.scale, target.scale)
    axis = source.axis
    if config.compute_dtype == "int64" and ratio is not None:
        value = centred(x, source.zero_point, axis, rank)
        if not is_same(source.scale, target.scale):
            value = _times(value, ratio.reshape(-1), axis, rank, config.rounding == "UPWARD")
        if not is_zero(target.zero_point):
            value = call_op("add", spread(cast(target.zero_point, "int32"), axis, rank), value)
        return value if dtype == "int32" else saturated(value, dtype)
    return _requantized_as_reals(x, source, target, rank, dtype, config)


def _times(x: RelayExpr, ratio: Array, axis: int, rank: int, upward: bool) -> RelayExpr:
    """Multiply 32-bit integers by real numbers in fixed point, exactly but for one rounding."""
    pairs = [fixed_point(float(r)) for r in ratio]
    if len(pairs) == 1 and upward:
        return call_op("fixed_point_multiply", x, multiplier=pairs[0][0], shift=pairs[0][1])

    def vector(values: Sequence[int]) -> RelayExpr:
        numbers = array_const(np.asarray(values, "int64"))
        return spread(numbers, axis, rank) if len(pairs) > 1 else array_const(np.asarray(values[0], "int64"))

    wide = cast(x, "int64")
    if any(shift > 0 for _, shift in pairs):
        wide = call_op("multiply", wide, vector([1 << max(shift, 0) for _, shift in pairs]))
    right = [FRACTION_BITS + max(-shift, 0) for _, shift in pairs]
    half = vector([1 << (r - 1) for r in right])
    wide = call_op("multiply", wide, vector([m for m, _ in pairs]))
    if not upward:
        below = vector([(1 << (r - 1)) - 1 for r in right])
        half = call_op("where", call_op("greater_equal", wide, array_const(np.asarray(0, "int64"))), half, below)
    shifted = call_op("right_shift", call_op("add", wide, half), vector(right))
    return call_op("cast", shifted, dtype="int32")


def _requantized_as_reals(
    x: RelayExpr, source: Quantization, target: Quantization, rank: int, dtype: str, config: RequantizeConfig
) -> RelayExpr:
    kind = config.compute_dtype if config.compute_dtype.startswith("float") else "float32"
    axis = source.axis
    value = centred(x, source.zero_point, axis, rank, kind)
    if not is_same(source.scale, target.scale):
        value = call_op("multiply", value, spread(_ratio(source.scale, target.scale, kind), axis, rank))
    if not is_zero(target.zero_point):
        value = call_op("add", spread(cast(target.zero_point, kind), axis, rank), value)
    if config.rounding == "UPWARD":
        value = call_op("floor", call_op("add", value, array_const(np.asarray(0.5, kind))))
    else:
        value = call_op("round", value)
    return saturated(value, dtype)


def _ratio(source: RelayExpr, target: RelayExpr, dtype: str) -> RelayExpr:
    ratio = multipliers(source, target)
    if ratio is not None:
        return array_const(ratio.astype(dtype))
    return call_op("divide", *(cast(scale, dtype) for scale in (source, target)))
