"""Between shapes that broadcast: ``broadcast_to``, ``collapse_sum_like`` and their kin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ir.attrs import REQUIRED, Attrs
from compiler.ir.types import Type
from compiler.relay.expr import Call, Constant, Expr
from compiler.relay.op.common import shape_of_attr
from compiler.relay.op.relations import broadcast_dims, tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, RelationError, Types, call_op
from compiler.relay.ty import Dim, TensorType
from compiler.topi import broadcast as topi_broadcast
from compiler.topi import transform as topi
from compiler.topi.util import dims


def _check(small: Sequence[Dim], large: Sequence[Dim]) -> None:
    """Raise a RelationError unless a small shape broadcasts to a large one."""
    found = broadcast_dims(small, large)
    if len(small) > len(large) or any(
        isinstance(f, int) and isinstance(w, int) and f != w for f, w in zip(found, large, strict=False)
    ):
        raise RelationError(f"the shape {tuple(small)} cannot be broadcast to {tuple(large)}")


def _to_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    _check(data.dims, attrs.shape)
    return TensorType(attrs.shape, attrs.dtype or data.dtype)


_BROADCAST_TO = register(
    "broadcast_to",
    doc="Repeated along axes of extent 1, and along new ones, to a shape.",
    inputs=("data",),
    attributes={"shape": REQUIRED, "dtype": ""},
    relation=_to_relation,
    pattern=OpPattern.BROADCAST,
    compute=lambda attrs, inputs, out_type: [topi_broadcast.broadcast_to(inputs[0], attrs.shape)],
    reference=lambda attrs, x: np.broadcast_to(x, attrs.shape).copy(),
    gradient=lambda call, grad: [call_op("collapse_sum_like", grad, call.args[0])],
)


def broadcast_to(data: Expr, shape: Any) -> Call:
    """Return ``data`` repeated along axes of extent 1, and along new ones, to ``shape``."""
    if isinstance(shape, Constant):
        shape = shape.value.reshape(-1).tolist()
    if isinstance(shape, Expr):
        return call_op("dyn.broadcast_to", data, shape)
    return _BROADCAST_TO(data, shape=shape_of_attr(shape, "shape"))


def _like_relation(types: Types, attrs: Attrs) -> Type:
    data, like = tensor(types[0], "data"), tensor(types[1], "broadcast_type")
    _check(data.dims, like.dims)
    return TensorType(like.shape, data.dtype)


_BROADCAST_TO_LIKE = register(
    "broadcast_to_like",
    doc="Repeated to the shape of another tensor.",
    inputs=("data", "broadcast_type"),
    relation=_like_relation,
    pattern=OpPattern.BROADCAST,
    compute=lambda attrs, inputs, out_type: [topi_broadcast.broadcast_to(inputs[0], dims(inputs[1]))],
    reference=lambda attrs, x, like: np.broadcast_to(x, like.shape).copy(),
    gradient=lambda call, grad: [call_op("collapse_sum_like", grad, call.args[0]), call_op("zeros_like", call.args[1])],
)


def broadcast_to_like(data: Expr, broadcast_type: Expr) -> Call:
    """Return ``data`` repeated to the shape of another tensor."""
    return _BROADCAST_TO_LIKE(data, broadcast_type)


def _collapse(x: Any, shape: Sequence[int]) -> Any:
    extra = x.ndim - len(shape)
    narrow = [d for d, e in enumerate(shape) if e == 1 and x.shape[d + extra] != 1]
    over = (*range(extra), *[d + extra for d in narrow])
    return np.asarray(x.sum(axis=over, dtype=x.dtype)).reshape(shape)


def _collapse_like_relation(types: Types, attrs: Attrs) -> Type:
    data, like = tensor(types[0], "data"), tensor(types[1], "collapse_type")
    _check(like.dims, data.dims)
    return TensorType(like.shape, data.dtype)


_COLLAPSE_SUM_LIKE = register(
    "collapse_sum_like",
    doc="Summed to the shape of a tensor that broadcasts to this one: the gradient of broadcasting.",
    inputs=("data", "collapse_type"),
    relation=_collapse_like_relation,
    pattern=OpPattern.COMM_REDUCE,
    compute=lambda attrs, inputs, out_type: [topi.collapse_sum(inputs[0], dims(inputs[1]))],
    reference=lambda attrs, x, like: _collapse(x, like.shape),
    gradient=lambda call, grad: [call_op("broadcast_to_like", grad, call.args[0]), call_op("zeros_like", call.args[1])],
)


def collapse_sum_like(data: Expr, collapse_type: Expr) -> Call:
    """Return ``data`` summed to the shape of a tensor that broadcasts to its shape."""
    return _COLLAPSE_SUM_LIKE(data, collapse_type)


def _collapse_to_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    _check(attrs.shape, data.dims)
    return TensorType(attrs.shape, attrs.dtype or data.dtype)


_COLLAPSE_SUM_TO = register(
    "collapse_sum_to",
    doc="Summed to a shape that broadcasts to that of the input.",
    inputs=("data",),
    attributes={"shape": REQUIRED, "dtype": ""},
    relation=_collapse_to_relation,
    pattern=OpPattern.COMM_REDUCE,
    compute=lambda attrs, inputs, out_type: [topi.collapse_sum(inputs[0], attrs.shape)],
    reference=lambda attrs, x: _collapse(x, attrs.shape),
    gradient=lambda call, grad: [call_op("broadcast_to_like", grad, call.args[0])],
)


def collapse_sum_to(data: Expr, shape: Any) -> Call:
    """Return ``data`` summed to a shape that broadcasts to its own."""
    if isinstance(shape, Constant):
        shape = shape.value.reshape(-1).tolist()
    return _COLLAPSE_SUM_TO(data, shape=shape_of_attr(shape, "shape"))
