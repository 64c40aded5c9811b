"""Quantized leaky ReLU: ``qnn.leaky_relu``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import FLOAT
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.op.qnn.arithmetic import Quantization, cast, fixed_point, rank_of, requantized, saturated
from compiler.relay.op.qnn.parameters import REWRITTEN, check_parameter, saturated_array
from compiler.relay.op.qnn.requantize import requantize_array, times_in_fixed_point
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


class QnnLeakyReluAttrs(Attrs):
    UNWRITTEN = {"alpha": 0.25}

    alpha: float = attr_field(FLOAT, "Slope for negative numbers.")


def _relation(types: Types, attrs: QnnLeakyReluAttrs) -> Type:
    """The type of ``x``."""
    data = tensor(types[0], "x")
    for name, t in zip(_PARAMETERS, types[1:], strict=True):
        check_parameter(t, name, data, 0)
    return data


def _canonical(attrs: QnnLeakyReluAttrs, args: Sequence[RelayExpr], types: Sequence[Type]) -> RelayExpr:
    """Requantize, and take the slope of what is below the zero point: ``alpha * q + (1 - alpha) * zero point``."""
    x, scale, zero_point, new_scale, new_zero_point = args
    dtype = types[0].dtype if isinstance(types[0], TensorType) else "int8"
    source, target = Quantization(scale, zero_point), Quantization(new_scale, new_zero_point)
    positive = requantized(x, source, target, rank_of(types[0]), "int32", RequantizeConfig().completed())
    offset = cast(new_zero_point, "int32")
    slope, rest = (fixed_point(part) for part in (attrs.alpha, 1 - attrs.alpha))
    negative = call_op(
        "add",
        call_op("fixed_point_multiply", positive, multiplier=slope[0], shift=slope[1]),
        call_op("fixed_point_multiply", offset, multiplier=rest[0], shift=rest[1]),
    )
    is_negative = call_op("less", cast(x, "int32"), cast(zero_point, "int32"))
    return saturated(call_op("where", is_negative, negative, positive), dtype)


def _reference(
    attrs: QnnLeakyReluAttrs, x: Array, scale: Array, zero: Array, new_scale: Array, new_zero: Array
) -> Array:
    config = RequantizeConfig().completed()
    positive = requantize_array(x, (scale, zero), (new_scale, new_zero), 0, "int32", config)
    slope, rest = np.asarray(attrs.alpha), np.asarray(1 - attrs.alpha)
    offset = np.asarray(new_zero, "int32")
    negative = times_in_fixed_point(positive, slope, True) + times_in_fixed_point(offset, rest, True)
    return saturated_array(np.where(x.astype("int32") < zero, negative, positive), str(x.dtype))


leaky_relu = register(
    "qnn.leaky_relu",
    doc="Quantised numbers, negative ones times a slope.",
    inputs={"x": "Integers.", **_PARAMETERS},
    attrs=QnnLeakyReluAttrs,
    parameters=("x", "alpha", *_PARAMETERS),
    relation=_relation,
    pattern=OpPattern.ELEMWISE,
    reference=_reference,
    waived=REWRITTEN,
    rules={"FTVMQnnCanonicalize": _canonical},
)
