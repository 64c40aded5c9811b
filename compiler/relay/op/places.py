"""Between numbers and places: ``one_hot``, ``unravel_index``, ``invert_permutation``, ``searchsorted``."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ir.attrs import REQUIRED, Attrs
from compiler.ir.types import Type
from compiler.relay.expr import Call, Constant, Expr
from compiler.relay.op.common import NOT_SMOOTH, agree, axis_of, int_of
from compiler.relay.op.indexing import index_tensor
from compiler.relay.op.relations import same_dtype, tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, RelationError, Types, call_op
from compiler.relay.ty import TensorType
from compiler.topi import indexing as topi


def _one_hot_relation(types: Types, attrs: Attrs) -> Type:
    indices = index_tensor(types[0], "indices")
    tensor(types[1], "on_value", 0)
    tensor(types[2], "off_value", 0)
    at = axis_of(attrs.axis, len(indices.dims) + 1)
    if attrs.depth < 1:
        raise RelationError(f"depth must be positive, got {attrs.depth}")
    return TensorType((*indices.shape[:at], attrs.depth, *indices.shape[at:]), attrs.dtype)


def _one_hot_reference(attrs: Attrs, indices: Any, on: Any, off: Any) -> Any:
    at = attrs.axis % (indices.ndim + 1)
    places = np.arange(attrs.depth).reshape([-1 if d == at else 1 for d in range(indices.ndim + 1)])
    return np.where(np.expand_dims(indices, at) == places, on, off).astype(attrs.dtype)


_ONE_HOT = register(
    "one_hot",
    doc="One value where the place along a new axis is the index, another one elsewhere.",
    inputs=("indices", "on_value", "off_value"),
    attributes={"depth": REQUIRED, "axis": REQUIRED, "dtype": REQUIRED},
    relation=_one_hot_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [
        topi.one_hot(inputs[0], inputs[1], inputs[2], attrs.depth, attrs.axis, attrs.dtype)
    ],
    reference=_one_hot_reference,
    waived=NOT_SMOOTH,
)


def one_hot(indices: Expr, on_value: Expr, off_value: Expr, depth: Any, axis: int, dtype: str) -> Call:
    """Return ``on_value`` where the place along a new axis is the index, ``off_value`` elsewhere.

    Parameters
    ----------
    depth : int or Expr
        The extent of the new axis.
    axis : int
        Where the new axis is; -1 behind all others.
    """
    if isinstance(depth, Constant):
        depth = depth.value.item()
    if isinstance(depth, Expr):
        return call_op("dyn.one_hot", indices, on_value, off_value, depth, axis=axis, dtype=dtype)
    return _ONE_HOT(indices, on_value, off_value, depth=int_of(depth, "depth"), axis=axis, dtype=dtype)


def _unravel_relation(types: Types, attrs: Attrs) -> Type:
    indices, shape = index_tensor(types[0], "indices"), tensor(types[1], "shape", 1)
    return TensorType((shape.shape[0], *indices.shape), indices.dtype)


_UNRAVEL_INDEX = register(
    "unravel_index",
    doc="The coordinates of places that are counted over all axes of a shape.",
    inputs=("indices", "shape"),
    relation=_unravel_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [topi.unravel_index(*inputs)],
    reference=lambda attrs, indices, shape: np.stack(np.unravel_index(indices, tuple(shape.tolist()))).astype(
        indices.dtype
    ),
    waived=NOT_SMOOTH,
)


def unravel_index(indices: Expr, shape: Expr) -> Call:
    """Return the coordinates, along a new first axis, of places that are counted over all axes of ``shape``."""
    return _UNRAVEL_INDEX(indices, shape)


def _permutation_relation(types: Types, attrs: Attrs) -> Type:
    found = index_tensor(types[0], "data")
    return tensor(found, "data", 1)


_INVERT_PERMUTATION = register(
    "invert_permutation",
    doc="Where each number from 0 on stands.",
    inputs=("data",),
    relation=_permutation_relation,
    pattern=OpPattern.COMM_REDUCE,
    compute=lambda attrs, inputs, out_type: [topi.invert_permutation(inputs[0])],
    reference=lambda attrs, x: np.argsort(x).astype(x.dtype),
    waived=NOT_SMOOTH,
)


def invert_permutation(data: Expr) -> Call:
    """Return where each number from 0 on stands in the vector ``data``, a permutation."""
    return _INVERT_PERMUTATION(data)


def _search_relation(types: Types, attrs: Attrs) -> Type:
    known, values = tensor(types[0], "sorted_sequence"), tensor(types[1], "values")
    same_dtype(known, values)
    if len(known.dims) != 1 and len(known.dims) != len(values.dims):
        raise RelationError(f"sorted_sequence must be a vector or have the rank of {values}, got {known}")
    for d in range(len(known.dims) - 1):
        agree(known.dims[d], values.dims[d], f"dimension {d} of {known} and {values}")
    return TensorType(values.shape, attrs.dtype)


def _search_reference(attrs: Attrs, known: Any, values: Any) -> Any:
    side: Any = "right" if attrs.right else "left"
    if known.ndim == 1:
        return np.searchsorted(known, values, side).astype(attrs.dtype)
    rows = zip(known.reshape(-1, known.shape[-1]), values.reshape(-1, values.shape[-1]), strict=True)
    return np.stack([np.searchsorted(k, v, side) for k, v in rows]).reshape(values.shape).astype(attrs.dtype)


_SEARCHSORTED = register(
    "searchsorted",
    doc="Where values would stand in a sorted sequence.",
    inputs=("sorted_sequence", "values"),
    attributes={"right": False, "dtype": "int32"},
    relation=_search_relation,
    pattern=OpPattern.OPAQUE,
    compute=lambda attrs, inputs, out_type: [topi.searchsorted(inputs[0], inputs[1], attrs.right, attrs.dtype)],
    reference=_search_reference,
    waived=NOT_SMOOTH,
)


def searchsorted(sorted_sequence: Expr, values: Expr, right: bool = False, dtype: str = "int32") -> Call:
    """Return where ``values`` would stand in a sorted sequence, behind equal elements where ``right`` holds."""
    return _SEARCHSORTED(sorted_sequence, values, right=bool(right), dtype=dtype)
