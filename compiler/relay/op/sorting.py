"""Sorting: ``sort``, ``argsort``, ``topk``, ``unique``, ``argwhere``."""

from __future__ import annotations

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import BOOL, DTYPE, INT, one_of
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, TupleWrapper
from compiler.relay.op.axis_layouts import sorted_along_axis_layout
from compiler.relay.op.common import NOT_SMOOTH, normalize_axis
from compiler.relay.op.type_relations import along_axis, tensor
from compiler.relay.op_registry import public_function, register, tuple_function
from compiler.relay.operator import Array, RelationError, Types, call_op
from compiler.relay.ty import AnyDim, Dim, TensorType, TupleType
from compiler.topi.arrays import sorting as topi


class SortAttrs(Attrs):
    axis: int = attr_field(INT, "Axis to sort along; negative ones count from the end.", -1)
    is_ascend: bool = attr_field(BOOL, "Whether the smallest element comes first.", True)


class ArgsortAttrs(SortAttrs):
    dtype: str = attr_field(DTYPE, "Data type of the indices.", "int32")


class TopKAttrs(Attrs):
    k: int = attr_field(INT, "Number of elements; all of the axis if it is less than 1.", 1)
    axis: int = attr_field(INT, "Axis to sort along; negative ones count from the end.", -1)
    ret_type: str = attr_field(
        one_of("both", "values", "indices"), "Whether to return values, indices or a tuple of both.", "both"
    )
    is_ascend: bool = attr_field(BOOL, "Whether to take the smallest elements.", False)
    dtype: str = attr_field(DTYPE, "Data type of the indices.", "int32")


class UniqueAttrs(Attrs):
    sorted: bool = attr_field(BOOL, "Whether values come in order of size, else of first appearance.", True)
    return_counts: bool = attr_field(BOOL, "Whether to return how often each value appears.", False)


def order(x: Array, axis: int, ascending: bool) -> Array:
    """Return where the elements stand in their order; of equal ones the first comes first, in either direction."""
    if ascending:
        return np.argsort(x, axis=axis, kind="stable")
    last = x.shape[axis] - 1
    return np.flip(last - np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)


def _place_gradient(call: Call, grad: Expr) -> list[Expr]:
    """Each gradient goes back to where its value came from."""
    data, attrs = call.args[0], SortAttrs.of(call)
    places = call_op("argsort", data, axis=attrs.axis, is_ascend=attrs.is_ascend, dtype="int32")
    zeros = call_op("zeros_like", data)
    return [call_op("scatter_elements", zeros, places, grad, axis=attrs.axis, reduction="add")]


sort = register(
    "sort",
    doc="Sort the elements along an axis.",
    inputs={"data": "The tensor to sort."},
    attrs=SortAttrs,
    relation=along_axis,
    definition=topi.sort,
    reference=lambda attrs, x: np.take_along_axis(x, order(x, attrs.axis, attrs.is_ascend), attrs.axis),
    gradient=_place_gradient,
)


def _argsort_relation(types: Types, attrs: ArgsortAttrs) -> Type:
    """The shape of the data, of data type ``dtype``."""
    data = tensor(types[0], "data")
    normalize_axis(attrs.axis, len(data.dims))
    return TensorType(data.shape, attrs.dtype)


argsort = register(
    "argsort",
    doc="Return the indices that sort the elements along an axis; of equal elements the first comes first.",
    inputs={"data": "The tensor to sort."},
    attrs=ArgsortAttrs,
    spelt_out=("dtype",),
    relation=_argsort_relation,
    definition=topi.argsort,
    reference=lambda attrs, x: order(x, attrs.axis, attrs.is_ascend).astype(attrs.dtype),
    waived=NOT_SMOOTH,
)


def top_types(data: TensorType, count: Dim, attrs: TopKAttrs) -> Type:
    """Return the type of the first ``count`` values in order, of their places, or of both."""
    at = normalize_axis(attrs.axis, len(data.dims))
    shape = (*data.shape[:at], count, *data.shape[at + 1 :])
    results = {"values": TensorType(shape, data.dtype), "indices": TensorType(shape, attrs.dtype)}
    return TupleType(tuple(results.values())) if attrs.ret_type == "both" else results[attrs.ret_type]


def _topk_relation(types: Types, attrs: TopKAttrs) -> Type:
    """Values, indices or a tuple of both, with extent ``k`` along ``axis``."""
    data = tensor(types[0], "data")
    extent = data.dims[normalize_axis(attrs.axis, len(data.dims))]
    if isinstance(extent, int) and attrs.k > extent:
        raise RelationError(f"k must be at most the extent {extent} of axis {attrs.axis}, got {attrs.k}")
    return top_types(data, extent if attrs.k < 1 else attrs.k, attrs)


