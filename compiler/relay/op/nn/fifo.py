"""FIFO buffers along an axis: ``nn.fifo_buffer``."""

from __future__ import annotations

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import INT
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.common import FAR, check_same_extent, normalize_axis
from compiler.relay.op.type_relations import same_dtype, tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, RelationError, Types, call_op
from compiler.topi.nn.fifo import fifo_buffer as topi_fifo_buffer


class FIFOBufferAttrs(Attrs):
    axis: int = attr_field(INT, "The axis of time.", 0)


def _relation(types: Types, attrs: FIFOBufferAttrs) -> Type:
    """The type of the buffer."""
    data, buffer = tensor(types[0], "data"), tensor(types[1], "buffer")
    same_dtype(data, buffer)
    if len(data.dims) != len(buffer.dims):
        raise RelationError(f"data and buffer must have as many dimensions, got {data} and {buffer}")
    axis = normalize_axis(attrs.axis, len(buffer.dims))
    for d, (a, b) in enumerate(zip(data.dims, buffer.dims, strict=True)):
        if d != axis:
            check_same_extent(a, b, f"data and buffer along axis {d}")
        elif isinstance(a, int) and isinstance(b, int) and a > b:
            raise RelationError(f"data must not be longer than the buffer, got {a} and {b} along axis {d}")
    return buffer


def _reference(attrs: FIFOBufferAttrs, data: Array, buffer: Array) -> Array:
    both = np.concatenate([buffer, data], attrs.axis)
    return np.take(both, np.arange(data.shape[attrs.axis], both.shape[attrs.axis]), attrs.axis)


def _gradient(call: Call, grad: Expr) -> list[Call]:
    """What stays in the buffer has its part of the gradient; what is dropped has none."""
    data, buffer = (arg.checked_type.concrete_shape for arg in call.args)
    axis = FIFOBufferAttrs.of(call).axis % len(buffer)
    new, left = data[axis], buffer[axis] - data[axis]
    begin = [0] * len(buffer)
    to_data = call_op("strided_slice", grad, begin=[*begin[:axis], left], end=[FAR] * (axis + 1), strides=[1])
    stays = call_op("strided_slice", grad, begin=begin[: axis + 1], end=[*[FAR] * axis, left], strides=[1])
    width = [(new, 0) if d == axis else (0, 0) for d in range(len(buffer))]
    return [to_data, call_op("nn.pad", stays, 0.0, pad_width=width)]


fifo_buffer = register(
    "nn.fifo_buffer",
    doc="Append new elements to a buffer, and drop as many of its oldest.",
    inputs={"data": "The new elements.", "buffer": "The older ones, of the shape of ``data`` but for ``axis``."},
    attrs=FIFOBufferAttrs,
    relation=_relation,
    definition=topi_fifo_buffer,
    reference=_reference,
    gradient=_gradient,
)
