"""Layers of integers: ``qnn.conv2d``, ``qnn.dense``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ir.attr_kinds import DTYPE, INT, optional
from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.types import Type
from compiler.relay.op.common import check_same_extent
from compiler.relay.op.layout_rules import convolution_layout
from compiler.relay.op.nn.conv import conv_complete, conv_reference, conv_relation
from compiler.relay.op.nn.conv_attrs import Conv2DAttrs, ConvAttrs
from compiler.relay.op.qnn.parameters import NO_GRADIENT, check_parameter, spread_parameter
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, PartialTypes, Types
from compiler.relay.ty import TensorType
from compiler.te.tensor import Tensor
from compiler.topi.nn import qnn as topi
from compiler.topi.nn.conv import conv
from compiler.topi.nn.matmul import dense as topi_dense
from compiler.topi.schedules.x86.conv import schedule_conv
from compiler.topi.schedules.x86.matmul import schedule_matmul

_PARAMETERS = {
    "input_zero_point": "Zero point of the data.",
    "kernel_zero_point": "Zero point of the weight, a scalar or a vector with one for each output channel.",
    "input_scale": "Scale of the data; the result does not depend on it.",
    "kernel_scale": "Scale of the weight; the result does not depend on it.",
}


class QnnConv2DAttrs(Conv2DAttrs):
    """Attributes of ``qnn.conv2d``."""

    out_dtype: str = attr_field(DTYPE, "Data type of the sums and of the result.", "int32")


class QnnDenseAttrs(Attrs):
    """Attributes of ``qnn.dense``."""

    units: int | None = attr_field(optional(INT), "Number of output columns, where the weight has no type.", None)
    out_dtype: str = attr_field(DTYPE, "Data type of the sums and of the result.", "int32")


def _conv_axes(attrs: ConvAttrs) -> tuple[int, int]:
    """Return where the channels of the data and the output channels of the weight are."""
    return attrs.data_layout.index("C"), attrs.kernel_layout.index("O")


def _conv_relation(types: Types, attrs: ConvAttrs) -> Type:
    """The type of a convolution's result, of ``out_dtype``."""
    data, weight = tensor(types[0], "data"), tensor(types[1], "weight")
    channels, outputs = _conv_axes(attrs)
    for name, t in zip(_PARAMETERS, types[2:], strict=True):
        check_parameter(t, name, *((data, channels) if name.startswith("input") else (weight, outputs)))
    return conv_relation(types[:2], attrs)


def _conv_complete(types: PartialTypes, attrs: ConvAttrs) -> Sequence[Type | None]:
    return (*conv_complete(types[:2], attrs), *types[2:])


def _conv_compute(attrs: ConvAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    channels, outputs = _conv_axes(attrs)
    data = topi.centred(inputs[0], inputs[2], channels)
    weight = topi.centred(inputs[1], inputs[3], outputs)
    return [conv(data, weight, attrs.spec("int32"))]


def _conv_reference(attrs: ConvAttrs, x: Array, w: Array, zero: Array, kernel_zero: Array, *scales: Array) -> Any:
    channels, outputs = _conv_axes(attrs)
    data = x.astype("int32") - spread_parameter(zero, channels, x.ndim).astype("int32")
    weight = w.astype("int32") - spread_parameter(kernel_zero, outputs, w.ndim).astype("int32")
    return conv_reference(attrs, data, weight)


_CONV_PARAMETERS = [
    "data",
    "kernel",
    "input_zero_point",
    "kernel_zero_point",
    "input_scale",
    "kernel_scale",
    "kernel_size",
    "channels",
    "strides",
    "padding",
    "dilation",
    "groups",
    "data_layout",
    "kernel_layout",
    "out_layout",
    "out_dtype",
]

conv2d = register(
    "qnn.conv2d",
    doc="Convolve integers less their zero points; the scale of the result is the product of both scales.",
    inputs={
        "data": "Images, integers in ``data_layout``.",
        "kernel": "Kernels, integers in ``kernel_layout``.",
        **_PARAMETERS,
    },
    attrs=QnnConv2DAttrs,
    parameters=_CONV_PARAMETERS,
    relation=_conv_relation,
    complete=_conv_complete,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    layout=convolution_layout,
    compute=_conv_compute,
    schedule=schedule_conv,
    reference=_conv_reference,
    waived=NO_GRADIENT,
)


def _dense_relation(types: Types, attrs: QnnDenseAttrs) -> Type:
    """``(…, units)`` of ``out_dtype``."""
    data, weight = tensor(types[0], "data"), tensor(types[1], "weight", 2)
    for name, t in zip(_PARAMETERS, types[2:], strict=True):
        check_parameter(t, name, *((data, len(data.dims) - 1) if name.startswith("input") else (weight, 0)))
    check_same_extent(data.dims[-1], weight.dims[1], "the last axis of data and that of the weight (units, in)")
    if attrs.units is not None:
        check_same_extent(attrs.units, weight.dims[0], "units and the first axis of the weight")
    return TensorType((*data.dims[:-1], weight.dims[0]), attrs.out_dtype)


def _dense_compute(attrs: QnnDenseAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    data = topi.centred(inputs[0], inputs[2], inputs[0].ndim - 1)
    return [topi_dense(data, topi.centred(inputs[1], inputs[3], 0), attrs.out_dtype)]


def _dense_reference(attrs: QnnDenseAttrs, x: Array, w: Array, zero: Array, kernel_zero: Array, *scales: Array) -> Any:
    data = x.astype("int32") - spread_parameter(zero, x.ndim - 1, x.ndim).astype("int32")
    weight = w.astype("int32") - spread_parameter(kernel_zero, 0, 2).astype("int32")
    return np.matmul(data, weight.T).astype(attrs.out_dtype)


dense = register(
    "qnn.dense",
    doc="Multiply rows of integers by the transpose of a weight, both less their zero points.",
    inputs={"data": "Rows of integers, ``(…, in)``.", "weight": "Integers, ``(units, in)``.", **_PARAMETERS},
    attrs=QnnDenseAttrs,
    relation=_dense_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=_dense_compute,
    schedule=schedule_matmul,
    reference=_dense_reference,
    waived=NO_GRADIENT,
)
