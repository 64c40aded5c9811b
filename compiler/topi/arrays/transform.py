"""Shape transformations: reshape, transpose, squeeze, tile, flip and others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from compiler import te
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.operands import (
    Axes,
    Extent,
    Index,
    Shape,
    axes_of,
    axis_of,
    dims,
    flat_index,
    is_one,
    replaced,
    unflatten,
)
from compiler.topi.reduction import sum as sum_over
from compiler.topi.tag import Tag

__all__ = [
    "collapse_sum", "expand_dims", "flip", "meshgrid", "repeat", "reshape", "reverse_sequence", "sliding_window",
    "squeeze", "tile", "transpose",
]  # fmt: skip

IndexMap: TypeAlias = Callable[[tuple[Var, ...]], Sequence[Index]]
"""Maps the indices of an element of the result to those of an element of the source."""


def reindex(shape: Sequence[Extent], source: Tensor, indices: IndexMap, name: str) -> Tensor:
    """Build a tensor whose element at ``i`` is the element of ``source`` at ``indices(i)``."""
    return compute(shape, lambda *i: source(*indices(i)), name=name, tag=Tag.INJECTIVE)


def reshape(a: Tensor, newshape: Sequence[Extent]) -> Tensor:
    """Return the elements in row-major order in another shape of the same size."""
    old, new = dims(a), tuple(newshape)
    if 0 in new:  # no index exists, so that none is divided by an extent of zero
        return reindex(new, a, lambda i: [0] * len(old), "reshape")
    runs = list(matching_runs(old, new))

    def indices(i: tuple[Var, ...]) -> list[Index]:
        source: list[Index] = []
        for (start, stop), (begin, end) in runs:
            source += unflatten(flat_index(i[begin:end], new[begin:end]), old[start:stop])
        return source

    return reindex(new, a, indices, "reshape")


def matching_runs(old: Sequence[Extent], new: Sequence[Extent]) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Take two shapes of one size apart into the shortest runs of axes that have the same size in both.

    Yields the first axis of a run and the one after its last, in ``old`` and in ``new``. Indices then need divisions
    within a run only, and none for an axis that both shapes have. Where an extent is symbolic, or zero, all axes are
    one run. Shapes of two sizes are one run, so that the elements are those of the same places in row-major order.
    """
    source = [e for e in old if isinstance(e, int) and e > 0]
    result = [e for e in new if isinstance(e, int) and e > 0]
    if len(source) < len(old) or len(result) < len(new) or math.prod(source) != math.prod(result):
        yield (0, len(old)), (0, len(new))
        return
    i = j = 0
    while i < len(source) and j < len(result):
        start, begin, left, right = i, j, source[i], result[j]
        i, j = i + 1, j + 1
        while left != right:
            if left < right:
                left, i = left * source[i], i + 1
            else:
                right, j = right * result[j], j + 1
        yield (start, i), (begin, j)
    if i < len(source) or j < len(result):  # extents of 1 at the end
        yield (i, len(source)), (j, len(result))


