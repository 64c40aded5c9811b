"""Quantized average pooling: ``qnn.avg_pool2d``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.ir.attrs import attr_field
from compiler.ir.attrs.kinds import BOOL, STRING
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.op.nn.pool import AvgPool2DAttrs
from compiler.relay.op.nn.pool import avg_pool2d as plain_avg_pool2d
from compiler.relay.op.qnn.arithmetic import Quantization, cast, rank_of, requantized, saturated
from compiler.relay.op.qnn.parameters import REWRITTEN, check_parameter, saturated_array
from compiler.relay.op.qnn.requantize import requantize_array
from compiler.relay.op.qnn.rounding import RequantizeConfig
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, Types, call_op
from compiler.relay.ty import TensorType

_PARAMETERS = {
    "input_scale": "Scale of the data, a scalar.",
    "input_zero_point": "Zero point of the data, a scalar.",
    "output_scale": "Scale of the result, a scalar.",
    "output_zero_point": "Zero point of the result, a scalar.",
}


class QnnAvgPool2DAttrs(AvgPool2DAttrs):
    UNWRITTEN = {"layout": "NCHW", "count_include_pad": False}

    layout: str = attr_field(STRING, "Layout of the data, such as ``NHWC``.", "NHWC")
    count_include_pad: bool = attr_field(BOOL, "Whether padding counts as elements of the mean.", True)


def _relation(types: Types, attrs: QnnAvgPool2DAttrs) -> Type:
    """The data with an element for each window along the spatial dimensions."""
    data = tensor(types[0], "data", 4)
    for name, t in zip(_PARAMETERS, types[1:], strict=True):
        check_parameter(t, name, data, 0)
    relation: Any = plain_avg_pool2d.op.relation
    result: Type = relation((data,), attrs)
    return result


def _canonical(attrs: QnnAvgPool2DAttrs, args: Sequence[RelayExpr], types: Sequence[Type]) -> RelayExpr:
    """Requantize to 32 bits, and take the means there."""
    data, scale, zero_point, new_scale, new_zero_point = args
    source, target = Quantization(scale, zero_point), Quantization(new_scale, new_zero_point)
    dtype = types[0].dtype if isinstance(types[0], TensorType) else "int8"
    wide = cast(data, "int32")
    if not source.is_same(target):
        wide = requantized(data, source, target, rank_of(types[0]), "int32", RequantizeConfig().completed())
    return saturated(call_op("nn.avg_pool2d", wide, **attrs), dtype)


def _reference(
    attrs: QnnAvgPool2DAttrs, x: Array, scale: Array, zero: Array, new_scale: Array, new_zero: Array
) -> Array:
    config = RequantizeConfig().completed()
    wide = x.astype("int32")
    if scale != new_scale or zero != new_zero:
        wide = requantize_array(x, (scale, zero), (new_scale, new_zero), 0, "int32", config)
    pooled: Any = plain_avg_pool2d.op.reference
    return saturated_array(pooled(attrs, wide), str(x.dtype))


avg_pool2d = register(
    "qnn.avg_pool2d",
    doc="Means of the windows of quantised images.",
    inputs={"data": "Images of integers in ``layout``.", **_PARAMETERS},
    attrs=QnnAvgPool2DAttrs,
    parameters=(
        "data",
        *_PARAMETERS,
        "pool_size",
        "strides",
        "padding",
        "dilation",
        "ceil_mode",
        "count_include_pad",
        "layout",
        "out_layout",
    ),
    spelt_out=("pool_size", "padding"),
    relation=_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    reference=_reference,
    waived=REWRITTEN,
    rules={"FTVMQnnCanonicalize": _canonical},
)
