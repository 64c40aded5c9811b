"""Requantization between scales and zero points: ``qnn.requantize``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.attrs import attr_field
from compiler.ir.attrs.kinds import DTYPE, INT, one_of
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.op.axis_layouts import along_axis_layout
from compiler.relay.op.qnn.arithmetic import FRACTION_BITS, Quantization, fixed_point, rank_of, requantized
from compiler.relay.op.qnn.parameters import (
    AXIS_DOC,
    REWRITTEN,
    SCALE,
    ZERO_POINT,
    QuantizationAttrs,
    axis_of,
    conversion,
    round_away,
    saturated_array,
    spread_parameter,
)
from compiler.relay.op.qnn.rounding import COMPUTE_DTYPES, ROUNDINGS, RequantizeConfig
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern


class RequantizeAttrs(QuantizationAttrs):
    axis: int = attr_field(INT, AXIS_DOC, -1)
    rounding: str = attr_field(
        one_of(*ROUNDINGS),
        "``UPWARD`` for halves upward, ``TONEAREST`` away from zero, ``None`` as configured.",
        "None",
    )
    compute_dtype: str = attr_field(
        one_of(*COMPUTE_DTYPES), "What to compute in: fixed point or real numbers; ``None`` as configured.", "None"
    )
    out_dtype: str = attr_field(DTYPE, "Data type of the result.", "int8")


def _canonical(attrs: RequantizeAttrs, args: Sequence[RelayExpr], types: Sequence[Type]) -> RelayExpr:
    data, scale, zero_point, new_scale, new_zero_point = args
    rank = rank_of(types[0])
    axis = axis_of(attrs.axis, rank)
    source, target = Quantization(scale, zero_point, axis), Quantization(new_scale, new_zero_point, axis)
    config = RequantizeConfig(attrs.rounding, attrs.compute_dtype).completed()
    return requantized(data, source, target, rank, attrs.out_dtype, config)


def _reference(attrs: RequantizeAttrs, x: Array, *parameters: Array) -> Array:
    config = RequantizeConfig(attrs.rounding, attrs.compute_dtype).completed()
    return requantize_array(x, parameters[:2], parameters[2:], axis_of(attrs.axis, x.ndim), attrs.out_dtype, config)


def requantize_array(
    x: Array, source: Sequence[Array], target: Sequence[Array], axis: int, dtype: str, config: RequantizeConfig
) -> Array:
    """Return an array of integers of one scale and zero point, along ``axis``, as those of another."""
    scale, zero = (spread_parameter(p, axis, x.ndim) for p in source)
    new_scale, new_zero = (spread_parameter(p, axis, x.ndim) for p in target)
    ratio = scale.astype("float64") / new_scale.astype("float64")
    upward = config.rounding == "UPWARD"
    if config.compute_dtype == "int64":
        scaled = times_in_fixed_point(x.astype("int32") - zero.astype("int32"), ratio, upward)
        return saturated_array(scaled.astype("int64") + new_zero, dtype)
    kind = config.compute_dtype
    real = (x.astype(kind) - zero.astype(kind)) * ratio.astype(kind) + new_zero.astype(kind)
    rounded = np.floor(real + np.asarray(0.5, kind)) if upward else round_away(real)
    return saturated_array(rounded.astype("float64"), dtype)


def times_in_fixed_point(x: Array, ratio: Array, upward: bool) -> Array:
    """Multiply by numbers that are rounded to 31 binary digits, and round the exact product once."""
    pairs = [fixed_point(float(r)) for r in ratio.reshape(-1)]
    factor = np.asarray([m << max(shift, 0) for m, shift in pairs], "int64").reshape(ratio.shape)
    right = np.asarray([FRACTION_BITS + max(-shift, 0) for _, shift in pairs], "int64").reshape(ratio.shape)
    product = x.astype("int64") * factor
    half = np.left_shift(np.int64(1), right - 1)
    if not upward:
        half = np.where(product >= 0, half, half - 1)
    return np.asarray((product + half) >> right, "int32")


requantize = register(
    "qnn.requantize",
    doc="Convert integers of one scale and zero point to those of another.",
    inputs={
        "data": "Integers.",
        "input_scale": SCALE,
        "input_zero_point": ZERO_POINT,
        "output_scale": SCALE,
        "output_zero_point": ZERO_POINT,
    },
    spelt_out=("out_dtype",),
    attrs=RequantizeAttrs,
    relation=conversion(("input_scale", "input_zero_point", "output_scale", "output_zero_point")),
    pattern=OpPattern.BROADCAST,
    layout=along_axis_layout,
    reference=_reference,
    waived=REWRITTEN,
    rules={"FTVMQnnCanonicalize": _canonical},
)
