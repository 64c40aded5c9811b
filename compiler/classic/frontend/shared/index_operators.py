"""Operators on indices of elements: where, unique, bucketize, dynamic updates."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dtype_of, known, ops, scalar
from compiler.relay.frontend.shared.tensors import bounded, cast, reshape, static_dims

__all__ = ["argwhere", "bucketize", "leading", "unique", "update_slice"]


def argwhere(condition: RelayExpr) -> Any:
    """Return the indices of the nonzero elements, one per row."""
    array = known(condition)
    if array is not None:
        return constant(np.argwhere(array), "int64")
    return cast(ops.argwhere(condition), "int64")


def leading(x: RelayExpr, count: RelayExpr) -> Any:
    """Slice the leading elements, whose number is computed at run time."""
    end = cast(reshape(count, [1]), "int64")
    return ops.strided_slice(x, constant([0], "int64"), end, constant([1], "int64"))


def unique(x: RelayExpr, dtype: str) -> list[RelayExpr]:
    """Return the unique values of a vector in order of occurrence, the inverse indices, and the counts."""
    array = known(x)
    if array is not None:
        _, first, back, counts = np.unique(array, True, True, True)
        order = np.argsort(first)
        values = (array[first[order]], np.argsort(order)[back.reshape(-1)], counts[order])
        return [constant(values[0], dtype_of(x)), *(constant(v, dtype) for v in values[1:])]
    values, _, back, count, counts = ops.unique(x, False, return_counts=True)
    return [leading(values, count), cast(back, dtype), cast(leading(counts, count), dtype)]


def bucketize(x: RelayExpr, boundaries: np.ndarray[Any, Any]) -> Any:
    """Return, for each element, the number of boundaries that are not above it.

    Parameters
    ----------
    boundaries : np.ndarray
        Float32, in ascending order.
    """
    kind = "float64" if dtype_of(x) == "float64" else "float32"
    flat = ops.searchsorted(constant(boundaries, kind), reshape(cast(x, kind), [-1]), True, "int32")
    return reshape(flat, static_dims(x, "the input"))


def update_slice(x: RelayExpr, part: RelayExpr, start: RelayExpr) -> Any:
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
