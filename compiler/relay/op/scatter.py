"""Scatter operators: ``scatter_elements``, ``scatter_nd``, ``sparse_to_dense``, ``segment_sum``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import INT, SHAPE, one_of
from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.expr.primexpr import PrimExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, Constant, Expr, Tuple, array_const, const
from compiler.relay.op.common import check_same_extent, normalize_axis
from compiler.relay.op.indexing import index_tensor
from compiler.relay.op.type_relations import same_dtype, tensor
from compiler.relay.op_registry import composite, public_function, register
from compiler.relay.operator import Array, RelationError, Types, call_op
from compiler.relay.ty import Dim, TensorType
from compiler.te.definition.tensor import Tensor
from compiler.topi.arrays import scatter as topi

_UFUNCS = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


_REDUCTION = one_of(*topi.REDUCTIONS)


class ScatterElementsAttrs(Attrs):
    axis: int = attr_field(INT, "Axis along which indices say where an update goes.", 0)
    reduction: str = attr_field(
        _REDUCTION, "How values at one position, that of data too, become one; ``update`` takes the last.", "update"
    )


class ScatterNDAttrs(Attrs):
    mode: str = attr_field(
        _REDUCTION, "How values at one position, that of data too, become one; ``update`` takes the last.", "update"
    )


class SparseToDenseAttrs(Attrs):
    output_shape: tuple[int | PrimExpr, ...] = attr_field(SHAPE, "Shape of the result.")


def _put(target: Array, where: Any, updates: Array, reduction: str) -> Array:
    """Put updates into an array at a place for each of them; of several at one place the last one counts."""
    if reduction == "update":
        target[where] = updates
    elif reduction == "mean":
        count = np.ones(target.shape, target.dtype)
        np.add.at(target, where, updates)
        np.add.at(count, where, np.ones_like(updates))
        target = (target / count).astype(target.dtype)
    else:
        _UFUNCS[reduction].at(target, where, updates)
    return target


# scatter_elements


def _elements_relation(types: Types, attrs: ScatterElementsAttrs) -> Type:
    """The output has the type of the data."""
    data, indices, updates = tensor(types[0], "data"), index_tensor(types[1], "indices"), tensor(types[2], "updates")
    same_dtype(data, updates)
    normalize_axis(attrs.axis, len(data.dims))
    if not len(data.dims) == len(indices.dims) == len(updates.dims):
        raise RelationError(f"data, indices and updates must have one rank, got {data}, {indices} and {updates}")
    for d, (i, u) in enumerate(zip(indices.dims, updates.dims, strict=True)):
        check_same_extent(i, u, f"indices {indices} and updates {updates} along axis {d}")
    return data


def _elements_reference(attrs: ScatterElementsAttrs, x: Array, indices: Array, updates: Array) -> Array:
    where: list[Any] = list(np.indices(indices.shape, sparse=True))
    where[attrs.axis] = indices.astype("int64")
    return _put(x.copy(), tuple(where), updates, attrs.reduction)


def _elements_gradient(call: Call, grad: Expr) -> list[Expr]:
    _, indices, updates = call.args
    attrs = ScatterElementsAttrs.of(call)
    to_updates = call_op("gather", grad, indices, axis=attrs.axis)
    if attrs.reduction == "add":
        return [grad, call_op("zeros_like", indices), to_updates]
    if attrs.reduction != "update":
        raise ArgumentError(f"gradient of scatter_elements: reduction must be update or add, got {attrs.reduction!r}")
    cleared = call_op("scatter_elements", grad, indices, call_op("zeros_like", updates), **attrs)
    return [cleared, call_op("zeros_like", indices), to_updates]


scatter_elements = register(
    "scatter_elements",
    doc="Write updates at their own position except along one axis, where indices say where.",
    inputs={
        "data": "The tensor to write into.",
        "indices": "Integers, of the shape of updates.",
        "updates": "What to write, of the rank and data type of data.",
    },
    attrs=ScatterElementsAttrs,
    relation=_elements_relation,
    definition=topi.scatter_elements,
    reference=_elements_reference,
    gradient=_elements_gradient,
)


# scatter_nd


def _nd_relation(types: Types, attrs: ScatterNDAttrs) -> Type:
    """The output has the type of the data."""
    data, indices, updates = tensor(types[0], "data"), index_tensor(types[1], "indices"), tensor(types[2], "updates")
    same_dtype(data, updates)
    count = indices.dims[0] if indices.dims else None
    if not isinstance(count, int) or count > len(data.dims):
        raise RelationError(f"the first dimension of indices must be a number of coordinates in {data}, got {indices}")
    wanted = (*indices.dims[1:], *data.dims[count:])
    if len(updates.dims) != len(wanted):
        raise RelationError(f"updates must have the shape {wanted}, got {updates}")
    for axis, (u, w) in enumerate(zip(updates.dims, wanted, strict=True)):
        if axis == 0 and len(indices.dims) == 2 and isinstance(u, int) and isinstance(w, int) and u > w:
            continue  # updates that no index names are left out
        check_same_extent(u, w, f"updates {updates} and the shape {wanted} of what the indices name")
    return data


def _nd_reference(attrs: ScatterNDAttrs, x: Array, indices: Array, updates: Array) -> Array:
    named = updates[: indices.shape[1]] if indices.ndim == 2 else updates
    return _put(x.copy(), tuple(indices.astype("int64")), named, attrs.mode)


def _nd_gradient(call: Call, grad: Expr) -> list[Expr]:
    _, indices, updates = call.args
    to_updates = call_op("gather_nd", grad, indices)
    if ScatterNDAttrs.of(call).mode == "add":
        return [grad, call_op("zeros_like", indices), to_updates]
    if ScatterNDAttrs.of(call).mode != "update":
        raise ArgumentError(f"gradient of scatter_nd: mode must be update or add, got {ScatterNDAttrs.of(call).mode!r}")
    cleared = call_op("scatter_nd", grad, indices, call_op("zeros_like", updates), mode="update")
    return [cleared, call_op("zeros_like", indices), to_updates]


scatter_nd = register(
    "scatter_nd",
    doc="Write slices at points, whose coordinates are along the first axis of the indices.",
    inputs={
        "data": "The tensor to write into.",
        "indices": "Integers, ``(coordinates, …)``.",
        "updates": "A slice for each point.",
    },
    attrs=ScatterNDAttrs,
    relation=_nd_relation,
    definition=topi.scatter_nd,
    reference=_nd_reference,
    gradient=_nd_gradient,
)


# built on these


def sparse_shape(shape: Sequence[Dim], types: Types) -> Type:
    """Return the type of a dense tensor of a shape, made of sparse indices, values and a default."""
    indices, values = index_tensor(types[0], "sparse_indices"), tensor(types[1], "sparse_values")
    default = tensor(types[2], "default_value", 0)
    same_dtype(values, default)
    if len(indices.dims) > 2 or len(values.dims) > 1:
        raise RelationError(f"there must be a vector of values with a point for each, got {indices} and {values}")
    width = indices.dims[1] if len(indices.dims) == 2 else 1
    check_same_extent(width, len(shape), f"the coordinates of {indices} and the dimensions of {shape}")
    return TensorType(tuple(shape), values.dtype)


def dense(indices: Array, shape: Sequence[int], values: Array, default: Array) -> Array:
    """Return a NumPy array of a shape with values at indices, and a default elsewhere."""
    result = np.full(shape, default, values.dtype)
    points = indices.astype("int64")
    result[tuple(points.T) if points.ndim == 2 else points] = values
    return result


def _dense_compute(attrs: SparseToDenseAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    shape: Any = attrs.output_shape
    return [topi.sparse_to_dense(inputs[0], shape, inputs[1], inputs[2])]


_SPARSE_TO_DENSE = register(
    "sparse_to_dense",
    doc="Return a tensor with values at indices, and a default elsewhere.",
    inputs={
        "sparse_indices": "One index, a vector of them, or ``(count, rank)`` points.",
        "sparse_values": "One value, or a vector of them.",
        "default_value": "Scalar to write elsewhere; a number takes the data type of the values.",
    },
    attrs=SparseToDenseAttrs,
    returns="A tensor of shape ``output_shape`` with the data type of the values.",
    relation=lambda types, attrs: sparse_shape(attrs.output_shape, types),
    compute=_dense_compute,
    reference=lambda attrs, indices, values, default: dense(indices, attrs.output_shape, values, default),
    waived={"gradient": "not needed by any model that is trained here"},
)


def _dtype_of(value: object) -> str | None:
    """Return the data type of a constant, or of an expression whose type is known."""
    if isinstance(value, Constant):
        return str(value.data.dtype)
    if not isinstance(value, RelayExpr):
        return None
    known = value.checked_type_ or getattr(value, "type_annotation", None)
    return known.dtype if isinstance(known, TensorType) else None


@public_function(_SPARSE_TO_DENSE)
def sparse_to_dense(
    sparse_indices: RelayExpr,
    output_shape: RelayExpr | Sequence[int | PrimExpr],
    sparse_values: RelayExpr,
    default_value: RelayExpr | float = 0,
) -> Call:
    """Return a tensor with values at indices, and a default elsewhere."""
    default = default_value if isinstance(default_value, RelayExpr) else const(default_value, _dtype_of(sparse_values))
    return _SPARSE_TO_DENSE(sparse_indices, sparse_values, default, output_shape=output_shape)


@composite
def segment_sum(data: RelayExpr, segment_ids: RelayExpr, num_segments: int | RelayExpr | None = None) -> Call:
    """Return the sums of the slices along the first axis that have the same segment number.

    ``segment_ids`` has one for each slice.  ``num_segments``, the extent of the result, may be a tensor of one element;
    by default it is the largest number plus 1, known at run time only.
    """
    if isinstance(num_segments, int):
        count: RelayExpr = array_const(np.array([num_segments], "int64"))
    elif num_segments is not None:
        count = call_op("reshape", call_op("cast", num_segments, dtype="int64"), newshape=(1,))
    else:
        last = call_op("cast", call_op("max", segment_ids, axis=None), dtype="int64")
        count = call_op("expand_dims", call_op("add", last, const(1, "int64")), axis=0)
    shape = call_op("shape_of", data, dtype="int64")
    rest = call_op("strided_slice", shape, begin=(1,), end=(1 << 30,))
    output_shape = call_op("concatenate", Tuple((count, rest)), axis=0)
    zeros = call_op("cast_like", call_op("dyn.full", const(0.0), output_shape), data)
    points = call_op("expand_dims", segment_ids, axis=0)
    return call_op("scatter_nd", zeros, points, data, mode="add")


@composite
def scatter(data: RelayExpr, indices: RelayExpr, updates: RelayExpr, axis: int) -> Call:
    """Return data with updates written at their own position except along ``axis``, where indices say where.

    The integers ``indices`` have the shape of ``updates``, which have the rank and data type of ``data``.
    """
    return call_op("scatter_elements", data, indices, updates, axis=axis, reduction="update")


@composite
def scatter_add(data: RelayExpr, indices: RelayExpr, updates: RelayExpr, axis: int) -> Call:
    """Return data with updates added at their own position except along ``axis``, where indices say where.

    The integers ``indices`` have the shape of ``updates``, which have the rank and data type of ``data``.
    """
    return call_op("scatter_elements", data, indices, updates, axis=axis, reduction="add")
