"""Simulated quantization: ``relay.op.annotation.simulated_quantize``."""

from __future__ import annotations

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import BOOL, INT, one_of
from compiler.ir.types import Type
from compiler.relay.op.common import NOT_SMOOTH
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, Types
from compiler.te.definition.tensor import Tensor
from compiler.topi import broadcast, elementwise, extrema


class SimulatedQuantizeAttrs(Attrs):
    kind: int = attr_field(INT, "Kind of what is quantized: 1 an input, 2 a weight, 3 an activation.")
    sign: bool = attr_field(BOOL, "Whether the quantized type has a sign.", True)
    rounding: str = attr_field(one_of("round"), "How is rounded.", "round")


def _same(types: Types, attrs: SimulatedQuantizeAttrs) -> Type:
    return types[0]


def _compute(attrs: SimulatedQuantizeAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    data, scale, low, high = inputs
    scaled = broadcast.divide(data, scale)
    clipped = extrema.maximum(extrema.minimum(scaled, high), low)
    return [broadcast.multiply(elementwise.round(clipped), scale)]


def _reference(attrs: SimulatedQuantizeAttrs, data: Array, scale: Array, low: Array, high: Array) -> Array:
    clipped = np.clip(data / scale, low, high)
    return np.copysign(np.floor(np.abs(clipped) + 0.5), clipped) * scale


register(
    "relay.op.annotation.simulated_quantize",
    doc="Return what is left of data after it was quantized: rounded to multiples of a scale, and clipped.",
    inputs={
        "data": "A tensor of floating-point numbers.",
        "dom_scale": "The value of one step.",
        "clip_min": "The least number of steps.",
        "clip_max": "The greatest number of steps.",
    },
    attrs=SimulatedQuantizeAttrs,
    relation=_same,
    compute=_compute,
    reference=_reference,
    returns="Of the type of ``data``.",
    waived=NOT_SMOOTH,
)
