"""Index conversions: ``one_hot``, ``unravel_index``, ``invert_permutation``, ``searchsorted``."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import BOOL, DTYPE, INT
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, const
from compiler.relay.op.common import NOT_SMOOTH, check_same_extent, normalize_axis
from compiler.relay.op.indexing import index_tensor
from compiler.relay.op.type_relations import same_dtype, tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, RelationError, Types, call_op
from compiler.relay.ty import TensorType
from compiler.runtime.arrays.ndarray import numpy_dtype
from compiler.topi.arrays import indexing as topi
from compiler.topi.arrays import scatter, sorting


class OneHotAttrs(Attrs):
    UNWRITTEN = {"axis": -1}

    depth: int = attr_field(INT, "Extent of the new axis.")
    axis: int = attr_field(INT, "Position of the new axis; -1 is behind all others.")
    dtype: str = attr_field(DTYPE, "Data type of the result.")


class SearchSortedAttrs(Attrs):
    right: bool = attr_field(BOOL, "Whether to insert behind equal elements, else before them.", False)
    dtype: str = attr_field(DTYPE, "Data type of the indices.", "int32")


def _one_hot_relation(types: Types, attrs: OneHotAttrs) -> Type:
    """The shape of the indices with a new axis of extent ``depth``, of data type ``dtype``."""
    indices = index_tensor(types[0], "indices")
    tensor(types[1], "on_value", 0)
    tensor(types[2], "off_value", 0)
    at = normalize_axis(attrs.axis, len(indices.dims) + 1)
    if attrs.depth < 1:
        raise RelationError(f"depth must be positive, got {attrs.depth}")
    return TensorType((*indices.shape[:at], attrs.depth, *indices.shape[at:]), attrs.dtype)


def _one_hot_reference(attrs: OneHotAttrs, indices: Array, on: Array, off: Array) -> Array:
    at = attrs.axis % (indices.ndim + 1)
    places = np.arange(attrs.depth).reshape([-1 if d == at else 1 for d in range(indices.ndim + 1)])
    return np.where(np.expand_dims(indices, at) == places, on, off).astype(numpy_dtype(attrs.dtype))


def _one_hot_gradient(call: Call, grad: Expr) -> list[Call]:
    """Each of the two values has the gradients of the places where it stands."""
    indices, on, off = call.args
    attrs = OneHotAttrs.of(call)
    one, zero = (const(v, attrs.dtype) for v in (1, 0))
    here = call_op("one_hot", indices, one, zero, depth=attrs.depth, axis=attrs.axis, dtype=attrs.dtype)
    to_on = call_op("sum", call_op("multiply", grad, here), axis=None)
    to_off = call_op("subtract", call_op("sum", grad, axis=None), to_on)
    return [call_op("zeros_like", indices), call_op("cast_like", to_on, on), call_op("cast_like", to_off, off)]


one_hot = register(
    "one_hot",
    doc="Return one value where the position along a new axis is the index, another value elsewhere.",
    inputs={
        "indices": "Integers from 0 to ``depth - 1``.",
        "on_value": "Scalar to write at the index.",
        "off_value": "Scalar to write elsewhere.",
    },
    attrs=OneHotAttrs,
    relation=_one_hot_relation,
    pattern=OpPattern.INJECTIVE,
    definition=topi.one_hot,
    reference=_one_hot_reference,
    gradient=_one_hot_gradient,
)


def _unravel_relation(types: Types, attrs: Attrs) -> Type:
    """``(dimensions, …)``, of the data type of the indices."""
    indices, shape = index_tensor(types[0], "indices"), tensor(types[1], "shape", 1)
    return TensorType((shape.shape[0], *indices.shape), indices.dtype)


unravel_index = register(
    "unravel_index",
    doc="Return the coordinates, along a new first axis, of flat indices into a shape.",
    inputs={"indices": "Flat indices, integers.", "shape": "The shape as a vector of integers."},
    relation=_unravel_relation,
    pattern=OpPattern.INJECTIVE,
    definition=topi.unravel_index,
    reference=lambda attrs, indices, shape: np.stack(np.unravel_index(indices, tuple(shape.tolist()))).astype(
        indices.dtype
    ),
    waived=NOT_SMOOTH,
)


def _permutation_relation(types: Types, attrs: Attrs) -> Type:
    """The output has the type of the input."""
    permutation = index_tensor(types[0], "data")
    return tensor(permutation, "data", 1)


invert_permutation = register(
    "invert_permutation",
    doc="Return the inverse of a permutation: the position of each number.",
    inputs={"data": "A permutation of ``0 … n - 1`` as a vector of integers."},
    relation=_permutation_relation,
    definition=scatter.invert_permutation,
    reference=lambda attrs, x: np.argsort(x).astype(x.dtype),
    waived=NOT_SMOOTH,
)


def _search_relation(types: Types, attrs: SearchSortedAttrs) -> Type:
    """The shape of the values, of data type ``dtype``."""
    known, values = tensor(types[0], "sorted_sequence"), tensor(types[1], "values")
    same_dtype(known, values)
    if len(known.dims) != 1 and len(known.dims) != len(values.dims):
        raise RelationError(f"sorted_sequence must be a vector or have the rank of {values}, got {known}")
    for d in range(len(known.dims) - 1):
        check_same_extent(known.dims[d], values.dims[d], f"dimension {d} of {known} and {values}")
    return TensorType(values.shape, attrs.dtype)


def _search_reference(attrs: SearchSortedAttrs, known: Array, values: Array) -> Array:
    side: Any = "right" if attrs.right else "left"
    if known.ndim == 1:
        return np.searchsorted(known, values, side).astype(attrs.dtype)
    places = np.empty(values.shape, attrs.dtype)
    for row in np.ndindex(values.shape[:-1]):
        places[row] = np.searchsorted(known[row], values[row], side)
    return places


searchsorted = register(
    "searchsorted",
    doc="Return the indices at which values would have to be inserted into a sorted sequence.",
    inputs={"sorted_sequence": "A vector, or rows, in ascending order.", "values": "The values to look for."},
    attrs=SearchSortedAttrs,
    relation=_search_relation,
    compute=lambda attrs, inputs, out_type: [sorting.searchsorted(inputs[0], inputs[1], attrs.right, attrs.dtype)],
    reference=_search_reference,
    waived=NOT_SMOOTH,
)
