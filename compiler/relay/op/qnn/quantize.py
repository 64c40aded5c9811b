"""Quantization and dequantization: ``qnn.quantize``, ``qnn.dequantize``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.attrs import attr_field
from compiler.ir.attrs.kinds import DTYPE, INT
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.op.axis_layouts import along_axis_layout
from compiler.relay.op.qnn.arithmetic import cast, centred, rank_of, saturated, spread
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
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, call_op


class QuantizeAttrs(QuantizationAttrs):
    out_dtype: str = attr_field(DTYPE, "Data type of the integers.", "int8")
    axis: int = attr_field(INT, AXIS_DOC, -1)


class DequantizeAttrs(QuantizationAttrs):
    axis: int = attr_field(INT, AXIS_DOC, -1)
    out_dtype: str = attr_field(DTYPE, "Data type of the real numbers.", "float32")


def quantized(x: RelayExpr, scale: RelayExpr, zero_point: RelayExpr, axis: int, rank: int, dtype: str) -> RelayExpr:
    """Return the integers that stand for real numbers, as the expression that computes them."""
    ratio = call_op("round", call_op("divide", x, spread(scale, axis, rank)))
    return saturated(call_op("add", ratio, spread(cast(zero_point, "float32"), axis, rank)), dtype)


def dequantized(x: RelayExpr, scale: RelayExpr, zero_point: RelayExpr, axis: int, rank: int, dtype: str) -> RelayExpr:
    """Return the real numbers that integers stand for, as the expression that computes them."""
    real = call_op("cast", centred(x, zero_point, axis, rank), dtype="float32")
    scaled = call_op("multiply", real, spread(scale, axis, rank))
    if dtype == "float32":
        return scaled
    limit = float(np.finfo(dtype).max)
    return call_op("cast", call_op("clip", scaled, a_min=-limit, a_max=limit), dtype=dtype)


def _canonical_quantize(attrs: QuantizeAttrs, args: Sequence[RelayExpr], types: Sequence[Type]) -> RelayExpr:
    (x, scale, zero_point), rank = args, rank_of(types[0])
    return quantized(x, scale, zero_point, axis_of(attrs.axis, rank), rank, attrs.out_dtype)


def _canonical_dequantize(attrs: DequantizeAttrs, args: Sequence[RelayExpr], types: Sequence[Type]) -> RelayExpr:
    (x, scale, zero_point), rank = args, rank_of(types[0])
    return dequantized(x, scale, zero_point, axis_of(attrs.axis, rank), rank, attrs.out_dtype)


def quantize_array(x: Array, scale: Array, zero_point: Array, axis: int, dtype: str) -> Array:
    """Return the integers that stand for an array of real numbers, halves rounded away from zero."""
    ratio = round_away(x / spread_parameter(scale, axis, x.ndim).astype(x.dtype))
    return saturated_array(ratio + spread_parameter(zero_point, axis, x.ndim).astype(x.dtype), dtype)


def dequantize_array(x: Array, scale: Array, zero_point: Array, axis: int, dtype: str) -> Array:
    """Return the real numbers that an array of integers stands for."""
    difference = x.astype("int32") - spread_parameter(zero_point, axis, x.ndim).astype("int32")
    real = difference.astype("float32") * spread_parameter(scale, axis, x.ndim)
    limit = np.finfo(dtype).max
    result: Array = np.clip(real, -limit, limit).astype(dtype)
    return result


quantize = register(
    "qnn.quantize",
    doc="Quantise real numbers: round(data / scale) + zero point, halves away from zero, saturated.",
    inputs={"data": "Real numbers.", "output_scale": SCALE, "output_zero_point": ZERO_POINT},
    spelt_out=("out_dtype",),
    attrs=QuantizeAttrs,
    parameters=("data", "output_scale", "output_zero_point", "axis", "out_dtype"),
    relation=conversion(("output_scale", "output_zero_point")),
    pattern=OpPattern.BROADCAST,
    layout=along_axis_layout,
    reference=lambda attrs, x, scale, zero: quantize_array(
        x, scale, zero, axis_of(attrs.axis, x.ndim), attrs.out_dtype
    ),
    waived=REWRITTEN,
    rules={"FTVMQnnCanonicalize": _canonical_quantize},
)

dequantize = register(
    "qnn.dequantize",
    doc="Return the real numbers that integers stand for: (data - zero point) * scale.",
    inputs={"data": "Integers.", "input_scale": SCALE, "input_zero_point": ZERO_POINT},
    spelt_out=("out_dtype",),
    attrs=DequantizeAttrs,
    relation=conversion(("input_scale", "input_zero_point")),
    pattern=OpPattern.BROADCAST,
    layout=along_axis_layout,
    reference=lambda attrs, x, scale, zero: dequantize_array(
        x, scale, zero, axis_of(attrs.axis, x.ndim), attrs.out_dtype
    ),
    waived=REWRITTEN,
    rules={"FTVMQnnCanonicalize": _canonical_dequantize},
)
