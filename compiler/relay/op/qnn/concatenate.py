"""Quantized concatenation: ``qnn.concatenate``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, Tuple, TupleGetItem
from compiler.relay.op.axis_layouts import concatenate_layout
from compiler.relay.op.concat_split import ConcatenateAttrs, concatenate_relation
from compiler.relay.op.layout_rules import quantized_layout
from compiler.relay.op.qnn.arithmetic import Quantization, rank_of, requantized
from compiler.relay.op.qnn.parameters import REWRITTEN
from compiler.relay.op.qnn.requantize import requantize_array
from compiler.relay.op.qnn.rounding import RequantizeConfig
from compiler.relay.op_registry import public_function, register
from compiler.relay.operator import Array, OpPattern, RelationError, Types, call_op
from compiler.relay.ty import TensorType, TupleType

_INPUTS = {
    "data": "A tuple of tensors of integers.",
    "input_scales": "A tuple of their scales.",
    "input_zero_points": "A tuple of their zero points.",
    "output_scale": "Scale of the result.",
    "output_zero_point": "Zero point of the result.",
}


def _relation(types: Types, attrs: ConcatenateAttrs) -> Type:
    """One tensor whose extent along ``axis`` is the sum of those of the inputs."""
    counts = [len(t.fields) for t in types[:3] if isinstance(t, TupleType)]
    if len(counts) < 3 or len(set(counts)) > 1:
        raise RelationError(f"data, input_scales and input_zero_points must be tuples of one length, got {counts}")
    return concatenate_relation(types[:1], attrs)


def _field(values: RelayExpr, index: int) -> RelayExpr:
    return values.fields[index] if isinstance(values, Tuple) else TupleGetItem(values, index)


def _canonical(attrs: ConcatenateAttrs, args: Sequence[RelayExpr], types: Sequence[Type]) -> RelayExpr:
    data, scales, zero_points, scale, zero_point = args
    target = Quantization(scale, zero_point)
    fields = types[0].fields if isinstance(types[0], TupleType) else ()
    parts = []
    for i, t in enumerate(fields):
        part, source = _field(data, i), Quantization(_field(scales, i), _field(zero_points, i))
        if not source.is_same(target):
            dtype = t.dtype if isinstance(t, TensorType) else "int8"
            part = requantized(part, source, target, rank_of(t), dtype, RequantizeConfig().completed())
        parts.append(part)
    return call_op("concatenate", Tuple(tuple(parts)), axis=attrs.axis)


def _reference(
    attrs: ConcatenateAttrs,
    data: Sequence[Array],
    scales: Sequence[Array],
    zero_points: Sequence[Array],
    scale: Array,
    zero_point: Array,
) -> Array:
    config = RequantizeConfig().completed()
    parts = []
    for x, *source in zip(data, scales, zero_points, strict=True):
        same = all(np.array_equal(a, b) for a, b in zip(source, (scale, zero_point), strict=True))
        parts.append(x if same else requantize_array(x, source, (scale, zero_point), 0, str(x.dtype), config))
    return np.concatenate(parts, attrs.axis)


_CONCATENATE = register(
    "qnn.concatenate",
    doc="Concatenate quantised tensors along an axis.",
    inputs=_INPUTS,
    attrs=ConcatenateAttrs,
    relation=_relation,
    pattern=OpPattern.INJECTIVE,
    layout=quantized_layout(concatenate_layout),
    reference=_reference,
    waived=REWRITTEN,
    rules={"FTVMQnnCanonicalize": _canonical},
)


@public_function(_CONCATENATE)
def concatenate(
    data: Expr | Sequence[Expr],
    input_scales: Expr | Sequence[Expr],
    input_zero_points: Expr | Sequence[Expr],
    output_scale: Expr,
    output_zero_point: Expr,
    axis: int,
) -> Call:
    """Concatenate quantised tensors along an axis."""
    lists = (tuple(v) if isinstance(v, (list, tuple)) else v for v in (data, input_scales, input_zero_points))
    tuples = [Tuple(v) if isinstance(v, tuple) else v for v in lists]
    return _CONCATENATE(*tuples, output_scale, output_zero_point, axis=axis)
