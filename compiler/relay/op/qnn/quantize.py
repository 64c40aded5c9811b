"""Between real numbers and integers: ``qnn.quantize``, ``qnn.dequantize``, ``qnn.requantize``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.ir.attr_kinds import DTYPE, INT, STRING, one_of
from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.types import Type
from compiler.relay.op.axis_layouts import along_axis_layout
from compiler.relay.op.common import normalize_axis
from compiler.relay.op.nn.activation import HasAxis
from compiler.relay.op.qnn.parameters import NO_GRADIENT, check_parameter, spread_parameter
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, Compute, OpPattern, Relation, Types
from compiler.relay.ty import TensorType
from compiler.te.tensor import Tensor
from compiler.topi.nn import qnn as topi

_SCALE = "Scale, a scalar or a vector along ``axis``."
_ZERO_POINT = "Zero point, a scalar or a vector along ``axis``."
_AXIS_DOC = "Axis that scales and zero points belong to."


class QuantizationAttrs(Attrs):
    """What conversions from and to integers have in common."""

    axis: int
    out_dtype: str


class QuantizeAttrs(QuantizationAttrs):
    """Attributes of ``qnn.quantize``."""

    out_dtype: str = attr_field(DTYPE, "Data type of the integers.", "int8")
    axis: int = attr_field(INT, _AXIS_DOC, -1)


class DequantizeAttrs(QuantizationAttrs):
    """Attributes of ``qnn.dequantize``."""

    axis: int = attr_field(INT, _AXIS_DOC, -1)
    out_dtype: str = attr_field(DTYPE, "Data type of the real numbers.", "float32")


class RequantizeAttrs(QuantizationAttrs):
    """Attributes of ``qnn.requantize``."""

    axis: int = attr_field(INT, _AXIS_DOC, -1)
    rounding: str = attr_field(
        one_of("None", "UPWARD", "TONEAREST"), "Whether halves are rounded up, as with None, or away from zero.", "None"
    )
    compute_dtype: str = attr_field(
        STRING, "Accepted as TVM does; the computation is exact for 32-bit numbers.", "None"
    )
    out_dtype: str = attr_field(DTYPE, "Data type of the result.", "int8")


def _axis(attrs: HasAxis, rank: int) -> int:
    return normalize_axis(attrs.axis, rank) if rank else 0


def _saturated(value: Array, dtype: str) -> Array:
    limits = np.iinfo(dtype)
    return np.clip(value, limits.min, limits.max).astype(dtype)


def _elementwise(names: tuple[str, ...]) -> Relation[QuantizationAttrs]:
    def relation(types: Types, attrs: QuantizationAttrs) -> Type:
        """The shape of the data, and the data type ``out_dtype``."""
        data = tensor(types[0], "data")
        axis = _axis(attrs, len(data.dims))
        for name, t in zip(names, types[1:], strict=True):
            check_parameter(t, name, data, axis)
        return TensorType(data.shape, attrs.out_dtype)

    return relation


def _by_parameters(function: Callable[..., Tensor]) -> Compute[QuantizationAttrs]:
    def compute(attrs: QuantizationAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
        data, scale, zero_point = inputs
        return [function(data, scale, zero_point, _axis(attrs, data.ndim), attrs.out_dtype)]

    return compute


def _quantize_reference(attrs: QuantizationAttrs, x: Array, scale: Array, zero_point: Array) -> Any:
    axis = _axis(attrs, x.ndim)
    ratio = np.rint(x / spread_parameter(scale, axis, x.ndim).astype(x.dtype))
    return _saturated(ratio + spread_parameter(zero_point, axis, x.ndim), attrs.out_dtype)


quantize = register(
    "qnn.quantize",
    doc="Quantise real numbers: round(data / scale) + zero point, halves to even, saturated.",
    inputs={"data": "Real numbers.", "output_scale": _SCALE, "output_zero_point": _ZERO_POINT},
    attrs=QuantizeAttrs,
    parameters=("data", "output_scale", "output_zero_point", "axis", "out_dtype"),
    relation=_elementwise(("output_scale", "output_zero_point")),
    pattern=OpPattern.BROADCAST,
    layout=along_axis_layout,
    compute=_by_parameters(topi.quantize),
    reference=_quantize_reference,
    waived=NO_GRADIENT,
)


def _dequantize_reference(attrs: QuantizationAttrs, x: Array, scale: Array, zero_point: Array) -> Any:
    axis = _axis(attrs, x.ndim)
    centred = x.astype("int32") - spread_parameter(zero_point, axis, x.ndim).astype("int32")
    return (centred.astype("float32") * spread_parameter(scale, axis, x.ndim)).astype(attrs.out_dtype)


dequantize = register(
    "qnn.dequantize",
    doc="Return the real numbers that integers stand for: (data - zero point) * scale.",
    inputs={"data": "Integers.", "input_scale": _SCALE, "input_zero_point": _ZERO_POINT},
    attrs=DequantizeAttrs,
    relation=_elementwise(("input_scale", "input_zero_point")),
    pattern=OpPattern.BROADCAST,
    layout=along_axis_layout,
    compute=_by_parameters(topi.dequantize),
    reference=_dequantize_reference,
    waived=NO_GRADIENT,
)


def _requantize_compute(attrs: RequantizeAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    data, *parameters = inputs
    axis = _axis(attrs, data.ndim)
    upward = attrs.rounding != "TONEAREST"
    return [topi.requantize(data, parameters[:2], parameters[2:], axis, upward, attrs.out_dtype)]


def _requantize_reference(attrs: RequantizeAttrs, x: Array, *parameters: Array) -> Any:
    axis = _axis(attrs, x.ndim)
    scale, zero, new_scale, new_zero = (spread_parameter(p, axis, x.ndim).astype("float64") for p in parameters)
    real = (x.astype("float64") - zero) * scale / new_scale
    if attrs.rounding == "TONEAREST":
        whole = np.trunc(real + np.copysign(0.5, real))
    else:
        whole = np.floor(real + 0.5)
    return _saturated(whole + new_zero, attrs.out_dtype)


requantize = register(
    "qnn.requantize",
    doc="Convert integers of one scale and zero point to those of another.",
    inputs={
        "data": "Integers.",
        "input_scale": _SCALE,
        "input_zero_point": _ZERO_POINT,
        "output_scale": _SCALE,
        "output_zero_point": _ZERO_POINT,
    },
    attrs=RequantizeAttrs,
    relation=_elementwise(("input_scale", "input_zero_point", "output_scale", "output_zero_point")),
    pattern=OpPattern.BROADCAST,
    layout=along_axis_layout,
    compute=_requantize_compute,
    reference=_requantize_reference,
    waived=NO_GRADIENT,
)
