"""Elements found by indices: ``take``, ``gather``, ``gather_nd``, ``adv_index``."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.attrs import REQUIRED, Attrs
from compiler.ir.error import ArgumentError, show
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, Tuple, as_expr, const
from compiler.relay.op.common import agree, axis_of, int_of
from compiler.relay.op.relations import broadcast_dims, tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, RelationError, Types, call_op
from compiler.relay.ty import TensorType, TupleType
from compiler.topi import indexing as topi


def index_tensor(t: Type, what: str) -> TensorType:
    """Return the type of a tensor of indices.

    Raises
    ------
    RelationError
        If it is not of integers.
    """
    found = tensor(t, what)
    if not dt.is_integral(found.dtype):
        raise RelationError(f"{what} must be integers, got {found}")
    return found


# take


def _take_relation(types: Types, attrs: Attrs) -> Type:
    data, indices = tensor(types[0], "data"), index_tensor(types[1], "indices")
    if attrs.axis is None:
        return TensorType(indices.shape, data.dtype)
    at = axis_of(attrs.axis, len(data.dims))
    batch = attrs.batch_dims
    if not 0 <= batch <= min(at, len(indices.dims)):
        raise RelationError(f"batch_dims must be at most the axis {at} and the rank of {indices}, got {batch}")
    for d in range(batch):
        agree(data.dims[d], indices.dims[d], f"dimension {d} of {data} and {indices}")
    return TensorType((*data.shape[:at], *indices.shape[batch:], *data.shape[at + 1 :]), data.dtype)


def _take_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    return [topi.take(inputs[0], inputs[1], attrs.axis, attrs.batch_dims, attrs.mode)]


def _inside(indices: Any, extent: int, mode: str) -> Any:
    whole = indices.astype("int64")
    return whole % extent if mode == "wrap" else np.clip(whole, 0, extent - 1) if mode == "clip" else whole


def _take_reference(attrs: Attrs, x: Any, indices: Any) -> Any:
    if attrs.axis is None:
        return x.reshape(-1)[_inside(indices, x.size, attrs.mode)]
    at = attrs.axis % x.ndim
    where = _inside(indices, x.shape[at], attrs.mode)
    if not attrs.batch_dims:
        return np.take(x, where, at)
    lead = x.shape[: attrs.batch_dims]
    rows = zip(
        x.reshape(-1, *x.shape[attrs.batch_dims :]), where.reshape(-1, *where.shape[attrs.batch_dims :]), strict=True
    )
    found = np.stack([np.take(row, w, at - attrs.batch_dims) for row, w in rows])
    return found.reshape(*lead, *found.shape[1:])


def _take_gradient(call: Call, grad: Expr) -> list[Expr]:
    """What was taken several times adds up: slices are put back along the axis, which becomes the first one."""
    data, indices = call.args
    attrs = call.attrs
    if attrs.batch_dims:
        raise ArgumentError(f"gradient of take: batch_dims must be 0, got {attrs.batch_dims}")
    shape = data.checked_type.concrete_shape
    count = len(indices.checked_type.shape)
    at = 0 if attrs.axis is None else attrs.axis % len(shape)
    extent = int(np.prod(shape)) if attrs.axis is None else shape[at]
    whole = call_op("cast", indices, dtype="int64")
    where = whole if attrs.mode == "fast" else _bounded(whole, extent, attrs.mode)
    points = call_op("expand_dims", where, axis=0)
    if attrs.axis is None:
        flat = call_op("zeros", shape=(extent,), dtype=data.checked_type.dtype)
        found = call_op("scatter_nd", flat, points, grad, mode="add")
        return [call_op("reshape", found, newshape=shape), call_op("zeros_like", indices)]
    rank = len(shape) - 1 + count
    taken = tuple(range(at, at + count))
    slices = call_op("transpose", grad, axes=(*taken, *[d for d in range(rank) if d not in taken]))
    order = (at, *[d for d in range(len(shape)) if d != at])
    zero = call_op("zeros", shape=tuple(shape[d] for d in order), dtype=data.checked_type.dtype)
    found = call_op("scatter_nd", zero, points, slices, mode="add")
    back = call_op("transpose", found, axes=tuple(order.index(d) for d in range(len(shape))))
    return [back, call_op("zeros_like", indices)]


def _bounded(indices: Any, extent: int, mode: str) -> Any:
    if mode == "wrap":
        return call_op("floor_mod", indices, const(extent, "int64"))
    return call_op("clip", indices, a_min=0.0, a_max=float(extent - 1))


_TAKE = register(
    "take",
    doc="Slices at indices of an axis.",
    inputs=("data", "indices"),
    attributes={"batch_dims": 0, "axis": None, "mode": "clip"},
    relation=_take_relation,
    pattern=OpPattern.INJECTIVE,
    compute=_take_compute,
    reference=_take_reference,
    gradient=_take_gradient,
)


def take(data: Expr, indices: Expr, axis: int | None = None, batch_dims: int = 0, mode: str = "clip") -> Call:
    """Return the slices of ``data`` at ``indices`` of an axis; single elements, counted over all axes, if left out.

    Parameters
    ----------
    batch_dims : int
        How many first axes ``data`` and ``indices`` have in common.
    mode : {"clip", "wrap", "fast"}
        Whether an index that is outside counts as the nearest one inside, wraps around, or must not be there.
    """
    if mode not in ("clip", "wrap", "fast"):
        raise ArgumentError(f"take: mode must be 'clip', 'wrap' or 'fast', got {show(mode)}")
    if batch_dims < 0:
        batch_dims += len(indices.checked_type.shape) if indices.checked_type_ is not None else 0
    return _TAKE(data, indices, axis=None if axis is None else int_of(axis, "axis"), batch_dims=batch_dims, mode=mode)


# gather


def _gather_relation(types: Types, attrs: Attrs) -> Type:
    data, indices = tensor(types[0], "data"), index_tensor(types[1], "indices")
    at = axis_of(attrs.axis, len(data.dims))
    if len(indices.dims) != len(data.dims):
        raise RelationError(f"indices must have {len(data.dims)} dimensions as data, got {indices}")
    for d, (e, i) in enumerate(zip(data.dims, indices.dims, strict=True)):
        if d != at and isinstance(e, int) and isinstance(i, int) and i > e:
            raise RelationError(f"indices must not be larger than data along axis {d}, got {i} and {e}")
    return TensorType(indices.shape, data.dtype)


def _gather_reference(attrs: Attrs, x: Any, indices: Any) -> Any:
    at = attrs.axis % x.ndim
    within = x[tuple(slice(None) if d == at else slice(e) for d, e in enumerate(indices.shape))]
    return np.take_along_axis(within, indices.astype("int64"), at)


_GATHER = register(
    "gather",
    doc="Elements at the same place but for one axis, where indices say which.",
    inputs=("data", "indices"),
    attributes={"axis": REQUIRED},
    relation=_gather_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [topi.gather(inputs[0], attrs.axis, inputs[1])],
    reference=_gather_reference,
    gradient=lambda call, grad: [
        call_op(
            "scatter_elements",
            call_op("zeros_like", call.args[0]),
            call.args[1],
            grad,
            axis=call.attrs.axis,
            reduction="add",
        ),
        call_op("zeros_like", call.args[1]),
    ],
)


def gather(data: Expr, axis: int, indices: Expr) -> Call:
    """Return ``data`` at the same place but for ``axis``, where ``indices`` say which element."""
    return _GATHER(data, indices, axis=int_of(axis, "axis"))


def _gather_nd_relation(types: Types, attrs: Attrs) -> Type:
    data, indices = tensor(types[0], "data"), index_tensor(types[1], "indices")
    count = indices.dims[0] if indices.dims else None
    if not isinstance(count, int):
        count = attrs.index_rank
    if count is None:
        raise RelationError(f"the first dimension of indices, or index_rank, must be a number, got {indices}")
    batch = attrs.batch_dims
    if batch + count > len(data.dims) or batch > len(indices.dims) - 1:
        raise RelationError(f"{count} coordinates after {batch} batch dimensions do not fit to {data}")
    for d in range(batch):
        agree(data.dims[d], indices.dims[1 + d], f"batch dimension {d} of {data} and {indices}")
    return TensorType((*indices.shape[1:], *data.shape[batch + count :]), data.dtype)


def _gather_nd_reference(attrs: Attrs, x: Any, indices: Any) -> Any:
    batch = attrs.batch_dims
    lead = np.indices(indices.shape[1:], sparse=True)[:batch] if batch else ()
    return x[(*lead, *indices.astype("int64"))]


def _gather_nd_gradient(call: Call, grad: Expr) -> list[Expr]:
    data, indices = call.args
    if call.attrs.batch_dims:
        raise ArgumentError(f"gradient of gather_nd: batch_dims must be 0, got {call.attrs.batch_dims}")
    found = call_op("scatter_nd", call_op("zeros_like", data), indices, grad, mode="add")
    return [found, call_op("zeros_like", indices)]


_GATHER_ND = register(
    "gather_nd",
    doc="Slices at points, whose coordinates stand along the first axis of the indices.",
    inputs=("data", "indices"),
    attributes={"batch_dims": 0, "index_rank": None},
    relation=_gather_nd_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [topi.gather_nd(inputs[0], inputs[1], attrs.batch_dims)],
    reference=_gather_nd_reference,
    gradient=_gather_nd_gradient,
)


def gather_nd(data: Expr, indices: Expr, batch_dims: int = 0, index_rank: int | None = None) -> Call:
    """Return the slices of ``data`` at points, whose coordinates stand along the first axis of ``indices``.

    Parameters
    ----------
    batch_dims : int
        How many axes ``data`` has before the coordinates; the first ones of the points go along with them.
    index_rank : int, optional
        How many coordinates a point has, where the type of ``indices`` does not say.
    """
    return _GATHER_ND(data, indices, batch_dims=int_of(batch_dims, "batch_dims"), index_rank=index_rank)


def _advanced_relation(types: Types, attrs: Attrs) -> Type:
    if not isinstance(types[0], TupleType) or len(types[0].fields) < 2:
        raise RelationError(f"inputs must be a tuple of the data and its indices, got {types[0]}")
    data, *indices = [tensor(t, f"element {n} of inputs") for n, t in enumerate(types[0].fields)]
    if len(indices) > len(data.dims):
        raise RelationError(f"{len(indices)} coordinates do not fit to {data}")
    points: tuple[Any, ...] = ()
    for n, i in enumerate(indices):
        points = broadcast_dims(points, index_tensor(i, f"element {n + 1} of inputs").dims)
    return TensorType((*points, *data.shape[len(indices) :]), data.dtype)


_ADV_INDEX = register(
    "adv_index",
    doc="Slices at points, whose coordinates are tensors broadcast against each other.",
    inputs=("inputs",),
    relation=_advanced_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [topi.adv_index(inputs[0], inputs[1:])],
    reference=lambda attrs, inputs: inputs[0][tuple(i.astype("int64") for i in inputs[1:])],
    waived={"gradient": "gather_nd, which has one, does the same"},
)


def adv_index(inputs: Any) -> Call:
    """Return ``inputs[0][inputs[1], inputs[2], …]``: slices at points, as NumPy's indexing by arrays."""
    value = as_expr(inputs)
    return _ADV_INDEX(value if isinstance(value, Expr) else Tuple(tuple(value)))
