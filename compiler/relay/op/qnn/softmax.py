"""Integer-only softmax: ``qnn.softmax``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import INT
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import array_const
from compiler.relay.op.common import normalize_axis
from compiler.relay.op.qnn.arithmetic import Quantization, cast, rank_of, requantized
from compiler.relay.op.qnn.parameters import REWRITTEN, check_parameter
from compiler.relay.op.qnn.requantize import requantize_array
from compiler.relay.op.qnn.rounding import RequantizeConfig
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, Types, call_op
from compiler.relay.ty import TensorType

_PARAMETERS = {
    "scale": "Scale of the data, a scalar.",
    "zero_point": "Zero point of the data, a scalar.",
    "output_scale": "Scale of the result, a scalar.",
    "output_zero_point": "Zero point of the result, a scalar.",
}
_DIGITS, _DROPPED = 30, 23
"""Binary digits of one divided by the sum, and those that a share of it does not keep."""
_MAX_EXPONENT = 20
"""Powers of two below the largest that are told apart."""
_IBERT = ('S. Kim et al., "I-BERT: Integer-only BERT Quantization", ICML 2021, section 3.5.',)


class QnnSoftmaxAttrs(Attrs):
    axis: int = attr_field(INT, "Axis whose elements sum to one.", -1)


def _relation(types: Types, attrs: QnnSoftmaxAttrs) -> Type:
    """The type of ``x``."""
    data = tensor(types[0], "x")
    normalize_axis(attrs.axis, len(data.dims))
    for name, t in zip(_PARAMETERS, types[1:], strict=True):
        check_parameter(t, name, data, 0)
    return data


def _int(value: int) -> RelayExpr:
    return array_const(np.asarray(value, "int32"))


def _canonical(attrs: QnnSoftmaxAttrs, args: Sequence[RelayExpr], types: Sequence[Type]) -> RelayExpr:
    """Write ``exp(x)`` as a power of two: ``x * log2(e)`` by shifts, in units of one, and the rest linearly."""
    x, scale, zero_point, new_scale, new_zero_point = args
    axis = attrs.axis
    wide = call_op("subtract", cast(x, "int32"), cast(zero_point, "int32"))
    below = call_op("subtract", wide, call_op("max", wide, axis=(axis,), keepdims=True))
    by_log = call_op("add", below, call_op("right_shift", below, _int(1)))
    by_log = call_op("subtract", by_log, call_op("right_shift", below, _int(4)))
    limits = np.iinfo("int32")
    one = call_op("divide", array_const(np.asarray(1, "float32")), scale)
    unit = call_op("cast", call_op("clip", one, a_min=limits.min, a_max=limits.max), dtype="int32")
    exponent = call_op("clip", call_op("divide", by_log, call_op("negative", unit)), a_min=0, a_max=_MAX_EXPONENT)
    rest = call_op("subtract", by_log, call_op("multiply", exponent, call_op("negative", unit)))
    linear = call_op("add", call_op("right_shift", rest, _int(1)), unit)
    highest = call_op("max", exponent, axis=(axis,), keepdims=True)
    powers = call_op("left_shift", linear, call_op("subtract", highest, exponent))
    share = call_op("divide", _int(1 << _DIGITS), call_op("sum", powers, axis=(axis,), keepdims=True))
    shares = call_op("right_shift", call_op("multiply", share, powers), _int(_DROPPED))
    fine = array_const(np.asarray(1 / (1 << (_DIGITS - _DROPPED)), "float32"))
    source, target = Quantization(fine, _int(0)), Quantization(new_scale, new_zero_point)
    dtype = types[0].dtype if isinstance(types[0], TensorType) else "int8"
    return requantized(shares, source, target, rank_of(types[0]), dtype, RequantizeConfig().completed())


def _reference(attrs: QnnSoftmaxAttrs, x: Array, scale: Array, zero: Array, new_scale: Array, new_zero: Array) -> Array:
    wide = x.astype("int32") - zero.astype("int32")
    below = wide - wide.max(attrs.axis, keepdims=True)
    by_log = below + (below >> 1) - (below >> 4)
    unit = np.int32(np.float32(1) / np.float32(scale))
    exponent = np.minimum(-by_log // unit, _MAX_EXPONENT)
    linear = ((by_log + exponent * unit) >> 1) + unit
    powers = linear << (exponent.max(attrs.axis, keepdims=True) - exponent)
    shares = ((1 << _DIGITS) // powers.sum(attrs.axis, keepdims=True) * powers) >> _DROPPED
    fine = (np.asarray(1 / (1 << (_DIGITS - _DROPPED)), "float32"), np.asarray(0, "int32"))
    config = RequantizeConfig().completed()
    return requantize_array(shares.astype("int32"), fine, (new_scale, new_zero), 0, str(x.dtype), config)


softmax = register(
    "qnn.softmax",
    doc="Exponentials of quantised numbers, divided by their sum along an axis.",
    inputs={"x": "Integers.", **_PARAMETERS},
    attrs=QnnSoftmaxAttrs,
    relation=_relation,
    reference=_reference,
    references=_IBERT,
    waived=REWRITTEN,
    rules={"FTVMQnnCanonicalize": _canonical},
)
