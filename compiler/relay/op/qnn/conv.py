"""Quantized convolutions: ``qnn.conv2d``, ``qnn.conv2d_transpose``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from compiler.ir.attrs import attr_field
from compiler.ir.attrs.kinds import DTYPE
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.op.nn.conv import conv_complete, conv_reference, conv_relation
from compiler.relay.op.nn.conv_attrs import Conv2DAttrs, Conv2DTransposeAttrs, ConvolutionAttrs
from compiler.relay.op.nn.conv_transpose import transpose_reference, transpose_relation
from compiler.relay.op.qnn.arithmetic import centred, rank_of
from compiler.relay.op.qnn.legalize import factor_dtype, legalize_layer
from compiler.relay.op.qnn.parameters import REWRITTEN, check_parameter, spread_parameter
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, Completion, OpPattern, PartialTypes, Reference, Relation, Types, call_op

_SUMS_DOC = "Data type of the sums and of the result."
_PARAMETERS = {
    "input_zero_point": "Zero point of the data.",
    "kernel_zero_point": "Zero point of the weight, a scalar or a vector with one for each output channel.",
    "input_scale": "Scale of the data; the result does not depend on it.",
    "kernel_scale": "Scale of the weight; the result does not depend on it.",
}


class QnnConv2DAttrs(Conv2DAttrs):
    out_dtype: str = attr_field(DTYPE, _SUMS_DOC, "int32")


class QnnConv2DTransposeAttrs(Conv2DTransposeAttrs):
    out_dtype: str = attr_field(DTYPE, _SUMS_DOC, "int32")


def _axes(attrs: ConvolutionAttrs) -> tuple[int, int]:
    """Return where the channels of the data and the output channels of the weight are."""
    return attrs.data_layout.index("C"), attrs.kernel_layout.index("O")


def _relation(plain: Relation[Any]) -> Relation[Any]:
    def relation(types: Types, attrs: ConvolutionAttrs) -> Type:
        """The type of a convolution's result, of ``out_dtype``."""
        result = plain(types[:2], attrs)
        data, weight = tensor(types[0], "data"), tensor(types[1], "weight")
        channels, outputs = _axes(attrs)
        for name, t in zip(_PARAMETERS, types[2:], strict=True):
            check_parameter(t, name, *((data, channels) if name.startswith("input") else (weight, outputs)))
        return result

    return relation


def _complete(plain: Completion[Any], types: PartialTypes, attrs: ConvolutionAttrs) -> Sequence[Type | None]:
    return (*plain(types[:2], attrs), *types[2:])


def _canonical(
    name: str, attrs: ConvolutionAttrs, args: Sequence[RelayExpr], types: Sequence[Type]
) -> RelayExpr | None:
    data, weight, zero, weight_zero = args[:4]
    channels, outputs = _axes(attrs)
    if not attrs.data_layout.isalpha() or not attrs.kernel_layout.isalpha():
        return None  # channels in blocks have no single axis that zero points belong to
    dtype = factor_dtype(types[:2], (zero, weight_zero), attrs.out_dtype)
    data = centred(data, zero, channels, rank_of(types[0]), dtype)
    weight = centred(weight, weight_zero, outputs, rank_of(types[1]), dtype)
    return call_op(name, data, weight, **attrs)


def _reference(
    plain: Reference, attrs: ConvolutionAttrs, x: Array, w: Array, zero: Array, weight_zero: Array, *scales: Array
) -> Array:
    channels, outputs = _axes(attrs)
    data = x.astype("int32") - spread_parameter(zero, channels, x.ndim).astype("int32")
    weight = w.astype("int32") - spread_parameter(weight_zero, outputs, w.ndim).astype("int32")
    result: Array = plain(attrs, data, weight)
    return result


conv2d = register(
    "qnn.conv2d",
    doc="Convolve integers less their zero points; the scale of the result is the product of both scales.",
    inputs={
        "data": "Images, integers in ``data_layout``.",
        "kernel": "Kernels, integers in ``kernel_layout``.",
        **_PARAMETERS,
    },
    spelt_out=("padding", "out_dtype"),
    attrs=QnnConv2DAttrs,
    parameters=(
        *("data", "kernel", *_PARAMETERS, "kernel_size", "channels", "strides", "padding", "dilation", "groups"),
        *("data_layout", "kernel_layout", "out_layout", "out_dtype"),
    ),
    relation=_relation(conv_relation),
    complete=partial(_complete, conv_complete),
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    reference=partial(_reference, conv_reference),
    waived=REWRITTEN,
    rules={"FTVMQnnCanonicalize": partial(_canonical, "nn.conv2d"), "FTVMQnnLegalize": legalize_layer("nn.conv2d")},
)

conv2d_transpose = register(
    "qnn.conv2d_transpose",
    doc="Convolve integers less their zero points the other way round, as the gradient of a convolution does.",
    inputs={
        "data": "Images, integers in ``data_layout``.",
        "weight": "Kernels, integers in ``kernel_layout``.",
        **_PARAMETERS,
    },
    spelt_out=("padding", "out_dtype"),
    attrs=QnnConv2DTransposeAttrs,
    parameters=(
        *("data", "weight", *_PARAMETERS, "strides", "padding", "dilation", "groups", "channels", "kernel_size"),
        *("data_layout", "kernel_layout", "out_layout", "output_padding", "out_dtype"),
    ),
    relation=_relation(transpose_relation),
    complete=partial(_complete, conv_complete),
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    reference=partial(_reference, transpose_reference),
    waived=REWRITTEN,
    rules={
        "FTVMQnnCanonicalize": partial(_canonical, "nn.conv2d_transpose"),
        "FTVMQnnLegalize": legalize_layer("nn.conv2d_transpose"),
    },
)
