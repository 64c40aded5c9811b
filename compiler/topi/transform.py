"""Other shapes of the same elements: reshape, transpose, concatenate, split, tile, and changes of layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from compiler import te, tir
from compiler.ir.error import ArgumentError, show
from compiler.topi.layout import layout
from compiler.topi.reduction import sum as sum_over
from compiler.topi.tag import Tag
from compiler.topi.util import axes_of, axis_of, dims, flat_index, unflatten


def _moved(shape: Sequence[Any], source: Any, indices: Callable[[tuple[Any, ...]], Any], name: str) -> Any:
    """Return a tensor whose element at ``i`` is the one of ``source`` at ``indices(i)``."""
    return te.compute(tuple(shape), lambda *i: source(*indices(i)), name=name, tag=Tag.INJECTIVE)


def reshape(a: Any, newshape: Sequence[Any]) -> Any:
    """Return the elements in their order in another shape, all of whose extents are given."""
    old, new = dims(a), tuple(newshape)
    runs = list(matching_runs(old, new))

    def indices(i: tuple[Any, ...]) -> list[Any]:
        found: list[Any] = []
        for (start, stop), (begin, end) in runs:
            found += unflatten(flat_index(i[begin:end], new[begin:end]), old[start:stop])
        return found

    return _moved(new, a, indices, "reshape")


def matching_runs(old: Sequence[Any], new: Sequence[Any]) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Take two shapes of one size apart into the shortest runs of axes that have the same size in both.

    Indices then need divisions within a run only, and none for an axis that both shapes have.
    """
    static = all(isinstance(e, int) and e > 0 for e in (*old, *new))
    if not static:
        yield (0, len(old)), (0, len(new))
        return
    i = j = 0
    while i < len(old) and j < len(new):
        start, begin, left, right = i, j, old[i], new[j]
        i, j = i + 1, j + 1
        while left != right:
            if left < right:
                left, i = left * old[i], i + 1
            else:
                right, j = right * new[j], j + 1
        yield (start, i), (begin, j)
    if i < len(old) or j < len(new):  # extents of 1 at the end
        yield (i, len(old)), (j, len(new))


def transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    """Return ``a`` with axis ``axes[d]`` as its axis ``d``; reversed when left out."""
    old = dims(a)
    order = tuple(reversed(range(len(old)))) if axes is None else tuple(axis_of(x, len(old), "transpose") for x in axes)
    if sorted(order) != list(range(len(old))):
        raise ArgumentError(f"transpose: axes must name each of {len(old)} dimensions once, got {show(axes)}")
    back = [order.index(d) for d in range(len(old))]
    return _moved([old[d] for d in order], a, lambda i: [i[b] for b in back], "transpose")


def expand_dims(a: Any, axis: int, num_newaxis: int = 1) -> Any:
    """Return ``a`` with new axes of extent 1 before ``axis``; negative ones count from behind the last."""
    old = dims(a)
    at = axis if axis >= 0 else len(old) + 1 + axis
    new = (*old[:at], *[1] * num_newaxis, *old[at:])
    return te.compute(new, lambda *i: a(*i[:at], *i[at + num_newaxis :]), name="expand_dims", tag=Tag.BROADCAST)


def squeeze(a: Any, axis: Any = None) -> Any:
    """Return ``a`` without some axes of extent 1; without all of them when left out."""
    old = dims(a)
    ones = [d for d, e in enumerate(old) if isinstance(e, int) and e == 1]
    gone = set(ones if axis is None else axes_of(axis, len(old), "squeeze"))
    kept = [d for d in range(len(old)) if d not in gone]

    def indices(i: tuple[Any, ...]) -> list[Any]:
        at = dict(zip(kept, i, strict=True))
        return [at.get(d, 0) for d in range(len(old))]

    return _moved([old[d] for d in kept], a, indices, "squeeze")


def concatenate(a_tuple: Sequence[Any], axis: int = 0) -> Any:
    """Return tensors one after the other along an axis."""
    parts = list(a_tuple)
    at = axis_of(axis, len(parts[0].shape), "concatenate")
    extents = [dims(p)[at] for p in parts]
    ends = [sum(extents[: n + 1]) for n in range(len(parts))]

    def element(*i: Any) -> Any:
        value = parts[-1](*i[:at], i[at] - ends[-2] if len(ends) > 1 else i[at], *i[at + 1 :])
        for n in range(len(parts) - 2, -1, -1):
            begin = ends[n - 1] if n else 0
            here = parts[n](*i[:at], i[at] - begin, *i[at + 1 :])
            value = te.if_then_else(i[at] < ends[n], here, value)
        return value

    first = dims(parts[0])
    return te.compute((*first[:at], ends[-1], *first[at + 1 :]), element, name="concatenate", tag=Tag.INJECTIVE)


