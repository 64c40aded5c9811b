"""Sorting, top-k and binary search."""

from __future__ import annotations

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.pytorch.dtypes import cast
from compiler.relay.frontend.pytorch.registry import converter, converters
from compiler.relay.frontend.pytorch.tensors import (
    axis_of,
    constant,
    extent,
    known,
    ops,
    rank_of,
    reshape,
    static_extent,
    static_shape,
    transpose,
    unsqueeze,
)
from compiler.relay.frontend.pytorch.values import Size


@converter("topk")
def _topk(
    x: RelayExpr, k: Size, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[RelayExpr, RelayExpr]:
    count = k if isinstance(k, RelayExpr) and known(k) is None else extent(k)
    values, places = ops.topk(x, count, axis_of(dim, rank_of(x)), "both", not largest, "int64")
    return values, places


@converter("sort")
def _sort(
    x: RelayExpr, dim: int = -1, descending: bool = False, stable: bool | None = None
) -> tuple[RelayExpr, RelayExpr]:
    axis = axis_of(dim, rank_of(x))
    return ops.sort(x, axis=axis, is_ascend=not descending), _argsort(x, axis, descending)


@converter("argsort")
def _argsort(x: RelayExpr, dim: int = -1, descending: bool = False, stable: bool | None = None) -> RelayExpr:
    return ops.argsort(x, axis=axis_of(dim, rank_of(x)), is_ascend=not descending, dtype="int64")


def _nth(x: RelayExpr, place: int, dim: int, keepdim: bool) -> tuple[RelayExpr, ...]:
    axis = axis_of(dim, rank_of(x))
    at = constant([place] if keepdim else place, "int64")
    return tuple(ops.take(part, at, axis=axis) for part in _sort(x, axis))


converters(
    {
        "msort": lambda x: ops.sort(x, axis=0),
        "kthvalue": lambda x, k, dim=-1, keepdim=False: _nth(x, k - 1, dim, keepdim),
        "cummax": lambda x, dim: _running(x, dim, True),
        "cummin": lambda x, dim: _running(x, dim, False),
    }
)


@converter("median")
def _median(x: RelayExpr, dim: int | None = None, keepdim: bool = False) -> RelayExpr | tuple[RelayExpr, ...]:
    if dim is None:
        flat = reshape(x, [-1])
        return _nth(flat, (static_extent(flat, 0) - 1) // 2, 0, False)[0]
    return _nth(x, (static_extent(x, axis_of(dim, rank_of(x))) - 1) // 2, dim, keepdim)


@converter("searchsorted")
def _searchsorted(
    sorted_sequence: RelayExpr, x: RelayExpr, out_int32: bool = False, right: bool = False, side: str | None = None
) -> RelayExpr:
    to_right = right or side == "right"
    return ops.searchsorted(sorted_sequence, x, to_right, "int32" if out_int32 else "int64")


@converter("bucketize")
def _bucketize(x: RelayExpr, boundaries: RelayExpr, out_int32: bool = False, right: bool = False) -> RelayExpr:
    flat = ops.searchsorted(boundaries, reshape(x, [-1]), right, "int32" if out_int32 else "int64")
    return reshape(flat, static_shape(x))


def _running(x: RelayExpr, dim: int, greatest: bool) -> tuple[RelayExpr, RelayExpr]:
    """Compute the cumulative maximum or minimum along an axis."""
    axis = axis_of(dim, rank_of(x))
    order = [*(i for i in range(rank_of(x)) if i != axis), axis]
    moved = transpose(x, order)
    count = static_extent(moved, -1)
    rows = unsqueeze(moved, [rank_of(x) - 1])
    upto = ops.trilu(ops.ones([count, count], "int32"), constant(0, "int64"), upper=False)
    far = ops.min(x) if greatest else ops.max(x)
    grid = ops.where(cast(upto, "bool"), rows, far)
    values = (ops.max if greatest else ops.min)(grid, axis=[rank_of(x)])
    hits = ops.logical_and(cast(upto, "bool"), ops.equal(grid, unsqueeze(values, [rank_of(x)])))
    numbers = constant(list(range(count)), "int64")
    places = ops.max(ops.where(hits, numbers, constant(-1, "int64")), axis=[rank_of(x)])
    back = [order.index(i) for i in range(rank_of(x))]
    return transpose(values, back), transpose(places, back)


@converter("_unique2")
def _unique(
    x: RelayExpr, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[RelayExpr, RelayExpr, RelayExpr]:
    parts = ops.unique(reshape(x, [-1]), sorted, True)
    values, _, places, count, repeats = (parts[i] for i in range(5))
    shape = ops.cast(count, "int64")
    cut = [ops.strided_slice(part, constant([0], "int64"), shape) for part in (values, repeats)]
    inverse = cast(reshape(places, static_shape(x)), "int64")
    return cut[0], inverse, cast(cut[1], "int64")
