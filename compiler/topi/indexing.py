"""Elements found by their indices: ``take``, ``gather``, slices, ``one_hot``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler import te, tir
from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, show
from compiler.topi.broadcast import at_broadcast, broadcast_shape
from compiler.topi.tag import Tag
from compiler.topi.util import axis_of, dims, number, product, unflatten


def wrapped(index: Any, extent: Any) -> Any:
    """Return an index that may count from the end, as one from the front."""
    if dt.is_uint(index.dtype):
        return index.astype("int32")
    i = index.astype("int32")
    return te.if_then_else(i < 0, i + extent, i)


def _into(index: Any, extent: Any, mode: str) -> Any:
    """Return an index that is inside by the rule of a mode."""
    i = index.astype("int32")
    if mode == "clip":
        return te.max(te.min(i, extent - 1), 0)
    if mode == "wrap":
        return te.floormod(i, extent)
    if mode == "fast":
        return i
    raise ArgumentError(f"take: mode must be 'clip', 'wrap' or 'fast', got {show(mode)}")


def take(a: Any, indices: Any, axis: int | None = None, batch_dims: int = 0, mode: str = "clip") -> Any:
    """Return the slices of ``a`` at ``indices`` of an axis; of all axes as one when left out.

    Parameters
    ----------
    batch_dims : int
        How many first axes ``a`` and ``indices`` have in common.
    mode : {"clip", "wrap", "fast"}
        Whether an index that is outside counts as the nearest one inside, wraps around, or must not be there.
    """
    old, wanted = dims(a), dims(indices)
    if axis is None:
        size = product(old)
        return te.compute(
            wanted, lambda *i: a(*unflatten(_into(indices(*i), size, mode), old)), name="take", tag=Tag.INJECTIVE
        )
    at = axis_of(axis, len(old), "take")
    inner = len(wanted) - batch_dims

    def element(*i: Any) -> Any:
        which = indices(*i[:batch_dims], *i[at : at + inner])
        return a(*i[:at], _into(which, old[at], mode), *i[at + inner :])

    shape = (*old[:at], *wanted[batch_dims:], *old[at + 1 :])
    return te.compute(shape, element, name="take", tag=Tag.INJECTIVE)


def gather(data: Any, axis: int, indices: Any) -> Any:
    """Return ``data`` at the same place but for one axis, where ``indices`` says which element."""
    old = dims(data)
    at = axis_of(axis, len(old), "gather")

    def element(*i: Any) -> Any:
        return data(*i[:at], wrapped(indices(*i), old[at]), *i[at + 1 :])

    return te.compute(dims(indices), element, name="gather", tag=Tag.INJECTIVE)


def gather_nd(a: Any, indices: Any, batch_dims: int = 0) -> Any:
    """Return the slices of ``a`` at the points whose coordinates stand along the first axis of ``indices``."""
    old, where = dims(a), dims(indices)
    count, points = where[0], where[1:]

    def element(*i: Any) -> Any:
        point, rest = i[: len(points)], i[len(points) :]
        found = [wrapped(indices(m, *point), old[batch_dims + m]) for m in range(count)]
        return a(*point[:batch_dims], *found, *rest)

    shape = (*points, *old[batch_dims + count :])
    return te.compute(shape, element, name="gather_nd", tag=Tag.INJECTIVE)


def adv_index(data: Any, indices: Sequence[Any]) -> Any:
    """Return the slices of ``data`` at points whose coordinates are several tensors broadcast against each other."""
    old = dims(data)
    points = broadcast_shape(*[dims(i) for i in indices])

    def element(*i: Any) -> Any:
        point, rest = i[: len(points)], i[len(points) :]
        found = [wrapped(at_broadcast(x, point, points), e) for x, e in zip(indices, old, strict=False)]
        return data(*found, *rest)

    return te.compute((*points, *old[len(indices) :]), element, name="adv_index", tag=Tag.INJECTIVE)


def strided_slice(a: Any, begin: Sequence[Any], strides: Sequence[int], shape: Sequence[Any]) -> Any:
    """Return every ``strides[d]``-th element from ``begin[d]`` on, as many as ``shape`` says."""

    def element(*i: Any) -> Any:
        return a(*[_place(v, b, s) for v, b, s in zip(i, begin, strides, strict=True)])

    return te.compute(tuple(shape), element, name="strided_slice", tag=Tag.INJECTIVE)


def _place(index: Any, begin: Any, stride: int) -> Any:
    steps = index if stride == 1 else index * stride
    return steps if isinstance(begin, int) and begin == 0 else steps + begin


def strided_set(data: Any, values: Any, begin: Any, strides: Any) -> Any:
    """Return ``data`` with ``values`` at every ``strides(d)``-th element from ``begin(d)`` on."""
    old, new = dims(data), dims(values)

    def element(*i: Any) -> Any:
        inside, at = [], []
        for d, (v, extent, count) in enumerate(zip(i, old, new, strict=True)):
            step = strides(d).astype("int32")
            start = wrapped(begin(d), extent)
            start = tir.Select(step < 0, te.min(start, extent - 1), start)
            away = v - start
            nth = tir.Select(step < 0, te.floordiv(0 - away, te.max(0 - step, 1)), te.floordiv(away, te.max(step, 1)))
            inside += [nth >= 0, nth < count, (nth * step).equal(away)]
            at.append(nth)
        return te.if_then_else(te.all(*inside), values(*at), data(*i))

    return te.compute(old, element, name="strided_set", tag=Tag.INJECTIVE)


def one_hot(indices: Any, on_value: Any, off_value: Any, depth: int, axis: int, dtype: str) -> Any:
    """Return ``on_value`` where the place along a new axis is the index, ``off_value`` elsewhere."""
    old = dims(indices)
    at = axis_of(axis, len(old) + 1, "one_hot")

    def scalar(value: Any) -> Any:
        return value().astype(dtype) if isinstance(value, te.Tensor) else number(value, dtype)

    def element(*i: Any) -> Any:
        here = indices(*i[:at], *i[at + 1 :])
        return tir.Select(here.equal(i[at].astype(here.dtype)), scalar(on_value), scalar(off_value))

    return te.compute((*old[:at], depth, *old[at:]), element, name="one_hot", tag=Tag.INJECTIVE)


def unravel_index(indices: Any, shape: Any) -> Any:
    """Return the coordinates, along a new first axis, of places in a tensor of ``shape`` whose axes are one."""
    count = dims(shape)[0]

    def element(*i: Any) -> Any:
        at = indices(*i[1:])
        value: Any = tir.const(0, indices.dtype)
        rest = at
        found = []
        for d in range(count - 1, 0, -1):
            extent = shape(d).astype(indices.dtype)
            found.append(te.floormod(rest, extent))
            rest = te.floordiv(rest, extent)
        for d, part in enumerate([rest, *reversed(found)]):
            value = tir.Select(i[0].equal(d), part, value)
        return value

    return te.compute((count, *dims(indices)), element, name="unravel_index", tag=Tag.INJECTIVE)


def invert_permutation(data: Any) -> Any:
    """Return where each number from 0 on stands in ``data``."""
    k = te.reduce_axis((0, data.shape[0]), name="k")

    def element(i: Any) -> Any:
        here = data(k.var).equal(i.astype(data.dtype))
        return te.max(tir.Select(here, k.var.astype(data.dtype), tir.const(0, data.dtype)), axis=k)

    return te.compute(dims(data), element, name="invert_permutation", tag=Tag.COMM_REDUCE)


def searchsorted(sequence: Any, values: Any, right: bool, dtype: str) -> Any:
    """Return how many elements of a sorted sequence stand before each value, equal ones too where ``right`` holds."""
    k = te.reduce_axis((0, sequence.shape[-1]), name="k")
    outer = len(sequence.shape) - 1

    def element(*i: Any) -> Any:
        known, value = sequence(*i[:outer], k.var), values(*i)
        before = known <= value if right else known < value
        return te.sum(before.astype(dtype), axis=k)

    return te.compute(dims(values), element, name="searchsorted", tag=Tag.COMM_REDUCE)