def transpose(a: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """Return ``a`` with its axes in another order, reversed by default.

    Axis ``d`` of the result is axis ``axes[d]`` of ``a``. Raises ArgumentError if ``axes`` does not name each axis
    once.
    """
    old = dims(a)
    order = tuple(reversed(range(len(old)))) if axes is None else tuple(axis_of(x, len(old), "transpose") for x in axes)
    if sorted(order) != list(range(len(old))):
        raise ArgumentError(f"transpose: axes must name each of {len(old)} dimensions once, got {show(axes)}")
    back = [order.index(d) for d in range(len(old))]
    return reindex([old[d] for d in order], a, lambda i: [i[b] for b in back], "transpose")


def expand_dims(a: Tensor, axis: int, num_newaxis: int = 1) -> Tensor:
    """Return ``a`` with new axes of extent 1 at ``axis``; negative ones count from after the last axis."""
    old = dims(a)
    at = axis if axis >= 0 else len(old) + 1 + axis
    new = (*old[:at], *[1] * num_newaxis, *old[at:])
    return compute(new, lambda *i: a(*i[:at], *i[at + num_newaxis :]), name="expand_dims", tag=Tag.BROADCAST)


def squeeze(a: Tensor, axis: Axes = None) -> Tensor:
    """Return ``a`` without some axes of extent 1, or all whose extent is 1."""
    old = dims(a)
    ones = [d for d, e in enumerate(old) if is_one(e)]
    gone = set(ones if axis is None else axes_of(axis, len(old), "squeeze"))
    remaining = [d for d in range(len(old)) if d not in gone]

    def indices(i: tuple[Var, ...]) -> list[Index]:
        at = dict(zip(remaining, i, strict=True))
        return [at.get(d, 0) for d in range(len(old))]

    return reindex([old[d] for d in remaining], a, indices, "squeeze")


def tile(a: Tensor, reps: Sequence[int]) -> Tensor:
    """Return ``a`` repeated along its axes, as ``numpy.tile`` does; missing axes and counts, in front, are 1."""
    old = dims(a)
    rank = max(len(old), len(reps))
    padded: Shape = (1,) * (rank - len(old)) + old
    counts = (1,) * (rank - len(reps)) + tuple(reps)
    skip = rank - len(old)
    shape = [e * r for e, r in zip(padded, counts, strict=True)]

    def element(*i: Var) -> PrimExpr:
        return a(*[v if r == 1 else v % e for v, e, r in zip(i[skip:], old, counts[skip:], strict=True)])

    return compute(shape, element, name="tile", tag=Tag.BROADCAST)


def repeat(a: Tensor, repeats: int, axis: int = 0) -> Tensor:
    """Return ``a`` with each element repeated along an axis, as ``numpy.repeat`` does."""
    old = dims(a)
    at = axis_of(axis, len(old), "repeat")
    shape = replaced(old, at, old[at] * repeats)
    return compute(shape, lambda *i: a(*replaced(i, at, i[at] // repeats)), name="repeat", tag=Tag.BROADCAST)


def flip(a: Tensor, axis: int = 0) -> Tensor:
    """Return ``a`` reversed along an axis."""
    old = dims(a)
    at = axis_of(axis, len(old), "flip")
    return reindex(old, a, lambda i: replaced(i, at, old[at] - 1 - i[at]), "flip")


def reverse_sequence(a: Tensor, seq_lengths: Tensor, seq_axis: int = 1, batch_axis: int = 0) -> Tensor:
    """Return ``a`` with the first ``seq_lengths[b]`` elements of each sequence reversed.

    A length above the extent reverses the sequence as a whole, one below 1 nothing. ``seq_axis`` is that of the
    elements of a sequence, ``batch_axis`` that of the sequences.
    """
    old = dims(a)
    along, batch = (axis_of(x, len(old), "reverse_sequence") for x in (seq_axis, batch_axis))

    def indices(i: tuple[Var, ...]) -> Sequence[Index]:
        length, at = te.min(seq_lengths(i[batch]), old[along]).astype("int32"), i[along]
        return replaced(i, along, te.if_then_else(at < length, length - 1 - at, at))

    return reindex(old, a, indices, "reverse_sequence")


def meshgrid(a_tuple: Sequence[Tensor], indexing: str = "ij") -> list[Tensor]:
    """Return for each vector the grid that all of them span, with its own element at each point.

    ``xy`` as ``indexing`` exchanges the first two axes of the grid.
    """
    places = grid_axes(len(a_tuple), indexing)
    extents: list[Extent] = [dims(a)[0] if a.shape else 1 for a in a_tuple]
    shape = [extents[places.index(d)] for d in range(len(a_tuple))]

    def grid(a: Tensor, place: int) -> Tensor:
        return reindex(shape, a, lambda i: (i[place],) if a.shape else (), "meshgrid")

    return [grid(a, place) for a, place in zip(a_tuple, places, strict=True)]


def grid_axes(count: int, indexing: str) -> list[int]:
    """Return the axis of the grid that each of ``count`` vectors runs along."""
    places = list(range(count))
    if indexing == "xy" and count > 1:
        places[:2] = [1, 0]
    return places


def sliding_window(data: Tensor, axis: int, window_shape: Sequence[int], strides: Sequence[int]) -> Tensor:
    """Return all windows over the last axes of a tensor, ``(axes before axis…, windows…, window_shape…)``.

    The windows move along ``axis``, which is not negative, and the axes after it, each with an extent and a stride.
    """
    old = dims(data)
    counts = [(e - w) // s + 1 for e, w, s in zip(old[axis:], window_shape, strides, strict=True)]
    n = len(window_shape)

    def indices(i: tuple[Var, ...]) -> Sequence[Index]:
        which, inside = i[axis : axis + n], i[axis + n :]
        return (*i[:axis], *[w * s + o for w, s, o in zip(which, strides, inside, strict=True)])

    return reindex((*old[:axis], *counts, *window_shape), data, indices, "sliding_window")


def collapse_sum(data: Tensor, shape: Sequence[Extent]) -> Tensor:
    """Return ``data`` summed over the axes along which a tensor of a shape was broadcast to its shape."""
    old, new = dims(data), tuple(shape)
    extra = len(old) - len(new)
    narrow = [d for d, e in enumerate(new) if is_one(e) and not is_one(old[d + extra])]
    over = [*range(extra), *[d + extra for d in narrow]]
    if not over:
        return reshape(data, new)
    total = sum_over(data, over)
    return reshape(total, new) if narrow else total
