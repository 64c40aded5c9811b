"""Broadcasting and its inverse: ``broadcast_to``, ``collapse_sum_like``, …"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import OPTIONAL_DTYPE, SHAPE
from compiler.ir.expr.primexpr import PrimExpr
from compiler.ir.types import Type
from compiler.relay.op.type_relations import broadcast_dims, tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, RelationError, Types, call_op
from compiler.relay.ty import Dim, TensorType
from compiler.topi import broadcast as topi_broadcast
from compiler.topi.arrays import transform as topi
from compiler.topi.operands import dims


class BroadcastToAttrs(Attrs):
    """Attributes of ``broadcast_to`` and ``collapse_sum_to``."""

    shape: tuple[int | PrimExpr, ...] = attr_field(SHAPE, "Shape of the result.")
    dtype: str = attr_field(OPTIONAL_DTYPE, "Data type of the result; that of the data if it is empty.", "")


def _check(small: Sequence[Dim], large: Sequence[Dim]) -> None:
    """Raise a RelationError unless a small shape broadcasts to a large one."""
    common = broadcast_dims(small, large)
    if len(small) > len(large) or any(
        isinstance(f, int) and isinstance(w, int) and f != w for f, w in zip(common, large, strict=False)
    ):
        raise RelationError(f"the shape {tuple(small)} cannot be broadcast to {tuple(large)}")


def _to_relation(types: Types, attrs: BroadcastToAttrs) -> Type:
    """The data broadcast to ``shape``, of its data type."""
    data = tensor(types[0], "data")
    _check(data.dims, attrs.shape)
    return TensorType(attrs.shape, attrs.dtype or data.dtype)


broadcast_to = register(
    "broadcast_to",
    doc="Broadcast a tensor to a shape.",
    inputs={"data": "The tensor to broadcast."},
    attrs=BroadcastToAttrs,
    parameters=("data", "shape"),
    relation=_to_relation,
    pattern=OpPattern.BROADCAST,
    definition=topi_broadcast.broadcast_to,
    reference=lambda attrs, x: np.broadcast_to(x, attrs.shape).copy(),
    gradient=lambda call, grad: [call_op("collapse_sum_like", grad, call.args[0])],
)


def _like_relation(types: Types, attrs: Attrs) -> Type:
    """The data in the shape of ``broadcast_type``."""
    data, like = tensor(types[0], "data"), tensor(types[1], "broadcast_type")
    _check(data.dims, like.dims)
    return TensorType(like.shape, data.dtype)


broadcast_to_like = register(
    "broadcast_to_like",
    doc="Broadcast a tensor to the shape of another one.",
    inputs={"data": "The tensor to broadcast.", "broadcast_type": "The tensor whose shape to take."},
    relation=_like_relation,
    pattern=OpPattern.BROADCAST,
    compute=lambda attrs, inputs, out_type: [topi_broadcast.broadcast_to(inputs[0], dims(inputs[1]))],
    reference=lambda attrs, x, like: np.broadcast_to(x, like.shape).copy(),
    gradient=lambda call, grad: [call_op("collapse_sum_like", grad, call.args[0]), call_op("zeros_like", call.args[1])],
)


def _collapse(x: Array, shape: Sequence[int]) -> Array:
    extra = x.ndim - len(shape)
    narrow = [d for d, e in enumerate(shape) if e == 1 and x.shape[d + extra] != 1]
    over = (*range(extra), *[d + extra for d in narrow])
    return np.asarray(x.sum(axis=over, dtype=x.dtype)).reshape(shape)


def _collapse_like_relation(types: Types, attrs: Attrs) -> Type:
    """The sums, in the shape of ``collapse_type``."""
    data, like = tensor(types[0], "data"), tensor(types[1], "collapse_type")
    _check(like.dims, data.dims)
    return TensorType(like.shape, data.dtype)


collapse_sum_like = register(
    "collapse_sum_like",
    doc="Sum a tensor to the shape of one that broadcasts to it: the gradient of broadcasting.",
    inputs={"data": "The tensor to sum.", "collapse_type": "The tensor whose shape to take."},
    relation=_collapse_like_relation,
    pattern=OpPattern.COMM_REDUCE,
    compute=lambda attrs, inputs, out_type: [topi.collapse_sum(inputs[0], dims(inputs[1]))],
    reference=lambda attrs, x, like: _collapse(x, like.shape),
    gradient=lambda call, grad: [call_op("broadcast_to_like", grad, call.args[0]), call_op("zeros_like", call.args[1])],
)


def _collapse_to_relation(types: Types, attrs: BroadcastToAttrs) -> Type:
    """The sums, of shape ``shape``."""
    data = tensor(types[0], "data")
    _check(attrs.shape, data.dims)
    return TensorType(attrs.shape, attrs.dtype or data.dtype)


collapse_sum_to = register(
    "collapse_sum_to",
    doc="Sum a tensor to a shape that broadcasts to its own.",
    inputs={"data": "The tensor to sum."},
    attrs=BroadcastToAttrs,
    parameters=("data", "shape"),
    relation=_collapse_to_relation,
    pattern=OpPattern.COMM_REDUCE,
    definition=topi.collapse_sum,
    reference=lambda attrs, x: _collapse(x, attrs.shape),
    gradient=lambda call, grad: [call_op("broadcast_to_like", grad, call.args[0])],
)