def stack(tensors: Sequence[Any], axis: int = 0) -> Any:
    """Return tensors of one shape along a new axis."""
    parts = list(tensors)
    old = dims(parts[0])
    at = axis_of(axis, len(old) + 1, "stack")

    def element(*i: Any) -> Any:
        rest = (*i[:at], *i[at + 1 :])
        value = parts[-1](*rest)
        for n in range(len(parts) - 2, -1, -1):
            value = te.if_then_else(i[at].equal(n), parts[n](*rest), value)
        return value

    return te.compute((*old[:at], len(parts), *old[at:]), element, name="stack", tag=Tag.INJECTIVE)


def split_points(extent: Any, indices_or_sections: Any) -> list[Any]:
    """Return where the parts of a split begin, and behind them where the last one ends.

    Raises
    ------
    ArgumentError
        If a number of sections does not divide the extent.
    """
    if not isinstance(indices_or_sections, int):
        return [0, *indices_or_sections, extent]
    if isinstance(extent, int) and (indices_or_sections < 1 or extent % indices_or_sections):
        raise ArgumentError(f"split: {extent} elements cannot be split into {indices_or_sections} equal parts")
    each = extent // indices_or_sections
    return [each * n for n in range(indices_or_sections)] + [extent]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Return parts of a tensor along an axis: so many equal ones, or those between the given indices."""
    old = dims(ary)
    at = axis_of(axis, len(old), "split")
    points = split_points(old[at], indices_or_sections)
    return [_part(ary, at, begin, end) for begin, end in pairwise(points)]


def _part(ary: Any, at: int, begin: Any, end: Any) -> Any:
    old = dims(ary)
    shape = (*old[:at], end - begin, *old[at + 1 :])
    return _moved(shape, ary, lambda i: (*i[:at], i[at] + begin, *i[at + 1 :]), "split")


def tile(a: Any, reps: Sequence[int]) -> Any:
    """Return ``a`` so often along each axis; missing axes and missing counts are 1."""
    old = dims(a)
    rank = max(len(old), len(reps))
    padded = (1,) * (rank - len(old)) + old
    counts = (1,) * (rank - len(reps)) + tuple(reps)
    skip = rank - len(old)
    shape = [e * r for e, r in zip(padded, counts, strict=True)]

    def element(*i: Any) -> Any:
        return a(*[v if r == 1 else v % e for v, e, r in zip(i[skip:], old, counts[skip:], strict=True)])

    return te.compute(tuple(shape), element, name="tile", tag=Tag.BROADCAST)


def repeat(a: Any, repeats: int, axis: int = 0) -> Any:
    """Return ``a`` with each element so often one after the other along an axis."""
    old = dims(a)
    at = axis_of(axis, len(old), "repeat")
    shape = (*old[:at], old[at] * repeats, *old[at + 1 :])
    return te.compute(shape, lambda *i: a(*i[:at], i[at] // repeats, *i[at + 1 :]), name="repeat", tag=Tag.BROADCAST)


def flip(a: Any, axis: int = 0) -> Any:
    """Return ``a`` backwards along an axis."""
    old = dims(a)
    at = axis_of(axis, len(old), "flip")
    return _moved(old, a, lambda i: (*i[:at], old[at] - 1 - i[at], *i[at + 1 :]), "flip")


def reverse_sequence(a: Any, seq_lengths: Any, seq_axis: int = 1, batch_axis: int = 0) -> Any:
    """Return ``a`` with the first ``seq_lengths[b]`` elements of each sequence backwards."""
    old = dims(a)
    along, batch = (axis_of(x, len(old), "reverse_sequence") for x in (seq_axis, batch_axis))

    def indices(i: tuple[Any, ...]) -> Any:
        length, at = seq_lengths(i[batch]).astype("int32"), i[along]
        turned = te.if_then_else(at < length, length - 1 - at, at)
        return (*i[:along], turned, *i[along + 1 :])

    return _moved(old, a, indices, "reverse_sequence")


def meshgrid(a_tuple: Sequence[Any], indexing: str = "ij") -> list[Any]:
    """Return for each vector the grid that all of them span, with its own element at each point.

    Parameters
    ----------
    indexing : {"ij", "xy"}
        ``xy`` exchanges the first two axes of the grid.
    """
    places = grid_axes(len(a_tuple), indexing)
    extents = [dims(a)[0] if a.shape else 1 for a in a_tuple]
    shape = [extents[places.index(d)] for d in range(len(a_tuple))]

    def grid(a: Any, place: int) -> Any:
        return _moved(shape, a, lambda i: (i[place],) if a.shape else (), "meshgrid")

    return [grid(a, place) for a, place in zip(a_tuple, places, strict=True)]


def grid_axes(count: int, indexing: str) -> list[int]:
    """Return along which axis of the grid each of ``count`` vectors goes."""
    places = list(range(count))
    if indexing == "xy" and count > 1:
        places[:2] = [1, 0]
    return places


def layout_transform(array: Any, src_layout: str, dst_layout: str) -> Any:
    """Return a tensor in another layout; a block that is not full at the end is filled with zeros."""
    source, wanted = layout(src_layout), layout(dst_layout)
    extents = source.extents(dims(array))
    shape = transformed_shape(dims(array), src_layout, dst_layout)

    def element(*i: Any) -> Any:
        point = wanted.point(i)
        value = array(*source.indices(point))
        inside = [point[letter] < e for letter, e in extents.items() if isinstance(e, int) and e % wanted.block(letter)]
        return te.if_then_else(te.all(*inside), value, tir.const(0, array.dtype)) if inside else value

    return te.compute(shape, element, name="layout_transform", tag=Tag.INJECTIVE)


def transformed_shape(shape: Sequence[Any], src_layout: str, dst_layout: str) -> tuple[Any, ...]:
    """Return the shape of a tensor of ``shape`` in another layout.

    Raises
    ------
    ArgumentError
        If the layouts do not have the same dimensions, or the shape not those of the first.
    """
    source, wanted = layout(src_layout), layout(dst_layout)
    if sorted(source.letters) != sorted(wanted.letters):
        raise ArgumentError(f"layout_transform: {src_layout} and {dst_layout} must have the same dimensions")
    extents = source.extents(shape)
    return wanted.shape({letter: _full_blocks(e, wanted.block(letter)) for letter, e in extents.items()})


def _full_blocks(extent: Any, block: int) -> Any:
    return -(-extent // block) * block if isinstance(extent, int) else extent


def matrix_set_diag(data: Any, diagonal: Any, k1: int, k2: int, align: tuple[bool, bool]) -> Any:
    """Return matrices with the diagonals from ``k1`` to ``k2`` replaced; positive ones lie above the main one.

    Parameters
    ----------
    diagonal : Tensor
        ``(…, length)``, or ``(…, k2 - k1 + 1, longest length)`` of several, the highest diagonal first.
    align : (bool, bool)
        Whether diagonals above, and below, the main one stand at the right end of their row.
    """
    shape = dims(data)
    rows, columns = shape[-2:]
    several = k1 != k2
    longest = dims(diagonal)[-1]

    def element(*i: Any) -> Any:
        *batch, row, column = i
        k = column - row
        above = te.max(k, 0)
        at = column - above
        if several:
            length = te.min(columns - above, rows - te.max(-k, 0))
            above_right, below_right = (longest - length if right else 0 for right in align)
            at = at + te.if_then_else(k >= 0, above_right, below_right)
        inside = k.equal(k1) if not several else te.all(k >= k1, k <= k2)
        new = diagonal(*batch, *([k2 - k] if several else []), at)
        return te.if_then_else(inside, new, data(*i))

    return te.compute(shape, element, name="matrix_set_diag", tag=Tag.INJECTIVE)


def trilu(data: Any, k: Any, upper: bool) -> Any:
    """Return matrices with zeros below the diagonal ``k``, or above it where ``upper`` is False."""
    offset = k() if isinstance(k, te.Tensor) else k

    def element(*i: Any) -> Any:
        row, column = i[-2:]
        limit = row + offset
        keep = column >= limit if upper else column <= limit
        return tir.Select(keep, data(*i), tir.const(0, data.dtype))

    return te.compute(dims(data), element, name="trilu", tag=Tag.ELEMWISE)


def sequence_mask(data: Any, valid_length: Any, mask_value: float = 0, axis: int = 0) -> Any:
    """Return sequences along axis 0 or 1 with ``mask_value`` behind their lengths, which the other one counts."""

    def element(*i: Any) -> Any:
        inside = i[axis] < valid_length(i[1 - axis]).astype("int32")
        return tir.Select(inside, data(*i), tir.const(mask_value, data.dtype))

    return te.compute(dims(data), element, name="sequence_mask", tag=Tag.INJECTIVE)


def sliding_window(data: Any, axis: int, window_shape: Sequence[int], strides: Sequence[int]) -> Any:
    """Return all windows over the axes from ``axis`` on: ``(rest…, windows…, window_shape…)``."""
    old = dims(data)
    counts = [(e - w) // s + 1 for e, w, s in zip(old[axis:], window_shape, strides, strict=True)]
    n = len(window_shape)

    def indices(i: tuple[Any, ...]) -> Any:
        which, inside = i[axis : axis + n], i[axis + n :]
        return (*i[:axis], *[w * s + o for w, s, o in zip(which, strides, inside, strict=True)])

    return _moved((*old[:axis], *counts, *window_shape), data, indices, "sliding_window")


def collapse_sum(data: Any, shape: Sequence[Any]) -> Any:
    """Return ``data`` summed over the axes along which a tensor of ``shape`` was broadcast to its shape."""
    old, wanted = dims(data), tuple(shape)
    extra = len(old) - len(wanted)
    narrow = [d for d, e in enumerate(wanted) if isinstance(e, int) and e == 1 and not _is_one(old[d + extra])]
    over = [*range(extra), *[d + extra for d in narrow]]
    if not over:
        return reshape(data, wanted)
    found = sum_over(data, over)
    return found if not narrow else reshape(found, wanted)


def _is_one(extent: Any) -> bool:
    return isinstance(extent, int) and extent == 1
