"""Indexing operators: ``take``, ``gather``, slices, ``one_hot``."""

from __future__ import annotations

from collections.abc import Sequence

from compiler import te, tir
from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.broadcast import at_broadcast, broadcast_shape
from compiler.topi.compute import compute
from compiler.topi.operands import Extent, Scalar, axis_of, constant, dims, number, product, replaced, unflatten
from compiler.topi.tag import Tag

__all__ = [
    "adv_index", "gather", "gather_nd", "one_hot", "strided_set", "take", "unravel_index",
]  # fmt: skip


def saturated(index: PrimExpr) -> PrimExpr:
    """Return an index as int32; one that does not fit becomes the nearest that does, which is outside all the same."""
    if not (dt.is_int(index.dtype) or dt.is_uint(index.dtype)):
        return index.astype("int32")
    low, high = dt.int_range(index.dtype)
    least, most = dt.int_range("int32")
    if high > most:
        index = te.min(index, tir.const(most, index.dtype))
    if low < least:
        index = te.max(index, tir.const(least, index.dtype))
    return index.astype("int32")


def wrapped(index: PrimExpr, extent: Extent) -> PrimExpr:
    """Return an index that may count from the end, as one from the front."""
    if dt.is_uint(index.dtype):
        return saturated(index)
    i = saturated(index)
    return te.if_then_else(i < 0, i + extent, i)


def _into(index: PrimExpr, extent: Extent, mode: str) -> PrimExpr:
    """Return an index that is inside by the rule of a mode."""
    if mode == "clip":
        return te.max(te.min(saturated(index), extent - 1), 0)
    if mode == "wrap":
        if dt.int_range(index.dtype)[1] <= dt.int_range("int32")[1]:
            return te.floormod(index.astype("int32"), extent)
        size = tir.const(extent, index.dtype) if isinstance(extent, int) else extent.astype(index.dtype)
        return te.floormod(index, size).astype("int32")
    if mode == "fast":
        return index.astype("int32")
    raise ArgumentError(f"take: mode must be 'clip', 'wrap' or 'fast', got {show(mode)}")


def take(a: Tensor, indices: Tensor, axis: int | None = None, batch_dims: int = 0, mode: str = "clip") -> Tensor:
    """Return the slices of ``a`` at indices of an axis, or of all axes as one.

    ``a`` and ``indices`` have their first ``batch_dims`` axes in common. An index that is outside counts as the nearest
    one inside in mode ``clip``, wraps around in ``wrap``, and must not be there in ``fast``.
    """
    old, new = dims(a), dims(indices)
    if axis is None:
        size = product(old)
        return compute(new, lambda *i: a(*unflatten(_into(indices(*i), size, mode), old)), "take", Tag.INJECTIVE)
    at = axis_of(axis, len(old), "take")
    inner = len(new) - batch_dims

    def element(*i: Var) -> PrimExpr:
        which = indices(*i[:batch_dims], *i[at : at + inner])
        return a(*i[:at], _into(which, old[at], mode), *i[at + inner :])

    return compute((*old[:at], *new[batch_dims:], *old[at + 1 :]), element, name="take", tag=Tag.INJECTIVE)


def gather(data: Tensor, axis: int, indices: Tensor) -> Tensor:
    """Return ``data`` at the same place but for one axis, where ``indices`` says which element.

    ``indices`` have the rank of ``data``; negative ones count from the end. Raises ArgumentError if there is no such
    axis, or the indices have another rank or no integer type.
    """
    old = dims(data)
    at = axis_of(axis, len(old), "gather")
    if not dt.is_integral(indices.dtype) or indices.ndim != len(old):
        raise ArgumentError(
            f"gather: indices must be integers of the rank of the data, got {indices.dtype} of rank {indices.ndim} for "
            f"data of rank {len(old)}"
        )

    def element(*i: Var) -> PrimExpr:
        return data(*replaced(i, at, wrapped(indices(*i), old[at])))

    return compute(dims(indices), element, name="gather", tag=Tag.INJECTIVE)


def gather_nd(a: Tensor, indices: Tensor, batch_dims: int = 0) -> Tensor:
    """Return the slices of ``a`` at points: their shape, then that of ``a`` without its first ``batch_dims + M`` axes.

    ``indices`` are ``(M, …)``: the coordinates of each point stand along the first axis, whose extent is a constant;
    negative ones count from the end. ``a`` and the points have their first ``batch_dims`` axes in common.
    """
    old, new = dims(a), dims(indices)
    count, points = constant(new[0], "gather_nd"), new[1:]

    def element(*i: Var) -> PrimExpr:
        point, rest = i[: len(points)], i[len(points) :]
        coordinates = [wrapped(indices(m, *point), old[batch_dims + m]) for m in range(count)]
        return a(*point[:batch_dims], *coordinates, *rest)

    return compute((*points, *old[batch_dims + count :]), element, name="gather_nd", tag=Tag.INJECTIVE)


