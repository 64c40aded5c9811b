"""Operators on indices of elements: where, unique, bucketize, dynamic updates."""

from __future__ import annotations

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import Array, constant, dtype_of, known, ops, scalar
from compiler.relay.frontend.shared.tensors import bounded, cast, reshape, static_dims


def argwhere(condition: RelayExpr) -> RelayExpr:
    """Return the indices of the nonzero elements, one per row."""
    array = known(condition)
    if array is not None:
        return constant(np.argwhere(array), "int64")
    return cast(ops.argwhere(condition), "int64")


def leading(x: RelayExpr, count: RelayExpr) -> RelayExpr:
    """Slice the leading elements, whose number is computed at run time."""
    end = cast(reshape(count, [1]), "int64")
    return ops.strided_slice(x, constant([0], "int64"), end, constant([1], "int64"))


def unique(x: RelayExpr, dtype: str) -> list[RelayExpr]:
    """Return the unique values of a vector in order of occurrence, the inverse indices, and the counts."""
    array = known(x)
    if array is not None:
        _, first, back, counts = np.unique(array, True, True, True)
        order = np.argsort(first)
        places = np.argsort(order)[back.reshape(-1)]
        return [constant(array[first[order]], dtype_of(x)), constant(places, dtype), constant(counts[order], dtype)]
    values, _, inverse, count, repeats = ops.unique(x, False, return_counts=True)
    return [leading(values, count), cast(inverse, dtype), cast(leading(repeats, count), dtype)]


def bucketize(x: RelayExpr, boundaries: Array) -> RelayExpr:
    """Return, for each element, the number of boundaries, float32 in ascending order, that are not above it."""
    kind = "float64" if dtype_of(x) == "float64" else "float32"
    flat = ops.searchsorted(constant(boundaries, kind), reshape(cast(x, kind), [-1]), True, "int32")
    return reshape(flat, static_dims(x, "the input"))


def update_slice(x: RelayExpr, part: RelayExpr, start: RelayExpr) -> RelayExpr:
    """Write a part of a tensor, clamping the start so that the part fits."""
    dims, extents = static_dims(x, "the input"), static_dims(part, "the part")
    if len(dims) != len(extents) or any(e > d for d, e in zip(dims, extents, strict=True)):
        raise ConversionError(f"a part of shape {extents} does not fit into an input of shape {dims}")
    if not dims:
        return part
    room = constant(np.array(dims) - np.array(extents), dtype_of(start))
    first = ops.minimum(ops.maximum(start, scalar(0, start)), room)
    bounded(len(dims), *extents)
    offsets = np.indices(extents).reshape(len(dims), -1)
    places = ops.add(reshape(first, [len(dims), 1]), constant(offsets, dtype_of(start)))
    return ops.scatter_nd(x, places, reshape(part, [-1]), mode="update")
