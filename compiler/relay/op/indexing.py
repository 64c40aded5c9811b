"""Gather operators: ``take``, ``gather``, ``gather_nd``, ``adv_index``."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import INT, one_of, optional
from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, const
from compiler.relay.op.common import check_same_extent, int_of, normalize_axis
from compiler.relay.op.type_relations import broadcast_dims, tensor
from compiler.relay.op_registry import public_function, register
from compiler.relay.operator import Array, OpPattern, RelationError, Types, call_op, reshaped
from compiler.relay.ty import TensorType, TupleType
from compiler.topi.arrays import indexing as topi


class TakeAttrs(Attrs):
    batch_dims: int = attr_field(INT, "Number of leading axes that data and indices have in common.", 0)
    axis: int | None = attr_field(optional(INT), "Axis to index; the flattened data if it is None.", None)
    mode: str = attr_field(
        one_of("clip", "wrap", "fast"),
        "Whether an index out of bounds is clipped, wraps around, or never occurs.",
        "clip",
    )


class GatherAttrs(Attrs):
    axis: int = attr_field(INT, "Axis along which indices say which element to take.")


class GatherNDAttrs(Attrs):
    batch_dims: int = attr_field(INT, "Number of leading axes of data that are not indexed.", 0)
    index_rank: int | None = attr_field(
        optional(INT), "Number of coordinates of a point, where the type of the indices does not say it.", None
    )


def index_tensor(t: Type, what: str) -> TensorType:
    """Return the type of a tensor of indices.

    Raises RelationError if it is not of integers.
    """
    indices = tensor(t, what)
    if not dt.is_integral(indices.dtype):
        raise RelationError(f"{what} must be integers, got {indices}")
    return indices


# take


def _take_relation(types: Types, attrs: TakeAttrs) -> Type:
    """The data with ``axis`` replaced by the shape of the indices."""
    data, indices = tensor(types[0], "data"), index_tensor(types[1], "indices")
    if attrs.axis is None:
        return TensorType(indices.shape, data.dtype)
    at = normalize_axis(attrs.axis, len(data.dims))
    batch = attrs.batch_dims
    if not 0 <= batch <= min(at, len(indices.dims)):
        raise RelationError(f"batch_dims must be at most the axis {at} and the rank of {indices}, got {batch}")
    for d in range(batch):
        check_same_extent(data.dims[d], indices.dims[d], f"dimension {d} of {data} and {indices}")
    return TensorType((*data.shape[:at], *indices.shape[batch:], *data.shape[at + 1 :]), data.dtype)


def _inside(indices: Any, extent: int, mode: str) -> Any:
    whole = indices.astype("int64")
    return whole % extent if mode == "wrap" else np.clip(whole, 0, extent - 1) if mode == "clip" else whole


def _take_reference(attrs: TakeAttrs, x: Array, indices: Array) -> Array:
    if attrs.axis is None:
        result: Array = x.reshape(-1)[_inside(indices, x.size, attrs.mode)]
        return result
    at = attrs.axis % x.ndim
    where = _inside(indices, x.shape[at], attrs.mode)
    if not attrs.batch_dims:
        taken: Array = np.take(x, where, at)
        return taken
    lead = x.shape[: attrs.batch_dims]
    rows = zip(
        x.reshape(-1, *x.shape[attrs.batch_dims :]), where.reshape(-1, *where.shape[attrs.batch_dims :]), strict=True
    )
    slices = np.stack([np.take(row, w, at - attrs.batch_dims) for row, w in rows])
    return slices.reshape(*lead, *slices.shape[1:])


def _take_gradient(call: Call, grad: Expr) -> list[Expr]:
    """What was taken several times adds up: slices are put back along the axis, which becomes the first one."""
    data, indices = call.args
    attrs = TakeAttrs.of(call)
    if attrs.batch_dims:
        raise ArgumentError(f"gradient of take: batch_dims must be 0, got {attrs.batch_dims}")
    shape = data.checked_type.concrete_shape
    count = len(indices.checked_type.shape)
    at = 0 if attrs.axis is None else attrs.axis % len(shape)
    extent = int(np.prod(shape)) if attrs.axis is None else shape[at]
    whole = call_op("cast", indices, dtype="int64")
    where = whole if attrs.mode == "fast" else _bounded(whole, extent, attrs.mode)
    dtype = data.checked_type.dtype
    if attrs.axis is None:
        return [reshaped(put_back(grad, where, 0, (extent,), count, dtype), shape), call_op("zeros_like", indices)]
    return [put_back(grad, where, at, shape, count, dtype), call_op("zeros_like", indices)]


def put_back(grad: Expr, where: Expr, at: int, shape: tuple[int, ...], count: int, dtype: str) -> Expr:
    """Return zeros of a shape, to which slices have been added at places along an axis, an array of ``count`` axes."""
    rank = len(shape) - 1 + count
    taken = tuple(range(at, at + count))
    slices = call_op("transpose", grad, axes=(*taken, *[d for d in range(rank) if d not in taken]))
    order = (at, *[d for d in range(len(shape)) if d != at])
    zero = call_op("zeros", shape=tuple(shape[d] for d in order), dtype=dtype)
    scattered = call_op("scatter_nd", zero, call_op("expand_dims", where, axis=0), slices, mode="add")
    return call_op("transpose", scattered, axes=tuple(order.index(d) for d in range(len(shape))))


def _bounded(indices: Any, extent: int, mode: str) -> Any:
    if mode == "wrap":
        return call_op("floor_mod", indices, const(extent, "int64"))
    return call_op("clip", indices, a_min=0.0, a_max=float(extent - 1))


_TAKE = register(
    "take",
    doc="Take slices at indices of an axis.",
    inputs={"data": "The tensor to take from.", "indices": "Integers."},
    attrs=TakeAttrs,
    parameters=("data", "indices", "axis", "batch_dims", "mode"),
    relation=_take_relation,
    pattern=OpPattern.INJECTIVE,
    definition=topi.take,
    reference=_take_reference,
    gradient=_take_gradient,
)


# gather


def _gather_relation(types: Types, attrs: GatherAttrs) -> Type:
    """The shape of the indices, and the data type of the data."""
    data, indices = tensor(types[0], "data"), index_tensor(types[1], "indices")
    at = normalize_axis(attrs.axis, len(data.dims))
    if len(indices.dims) != len(data.dims):
        raise RelationError(f"indices must have {len(data.dims)} dimensions as data, got {indices}")
    for d, (e, i) in enumerate(zip(data.dims, indices.dims, strict=True)):
        if d != at and isinstance(e, int) and isinstance(i, int) and i > e:
            raise RelationError(f"indices must not be larger than data along axis {d}, got {i} and {e}")
    return TensorType(indices.shape, data.dtype)


def _gather_reference(attrs: GatherAttrs, x: Array, indices: Array) -> Array:
    at = attrs.axis % x.ndim
    within = x[tuple(slice(None) if d == at else slice(e) for d, e in enumerate(indices.shape))]
    return np.take_along_axis(within, indices.astype("int64"), at)


gather = register(
    "gather",
    doc="Take elements at the same position except along one axis, where indices say which.",
    inputs={"data": "The tensor to take from.", "indices": "Integers, of the rank of data."},
    attrs=GatherAttrs,
    parameters=("data", "axis", "indices"),
    relation=_gather_relation,
    pattern=OpPattern.INJECTIVE,
    definition=topi.gather,
    reference=_gather_reference,
    gradient=lambda call, grad: [
        call_op(
            "scatter_elements",
            call_op("zeros_like", call.args[0]),
            call.args[1],
            grad,
            axis=GatherAttrs.of(call).axis,
            reduction="add",
        ),
        call_op("zeros_like", call.args[1]),
    ],
)


def _gather_nd_relation(types: Types, attrs: GatherNDAttrs) -> Type:
    """The shape of the indices without its first axis, then the axes of data that no coordinate belongs to."""
    data, indices = tensor(types[0], "data"), index_tensor(types[1], "indices")
    count = indices.dims[0] if indices.dims else None
    if not isinstance(count, int):
        count = attrs.index_rank
    if count is None:
        raise RelationError(f"the first dimension of indices, or index_rank, must be a number, got {indices}")
    batch = attrs.batch_dims
    if batch + count > len(data.dims) or batch > len(indices.dims) - 1:
        raise RelationError(f"{count} coordinates after {batch} batch dimensions do not fit {data}")
    for d in range(batch):
        check_same_extent(data.dims[d], indices.dims[1 + d], f"batch dimension {d} of {data} and {indices}")
    return TensorType((*indices.shape[1:], *data.shape[batch + count :]), data.dtype)


def _gather_nd_reference(attrs: GatherNDAttrs, x: Array, indices: Array) -> Array:
    batch = attrs.batch_dims
    if not batch + len(indices):
        return np.broadcast_to(x, (*indices.shape[1:], *x.shape)).copy()
    lead = np.indices(indices.shape[1:], sparse=True)[:batch] if batch else ()
    result: Array = x[(*lead, *indices.astype("int64"))]
    return result


def _gather_nd_gradient(call: Call, grad: Expr) -> list[Expr]:
    data, indices = call.args
    if GatherNDAttrs.of(call).batch_dims:
        raise ArgumentError(f"gradient of gather_nd: batch_dims must be 0, got {GatherNDAttrs.of(call).batch_dims}")
    scattered = call_op("scatter_nd", call_op("zeros_like", data), indices, grad, mode="add")
    return [scattered, call_op("zeros_like", indices)]


gather_nd = register(
    "gather_nd",
    doc="Take slices at points, whose coordinates are along the first axis of the indices.",
    inputs={"data": "The tensor to take from.", "indices": "Integers, ``(coordinates, …)``."},
    attrs=GatherNDAttrs,
    relation=_gather_nd_relation,
    pattern=OpPattern.INJECTIVE,
    definition=topi.gather_nd,
    reference=_gather_nd_reference,
    gradient=_gather_nd_gradient,
)


def _advanced_relation(types: Types, attrs: Attrs) -> Type:
    """The shape that the indices broadcast to, then the axes of data that are not indexed."""
    if not isinstance(types[0], TupleType) or len(types[0].fields) < 2:
        raise RelationError(f"inputs must be a tuple of the data and its indices, got {types[0]}")
    data, *indices = [tensor(t, f"element {n} of inputs") for n, t in enumerate(types[0].fields)]
    if len(indices) > len(data.dims):
        raise RelationError(f"{len(indices)} coordinates do not fit {data}")
    points: tuple[Any, ...] = ()
    for n, i in enumerate(indices):
        points = broadcast_dims(points, index_tensor(i, f"element {n + 1} of inputs").dims)
    return TensorType((*points, *data.shape[len(indices) :]), data.dtype)


adv_index = register(
    "adv_index",
    doc="Take slices at points, whose coordinates are tensors broadcast against each other, as NumPy does.",
    inputs={"inputs": "A tuple: the data, then a tensor of integers for each indexed axis."},
    relation=_advanced_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [topi.adv_index(inputs[0], inputs[1:])],
    reference=lambda attrs, inputs: inputs[0][tuple(i.astype("int64") for i in inputs[1:])],
    waived={"gradient": "gather_nd, which has one, does the same"},
)


@public_function(_TAKE)
def take(data: RelayExpr, indices: RelayExpr, axis: int | None = None, batch_dims: int = 0, mode: str = "clip") -> Call:
    """Take slices at indices of an axis."""
    batch_dims = int_of(batch_dims, "take: batch_dims")
    if batch_dims < 0 and isinstance(indices, RelayExpr) and indices.checked_type_ is not None:
        batch_dims += len(indices.checked_type.shape)
    return _TAKE(data, indices, axis=axis, batch_dims=batch_dims, mode=mode)