def top_values(attrs: TopKAttrs, x: Array, count: int) -> Array | tuple[Array, ...]:
    """Return the first ``count`` elements of a NumPy array in order, their places, or both."""
    places = order(x, attrs.axis, attrs.is_ascend)
    places = np.take(places, np.arange(x.shape[attrs.axis] if count < 1 else count), attrs.axis)
    values = np.take_along_axis(x, places, attrs.axis)
    results = {"values": values, "indices": places.astype(attrs.dtype)}
    return tuple(results.values()) if attrs.ret_type == "both" else results[attrs.ret_type]


def _topk_gradient(call: Call, grad: Expr) -> list[Expr]:
    data, attrs = call.args[0], TopKAttrs.of(call)
    if attrs.ret_type == "indices":
        return [call_op("zeros_like", data)]
    values = TupleWrapper(grad, 2)[0] if attrs.ret_type == "both" else grad
    places = call_op("topk", data, **{**attrs, "ret_type": "indices"})
    return [call_op("scatter_elements", call_op("zeros_like", data), places, values, axis=attrs.axis, reduction="add")]


_TOPK = register(
    "topk",
    doc="Return the largest elements along an axis in descending order, and their indices.",
    inputs={"data": "The tensor to choose from."},
    attrs=TopKAttrs,
    spelt_out=("k", "dtype"),
    relation=_topk_relation,
    layout=sorted_along_axis_layout,
    definition=topi.topk,
    reference=lambda attrs, x: top_values(attrs, x, attrs.k),
    gradient=_topk_gradient,
)


# results whose size depends on the values


def _top_size(call: Call) -> int | None:
    return 2 if call.attrs["ret_type"] == "both" else None


topk = tuple_function(_TOPK, _top_size)


def _unique_relation(types: Types, attrs: UniqueAttrs) -> Type:
    """A tuple of vectors: values, first indices, inverse indices, their number, and the counts if asked for."""
    data = tensor(types[0], "data", 1)
    places = TensorType(data.shape, "int32")
    counts = (places,) if attrs.return_counts else ()
    return TupleType((data, places, places, TensorType((1,), "int32"), *counts))


def _unique_reference(attrs: UniqueAttrs, x: Array) -> tuple[Array, ...]:
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    if not attrs.sorted:
        by_place = np.argsort(first)
        values, first, counts = values[by_place], first[by_place], counts[by_place]
        inverse = np.argsort(by_place)[inverse]
    room = (0, len(x) - len(values))
    padded = [np.pad(values, room), np.pad(first, room), inverse, np.array([len(values)])]
    whole = [f.astype("int32") for f in [*padded[1:], *([np.pad(counts, room)] if attrs.return_counts else [])]]
    return (padded[0].astype(x.dtype), *whole)


_UNIQUE = register(
    "unique",
    doc="Return each value of a vector once, padded to the vector's length.",
    inputs={"data": "A vector."},
    attrs=UniqueAttrs,
    relation=_unique_relation,
    reference=_unique_reference,
    waived={"compute": "how much is written depends on the values; the reference runs", **NOT_SMOOTH},
)


def _argwhere_relation(types: Types, attrs: Attrs) -> Type:
    """``(count, rank)``, of data type int32; the count is known at run time only."""
    condition = tensor(types[0], "condition")
    return TensorType((AnyDim(), len(condition.dims)), "int32")


def _places(attrs: Attrs, x: Array) -> Array:
    """Return the places in an array that are not zero; what ``numpy.argwhere`` does, in a third of the time."""
    return np.argwhere(x).astype(np.int32) if x.ndim == 0 else np.array(x.nonzero(), np.int32).T


argwhere = register(
    "argwhere",
    doc="Return the coordinates of all nonzero elements, a row for each.",
    inputs={"condition": "The tensor whose nonzero elements to find."},
    relation=_argwhere_relation,
    reference=_places,
    waived={"compute": "the number of rows depends on the values; the reference runs", **NOT_SMOOTH},
)


@public_function(_UNIQUE, is_sorted="bool: Whether values come in order of size, else of first appearance.")
def unique(data: RelayExpr, is_sorted: bool = True, return_counts: bool = False) -> TupleWrapper:
    """Return each value of a vector once, padded to the vector's length: ``values, first, inverse, count[, counts]``.

    ``first`` are the indices of the first appearance of each, ``inverse`` says for each element of ``data`` which value
    it is, ``count`` is the number of values.
    """
    call = _UNIQUE(data, sorted=is_sorted, return_counts=return_counts)
    return TupleWrapper(call, 5 if return_counts else 4)
