"""Quantised operators, ``relay.qnn.op``: whole numbers with a scale and a zero point instead of real ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs
from compiler.ir.error import ArgumentError, show
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.common import agree, axis_of
from compiler.relay.op.nn.common import along
from compiler.relay.op.nn.conv import CONV2D, conv_attrs, conv_complete, conv_reference, conv_relation, spec_of
from compiler.relay.op.relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, RelationError, Types
from compiler.relay.ty import TensorType
from compiler.topi.nn import matmul
from compiler.topi.nn import qnn as topi
from compiler.topi.nn.conv import conv
from compiler.topi.schedules.x86.conv import schedule_conv
from compiler.topi.schedules.x86.matmul import schedule_matmul

_NO_GRADIENT = {"gradient": "whole numbers have none"}
_ROUNDING = ("None", "UPWARD", "TONEAREST")


def _parameter(t: Any, what: str, data: TensorType, axis: int) -> None:
    """Compare the type of a scale or zero point with the data: a scalar, or a vector along the axis."""
    found = tensor(t, what)
    if len(found.dims) > 1:
        raise RelationError(f"{what} must be a scalar or a vector, got {found}")
    if found.dims and found.dims[0] != 1:
        agree(found.dims[0], data.dims[axis], f"{what} and the data along axis {axis}")


def _axis(attrs: Attrs, rank: int) -> int:
    return axis_of(attrs.axis, rank) if rank else 0


def _spread(value: Any, axis: int, rank: int) -> Any:
    """Return a scale or zero point so that it broadcasts against the data."""
    return along(value, axis, rank) if np.ndim(value) == 1 and value.size > 1 else np.asarray(value).reshape(())


def _saturated(value: Any, dtype: str) -> Any:
    limits = np.iinfo(dtype)
    return np.clip(value, limits.min, limits.max).astype(dtype)


def _elementwise(names: tuple[str, ...]) -> Any:
    def relation(types: Types, attrs: Attrs) -> Type:
        data = tensor(types[0], "data")
        axis = _axis(attrs, len(data.dims))
        for name, t in zip(names, types[1:], strict=True):
            _parameter(t, name, data, axis)
        return TensorType(data.shape, attrs.out_dtype)

    return relation


# real to whole and back


def _by_parameters(function: Any) -> Any:
    def compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
        data, scale, zero_point = inputs
        return [function(data, scale, zero_point, _axis(attrs, data.ndim), attrs.out_dtype)]

    return compute


def _quantize_reference(attrs: Attrs, x: Any, scale: Any, zero_point: Any) -> Any:
    axis = _axis(attrs, x.ndim)
    ratio = np.rint(x / _spread(scale, axis, x.ndim).astype(x.dtype))
    return _saturated(ratio + _spread(zero_point, axis, x.ndim), attrs.out_dtype)


_QUANTIZE = register(
    "qnn.quantize",
    doc="Whole numbers for real ones: round(data / scale) + zero point, as far as the type reaches.",
    inputs=("data", "output_scale", "output_zero_point"),
    attributes={"out_dtype": "int8", "axis": -1},
    relation=_elementwise(("output_scale", "output_zero_point")),
    pattern=OpPattern.BROADCAST,
    compute=_by_parameters(topi.quantize),
    reference=_quantize_reference,
    waived=_NO_GRADIENT,
)


def _dequantize_reference(attrs: Attrs, x: Any, scale: Any, zero_point: Any) -> Any:
    axis = _axis(attrs, x.ndim)
    centred = x.astype("int32") - _spread(zero_point, axis, x.ndim).astype("int32")
    return (centred.astype("float32") * _spread(scale, axis, x.ndim)).astype(attrs.out_dtype)


_DEQUANTIZE = register(
    "qnn.dequantize",
    doc="Real numbers for whole ones: (data - zero point) * scale.",
    inputs=("data", "input_scale", "input_zero_point"),
    attributes={"axis": -1, "out_dtype": "float32"},
    relation=_elementwise(("input_scale", "input_zero_point")),
    pattern=OpPattern.BROADCAST,
    compute=_by_parameters(topi.dequantize),
    reference=_dequantize_reference,
    waived=_NO_GRADIENT,
)


def _requantize_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    data, *parameters = inputs
    axis = _axis(attrs, data.ndim)
    upward = attrs.rounding != "TONEAREST"
    return [topi.requantize(data, parameters[:2], parameters[2:], axis, upward, attrs.out_dtype)]


def _requantize_reference(attrs: Attrs, x: Any, *parameters: Any) -> Any:
    axis = _axis(attrs, x.ndim)
    scale, zero, new_scale, new_zero = (_spread(p, axis, x.ndim).astype("float64") for p in parameters)
    real = (x.astype("float64") - zero) * scale / new_scale
    if attrs.rounding == "TONEAREST":
        whole = np.trunc(real + np.copysign(0.5, real))
    else:
        whole = np.floor(real + 0.5)
    return _saturated(whole + new_zero, attrs.out_dtype)


_REQUANTIZE = register(
    "qnn.requantize",
    doc="Whole numbers of one scale and zero point as those of another.",
    inputs=("data", "input_scale", "input_zero_point", "output_scale", "output_zero_point"),
    attributes={"axis": -1, "rounding": "None", "compute_dtype": "None", "out_dtype": "int8"},
    relation=_elementwise(("input_scale", "input_zero_point", "output_scale", "output_zero_point")),
    pattern=OpPattern.BROADCAST,
    compute=_requantize_compute,
    reference=_requantize_reference,
    waived=_NO_GRADIENT,
)


# layers

_LAYER_INPUTS = ("data", "weight", "input_zero_point", "kernel_zero_point", "input_scale", "kernel_scale")


def _conv_axes(attrs: Attrs) -> tuple[int, int]:
    """Return where the channels of the data and the output channels of the weight are."""
    return attrs.data_layout.index("C"), attrs.kernel_layout.index("O")


def _conv_relation(types: Types, attrs: Attrs) -> Type:
    data, weight = tensor(types[0], "data"), tensor(types[1], "weight")
    channels, outputs = _conv_axes(attrs)
    for name, t in zip(_LAYER_INPUTS[2:], types[2:], strict=True):
        _parameter(t, name, *((data, channels) if name.startswith("input") else (weight, outputs)))
    return conv_relation(types[:2], attrs)


def _conv_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    channels, outputs = _conv_axes(attrs)
    data = topi.centred(inputs[0], inputs[2], channels)
    weight = topi.centred(inputs[1], inputs[3], outputs)
    return [conv(data, weight, spec_of(attrs, "int32"))]


def _conv_reference(attrs: Attrs, x: Any, w: Any, zero: Any, kernel_zero: Any, *scales: Any) -> Any:
    channels, outputs = _conv_axes(attrs)
    data = x.astype("int32") - _spread(zero, channels, x.ndim).astype("int32")
    weight = w.astype("int32") - _spread(kernel_zero, outputs, w.ndim).astype("int32")
    return conv_reference(attrs, data, weight)


_CONV2D = register(
    "qnn.conv2d",
    doc="Convolution of whole numbers less their zero points; the result's scale is the product of both scales.",
    inputs=_LAYER_INPUTS,
    attributes={**{n: f.given_default for n, f in CONV2D.op.attributes.items()}, "out_dtype": "int32"},
    relation=_conv_relation,
    complete=lambda types, attrs: (*conv_complete(types[:2], attrs), *types[2:]),
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=_conv_compute,
    schedule=schedule_conv,
    reference=_conv_reference,
    waived=_NO_GRADIENT,
)


def _dense_relation(types: Types, attrs: Attrs) -> Type:
    data, weight = tensor(types[0], "data"), tensor(types[1], "weight", 2)
    for name, t in zip(_LAYER_INPUTS[2:], types[2:], strict=True):
        _parameter(t, name, *((data, len(data.dims) - 1) if name.startswith("input") else (weight, 0)))
    agree(data.dims[-1], weight.dims[1], "the last axis of data and that of the weight (units, in)")
    if attrs.units is not None:
        agree(attrs.units, weight.dims[0], "units and the first axis of the weight")
    return TensorType((*data.dims[:-1], weight.dims[0]), attrs.out_dtype)


def _dense_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    data = topi.centred(inputs[0], inputs[2], inputs[0].ndim - 1)
    return [matmul.dense(data, topi.centred(inputs[1], inputs[3], 0), attrs.out_dtype)]


def _dense_reference(attrs: Attrs, x: Any, w: Any, zero: Any, kernel_zero: Any, *scales: Any) -> Any:
    data = x.astype("int32") - _spread(zero, x.ndim - 1, x.ndim).astype("int32")
    weight = w.astype("int32") - _spread(kernel_zero, 0, 2).astype("int32")
    return np.matmul(data, weight.T).astype(attrs.out_dtype)


_DENSE = register(
    "qnn.dense",
    doc="Rows of whole numbers times a weight's transpose, both less their zero points.",
    inputs=_LAYER_INPUTS,
    attributes={"units": None, "out_dtype": "int32"},
    relation=_dense_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=_dense_compute,
    schedule=schedule_matmul,
    reference=_dense_reference,
    waived=_NO_GRADIENT,
)


def quantize(data: Expr, output_scale: Expr, output_zero_point: Expr, axis: int = -1, out_dtype: str = "int8") -> Call:
    """Return ``round(data / output_scale) + output_zero_point``, halves to even, within the range of ``out_dtype``."""
    return _QUANTIZE(data, output_scale, output_zero_point, axis=axis, out_dtype=out_dtype)


def dequantize(
    data: Expr, input_scale: Expr, input_zero_point: Expr, axis: int = -1, out_dtype: str = "float32"
) -> Call:
    """Return ``(data - input_zero_point) * input_scale``."""
    return _DEQUANTIZE(data, input_scale, input_zero_point, axis=axis, out_dtype=out_dtype)


def requantize(
    data: Expr,
    input_scale: Expr,
    input_zero_point: Expr,
    output_scale: Expr,
    output_zero_point: Expr,
    axis: int = -1,
    rounding: str = "None",
    compute_dtype: str = "None",
    out_dtype: str = "int8",
) -> Call:
    """Return whole numbers of one scale and zero point as those of another.

    Parameters
    ----------
    axis : int
        Along which a scale or zero point that is a vector runs.
    rounding : str
        ``UPWARD`` (halves up; also ``None``) or ``TONEAREST`` (halves away from zero).
    compute_dtype : str
        Accepted as TVM does; the computation is exact for 32-bit numbers.
    """
    if rounding not in _ROUNDING:
        raise ArgumentError(f"qnn.requantize: rounding must be one of {', '.join(_ROUNDING)}, got {show(rounding)}")
    attrs = {"axis": axis, "rounding": rounding, "compute_dtype": compute_dtype, "out_dtype": out_dtype}
    return _REQUANTIZE(data, input_scale, input_zero_point, output_scale, output_zero_point, **attrs)


def conv2d(
    data: Expr,
    kernel: Expr,
    input_zero_point: Expr,
    kernel_zero_point: Expr,
    input_scale: Expr,
    kernel_scale: Expr,
    kernel_size: Any = None,
    channels: int | None = None,
    strides: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: str = "int32",
) -> Call:
    """Return the convolution of ``data - input_zero_point`` with ``kernel - kernel_zero_point`` as whole numbers.

    The scales say what the numbers stand for and do not enter.  The other parameters are those of ``nn.conv2d``.
    """
    attrs = conv_attrs(2, channels, kernel_size, strides=strides, padding=padding, dilation=dilation)
    attrs |= {"data_layout": data_layout, "kernel_layout": kernel_layout, "out_layout": out_layout}
    operands = (data, kernel, input_zero_point, kernel_zero_point, input_scale, kernel_scale)
    return _CONV2D(*operands, groups=groups, out_dtype=out_dtype, **attrs)


def dense(
    data: Expr,
    weight: Expr,
    input_zero_point: Expr,
    kernel_zero_point: Expr,
    input_scale: Expr,
    kernel_scale: Expr,
    units: int | None = None,
    out_dtype: str = "int32",
) -> Call:
    """Return ``data - input_zero_point`` times the transpose of ``weight - kernel_zero_point`` as whole numbers."""
    operands = (data, weight, input_zero_point, kernel_zero_point, input_scale, kernel_scale)
    return _DENSE(*operands, units=units, out_dtype=out_dtype)


op = SimpleNamespace(quantize=quantize, dequantize=dequantize, requantize=requantize, conv2d=conv2d, dense=dense)
"""TVM's scripts say ``relay.qnn.op.quantize``."""