def adv_index(data: Tensor, indices: Sequence[Tensor]) -> Tensor:
    """Return the slices of ``data`` at points whose coordinates are several tensors broadcast against each other.

    They are the coordinates along the first axes, negative ones counted from the end; the result has the points' shape,
    then that of ``data`` without these axes.
    """
    old = dims(data)
    points = broadcast_shape(*[dims(i) for i in indices])

    def element(*i: Var) -> PrimExpr:
        point, rest = i[: len(points)], i[len(points) :]
        coordinates = [wrapped(at_broadcast(x, point, points), e) for x, e in zip(indices, old, strict=False)]
        return data(*coordinates, *rest)

    return compute((*points, *old[len(indices) :]), element, name="adv_index", tag=Tag.INJECTIVE)


def strided_set(a: Tensor, v: Tensor, begin: Tensor, end: Tensor, strides: Tensor | None = None) -> Tensor:
    """Return ``a`` with ``v`` at every ``strides[d]``-th element from ``begin[d]`` on.

    ``begin`` and ``strides``, 1 by default, are ``(rank,)``, or fewer for the first axes; negative beginnings count
    from the end, negative strides go backwards.  Where the slice stops says the shape of ``v``, rather than ``end``.
    """
    old, new = dims(a), dims(v)
    given = constant(dims(begin)[0], "strided_set")
    given_steps = 0 if strides is None else constant(dims(strides)[0], "strided_set")

    def element(*i: Var) -> PrimExpr:
        inside: list[PrimExpr] = []
        at: list[PrimExpr] = []
        for d, (index, extent, count) in enumerate(zip(i, old, new, strict=True)):
            step = saturated(strides(d)) if strides is not None and d < given_steps else tir.const(1, "int32")
            start = wrapped(begin(d), extent) if d < given else tir.const(0, "int32")
            start = tir.Select(step < 0, te.min(start, extent - 1), start)
            away = index - start
            nth = tir.Select(step < 0, te.floordiv(0 - away, te.max(0 - step, 1)), te.floordiv(away, te.max(step, 1)))
            inside += [nth >= 0, nth < count, (nth * step).equal(away)]
            at.append(nth)
        return te.if_then_else(te.all(*inside), v(*at), a(*i))

    return compute(old, element, name="strided_set", tag=Tag.INJECTIVE)


def one_hot(
    indices: Tensor, on_value: Scalar | Tensor, off_value: Scalar | Tensor, depth: int, axis: int, dtype: str
) -> Tensor:
    """Return ``on_value`` where the place along a new axis is the index, ``off_value`` elsewhere."""
    old = dims(indices)
    at = axis_of(axis, len(old) + 1, "one_hot")

    def scalar(value: Scalar | Tensor) -> PrimExpr:
        return value().astype(dtype) if isinstance(value, Tensor) else number(value, dtype)

    def element(*i: Var) -> PrimExpr:
        here = indices(*i[:at], *i[at + 1 :])
        # In the wider of both types: neither the index nor the place may be cut.
        here = here if dt.bits(here.dtype) >= 32 else here.astype("int32")
        return tir.Select(here.equal(i[at].astype(here.dtype)), scalar(on_value), scalar(off_value))

    return compute((*old[:at], depth, *old[at:]), element, name="one_hot", tag=Tag.INJECTIVE)


def unravel_index(indices: Tensor, shape: Tensor) -> Tensor:
    """Return the coordinates of places in a tensor in row-major order, along a new first axis.

    Raises ArgumentError if the number of axes is not a constant.
    """
    count = constant(dims(shape)[0], "unravel_index")

    def element(*i: Var) -> PrimExpr:
        rest = indices(*i[1:])
        value = tir.const(0, indices.dtype)
        coordinates: list[PrimExpr] = []
        for d in range(count - 1, 0, -1):
            extent = shape(d).astype(indices.dtype)
            coordinates.append(te.floormod(rest, extent))
            rest = te.floordiv(rest, extent)
        for d, coordinate in enumerate([rest, *reversed(coordinates)]):
            value = tir.Select(i[0].equal(d), coordinate, value)
        return value

    return compute((count, *dims(indices)), element, name="unravel_index", tag=Tag.INJECTIVE)
