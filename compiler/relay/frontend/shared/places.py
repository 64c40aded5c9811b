"""Places of elements: where something holds, where values occur first, where a part of a tensor is written."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dtype_of, known, ops, scalar
from compiler.relay.frontend.shared.tensors import bounded, cast, reshape, static_dims

__all__ = ["bucketized", "leading", "places_where", "uniques", "with_part"]


def places_where(condition: RelayExpr) -> Any:
    """Return the places of the elements that are not zero, a row for each."""
    array = known(condition)
    if array is not None:
        return constant(np.argwhere(array), "int64")
    return cast(ops.argwhere(condition), "int64")


def leading(x: RelayExpr, count: RelayExpr) -> Any:
    """Return as many elements from the front as a number says that only a run knows."""
    end = cast(reshape(count, [1]), "int64")
    return ops.strided_slice(x, constant([0], "int64"), end, constant([1], "int64"))


def uniques(x: RelayExpr, dtype: str) -> list[RelayExpr]:
    """Return the values of a vector in their order, where each element is among them, and how often each occurs.

    Parameters
    ----------
    x : Expr
        A vector.
    dtype : str
        The data type of places.
    """
    array = known(x)
    if array is not None:
        _, first, back, counts = np.unique(array, True, True, True)
        order = np.argsort(first)
        values = (array[first[order]], np.argsort(order)[back.reshape(-1)], counts[order])
        return [constant(values[0], dtype_of(x)), *(constant(v, dtype) for v in values[1:])]
    values, _, back, count, counts = ops.unique(x, False, return_counts=True)
    return [leading(values, count), cast(back, dtype), cast(leading(counts, count), dtype)]


def bucketized(x: RelayExpr, boundaries: np.ndarray[Any, Any]) -> Any:
    """Return for each number how many boundaries are not above it.

    Parameters
    ----------
    x : Expr
    boundaries : np.ndarray
        Of single precision, ascending.
    """
    kind = "float64" if dtype_of(x) == "float64" else "float32"
    flat = ops.searchsorted(constant(boundaries, kind), reshape(cast(x, kind), [-1]), True, "int32")
    return reshape(flat, static_dims(x, "the input"))


def with_part(x: RelayExpr, part: RelayExpr, start: RelayExpr) -> Any:
    """Return a tensor in which a part has been written; it begins where it has room.

    Parameters
    ----------
    x, part : Expr
        Of the same number of dimensions.
    start : Expr
        A place for each axis.

    Raises
    ------
    ConversionError
        If the part is larger than the tensor.
    """
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
