"""Tensor operations of converters, which omit those without effect."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dims_of, dtype_of, ops, rank_of, scalar
from compiler.relay.frontend.shared.open_dims import asked_for, told_open
from compiler.relay.ty import AnyDim, Dim

_MODES = {"constant": None, "edge": "edge", "reflect": "reflect", "wrap": "wrap"}

Extent: TypeAlias = Dim | RelayExpr | None
"""An extent that is known, symbolic, computed at run time, or unknown."""

MAX_COMPUTED = 1 << 25
"""The maximum number of elements of a constant that a converter computes."""


def is_copied(dims: Sequence[Dim], wanted: Sequence[Extent], i: int) -> bool:
    """Return whether an extent of a new shape equals that of the tensor at the same position."""
    return i < len(dims) and wanted[i] is dims[i]


def reshape(x: RelayExpr, wanted: Sequence[Extent]) -> RelayExpr:
    """Reshape to extents of which at most one is unknown, and inferred from the others."""
    dims = dims_of(x)
    target = [int(w) if isinstance(w, (int, np.integer)) else -1 for w in wanted]
    if target.count(-1) > 1:
        target = [0 if is_copied(dims, wanted, i) else t for i, t in enumerate(target)]
        if target.count(-1) > 1:
            how = asked_for(x, [w for w, t in zip(wanted, target, strict=True) if t == -1 and isinstance(w, AnyDim)])
            raise ConversionError(f"more than one extent of the shape is unknown while importing; {how}")
        return ops.reshape(x, target)
    if (count := count_of(dims)) >= 0:
        rest = math.prod(t for t in target if t != -1)
        target = [(count // rest if rest else 0) if t == -1 else t for t in target]
        if math.prod(target) != count:
            raise ConversionError(f"shape {tuple(dims)} cannot become {tuple(target)}")
        if count == 0:
            return constant(np.zeros(target, dtype_of(x)))
    if tuple(target) == tuple(dims):
        return x
    made, at = ops.reshape(x, target), target.index(-1) if -1 in target else None
    return made if at is None else told_open(made, at, wanted[at])


def told(x: RelayExpr, extents: Sequence[Extent]) -> RelayExpr:
    """Return a tensor whose shape is computed at run time with a type that has what is known of its extents."""
    numbers = [e if isinstance(e, int) and e > 0 else 0 for e in extents]  # 0 takes over
    return ops.reshape(x, numbers) if any(numbers) else x


def merged(x: RelayExpr, begin: int, count: int) -> RelayExpr:
    """Make one axis of several, whatever their extents."""
    for _ in range(count - 1):
        x = ops.reshape(x, [0] * begin + [-3] + [0] * (rank_of(x) - begin - 2))  # -3 makes one of two
    return x


def count_of(dims: Sequence[Dim]) -> int:
    """Return the number of elements of a shape, -1 if an extent is unknown."""
    extents = [d for d in dims if isinstance(d, int)]
    return math.prod(extents) if len(extents) == len(dims) else -1


def transpose(x: RelayExpr, axes: Sequence[int]) -> RelayExpr:
    """Permute axes, unless the permutation is the identity."""
    return x if list(axes) == list(range(len(axes))) else ops.transpose(x, axes=list(axes))


def unsqueeze(x: RelayExpr, axes: Sequence[int]) -> RelayExpr:
    """Insert axes of extent 1 at positions of the result."""
    rank = rank_of(x) + len(axes)
    for axis in sorted(a + rank if a < 0 else a for a in axes):
        x = ops.expand_dims(x, axis)
    return x


def split(x: RelayExpr, sizes: Sequence[int], axis: int) -> list[RelayExpr]:
    """Split an axis into parts of the given sizes."""
    if len(sizes) == 1:
        return [x]
    if all(sizes):
        return ops.split(x, [int(i) for i in np.cumsum(sizes)[:-1]], axis=axis)
    starts = np.cumsum([0, *sizes])
    return [slice_axis(x, axis, int(a), int(b)) for a, b in itertools.pairwise(starts)]


def slice_axis(x: RelayExpr, axis: int, begin: int, end: int, step: int = 1) -> RelayExpr:
    """Slice one axis."""
    dims = list(dims_of(x))
    axis %= len(dims)
    others = [d for i, d in enumerate(dims) if i != axis and isinstance(d, int)]
    if begin == end and len(others) == len(dims) - 1:
        return constant(np.zeros([*others[:axis], 0, *others[axis:]], dtype_of(x)))
    if (begin, end, step) == (0, dims[axis], 1):
        return x
    return ops.strided_slice(x, [begin], [end], strides=[step], axes=[axis])


def expand(x: RelayExpr, wanted: Sequence[Extent]) -> RelayExpr:
    """Broadcast to a shape; a dynamic extent must be the tensor's own, or replace a 1."""
    dims = dims_of(x)
    rank = max(len(dims), len(wanted))
    own = (1,) * (rank - len(dims)) + tuple(dims)
    other = [1] * (rank - len(wanted)) + list(wanted)
    target = [o if isinstance(d, int) and d == 1 else d for d, o in zip(own, other, strict=True)]
    if any(t is None for t in target):
        raise ConversionError("an extent of the shape is unknown while importing; give `shape`")
    for d, o in zip(own, other, strict=True):
        if isinstance(d, int) and isinstance(o, int) and d != o and 1 not in (d, o):
            raise ConversionError(f"shape {tuple(dims)} cannot be broadcast to {tuple(wanted)}")
    if all(isinstance(t, int) for t in target):
        return x if tuple(target) == tuple(dims) else ops.broadcast_to(x, target)
    # Repetitions are always known, unlike a shape in an attribute.
    times = [o if isinstance(d, int) and d == 1 else 1 for d, o in zip(own, other, strict=True)]
    if not all(isinstance(t, int) for t in times):
        raise ConversionError("an extent of the shape is unknown while importing; give `shape`")
    spread = ops.expand_dims(x, axis=0, num_newaxis=rank - len(dims)) if rank > len(dims) else x
    return spread if all(t == 1 for t in times) else ops.tile(spread, times)


def pad(
    x: RelayExpr, around: Sequence[tuple[int, int]], mode: str = "constant", fill: RelayExpr | float | None = None
) -> RelayExpr:
    """Pad each axis before and after; negative padding crops."""
    if mode not in _MODES:
        raise ConversionError(f"mode {mode!r} is unknown; expected one of {', '.join(_MODES)}")
    for axis, (before, after) in enumerate(around):
        if before < 0 or after < 0:
            x = _cropped(x, axis, max(-before, 0), max(-after, 0))
    around = [(max(before, 0), max(after, 0)) for before, after in around]
    if not any(map(any, around)):
        return x
    if mode != "constant":
        is_known = _is_pad(dims_of(x), around, mode)
        return ops.nn.pad(x, around, pad_mode=mode) if is_known else _pad_by_index(x, around, mode)
    fill = fill if isinstance(fill, RelayExpr) else scalar(0 if fill is None else fill, x)
    if dtype_of(x) == "bool":
        return ops.cast(ops.nn.pad(ops.cast(x, "uint8"), around, ops.cast(fill, "uint8")), "bool")
    return ops.nn.pad(x, around, fill)


def pad_at_run_time(x: RelayExpr, around: RelayExpr, mode: str, fill: RelayExpr | float | None) -> RelayExpr:
    """Pad as :func:`pad` does by what the running program computes: a row before each axis, and one after each."""
    rank = rank_of(x)
    before, after = (ops.take(around, constant(row), axis=0) for row in (0, 1))
    begin, end = ops.maximum(ops.negative(before), 0), ops.add(ops.shape_of(x, dtype="int64"), ops.minimum(after, 0))
    x = ops.strided_slice(x, begin, end, constant(np.ones(rank, np.int64)), axes=range(rank))
    around = ops.maximum(around, 0)
    if mode == "constant":
        return ops.nn.pad(x, ops.transpose(around), fill if isinstance(fill, RelayExpr) else scalar(fill or 0, x))
    for axis in range(rank):
        before, after = (ops.take(ops.take(around, constant(row), axis=0), constant(axis), axis=0) for row in (0, 1))
        x = ops.take(x, _places_at_run_time(extent_of(x, axis), before, after, mode), axis=axis)
    return x


def _cropped(x: RelayExpr, axis: int, before: int, after: int) -> RelayExpr:
    """Leave out elements at the beginning and at the end of an axis."""
    extent = dims_of(x)[axis]
    if isinstance(extent, int):
        return slice_axis(x, axis, before, extent - after)
    return ops.strided_slice(x, [before], [-after if after else _NO_END], strides=[1], axes=[axis])


_NO_END = np.iinfo(np.int64).max
"""What a slice up to the end of an axis of unknown extent ends with."""


def _is_pad(dims: Sequence[object], around: Sequence[tuple[int, int]], mode: str) -> bool:
    """Return whether ``nn.pad`` pads as NumPy does: by extents that are known, no element mirrored more than once."""
    return all(
        isinstance(n, int) and n > (max(pair) if mode == "reflect" else 0) for n, pair in zip(dims, around, strict=True)
    )


def _pad_by_index(x: RelayExpr, around: Sequence[tuple[int, int]], mode: str) -> RelayExpr:
    for axis, (before, after) in enumerate(around):
        if (before, after) == (0, 0):
            continue
        extent = dims_of(x)[axis]
        if isinstance(extent, int):
            bounded(extent + before + after)
            taken: RelayExpr = constant(np.pad(np.arange(extent), (before, after), mode).astype(np.int64))  # type: ignore[call-overload]
        else:
            taken = _places_at_run_time(extent_of(x, axis), constant(before), constant(after), mode)
        x = ops.take(x, taken, axis=axis)
    return x


def _places_at_run_time(extent: RelayExpr, before: RelayExpr, after: RelayExpr, mode: str) -> RelayExpr:
    """Return which elements of an axis stand in a padded one, as NumPy pads."""
    place = ops.arange(ops.negative(before), ops.add(extent, after), constant(1, "int64"), dtype="int64")
    last = ops.subtract(extent, 1)
    if mode == "edge":
        return ops.maximum(ops.minimum(place, last), 0)
    if mode == "wrap":
        return ops.floor_mod(place, extent)
    there_and_back = ops.maximum(ops.multiply(last, 2), 1)
    there = ops.floor_mod(place, there_and_back)
    return ops.minimum(there, ops.subtract(there_and_back, there))


def extent_of(x: RelayExpr, axis: int) -> RelayExpr:
    """Return the extent of an axis as a scalar of int64, which the running program computes if it is unknown."""
    extent = dims_of(x)[axis]
    if isinstance(extent, int):
        return constant(extent, "int64")
    return ops.take(ops.shape_of(x, dtype="int64"), constant(axis % rank_of(x), "int64"), axis=0)


def cast(x: RelayExpr, dtype: str) -> RelayExpr:
    """Cast to another data type, unless the tensor has it already."""
    own = dtype_of(x)
    if own == dtype:
        return x
    return ops.not_equal(x, scalar(0, x)) if dtype == "bool" else ops.cast(x, dtype)


def bitcast(x: RelayExpr, dtype: str) -> RelayExpr:
    """Reinterpret the bits of each element as another data type."""
    own = dtype_of(x)
    if np.dtype(own).itemsize != np.dtype(dtype).itemsize:
        raise ConversionError(f"elements of {own} and {dtype} have different numbers of bits, which is not supported")
    return x if own == dtype else ops.reinterpret(x, dtype)


def static_dims(expr: RelayExpr, what: str, axes: Sequence[int] | None = None) -> tuple[int, ...]:
    """Return the shape of an expression, or its extents along some axes, which must be known."""
    dims = dims_of(expr)
    wanted = range(len(dims)) if axes is None else [a % len(dims) for a in axes]
    unknown = sorted({a for a in wanted if not isinstance(dims[a], int)})
    if unknown:
        shape = ", ".join(str(d) if isinstance(d, int) else "?" for d in dims)
        which = "the shape" if axes is None else f"dimension {' and '.join(map(str, unknown))}"
        how = asked_for(expr, [dims[a] for a in unknown])
        raise ConversionError(f"{which} of {what} must be known while importing, got ({shape}); {how}")
    return tuple(d for d in (dims[a] for a in wanted) if isinstance(d, int))


def places_along(x: RelayExpr, axis: int, rank: int) -> RelayExpr:
    """Return 0, 1, … for the extent of an axis, along that axis of a tensor of a rank."""
    extent = dims_of(x)[axis]
    if isinstance(extent, int):
        bounded(extent)
        places: RelayExpr = constant(np.arange(extent))
    else:
        places = ops.arange(constant(0, "int64"), extent_of(x, axis), constant(1, "int64"), dtype="int64")
    at = axis - rank_of(x) if axis >= 0 else axis
    return ops.reshape(places, [-1 if d == at + rank else 1 for d in range(rank)])


def bounded(*extents: float) -> int:
    """Return the number of elements of a shape, checking it against :data:`MAX_COMPUTED`."""
    count = math.prod(max(int(e), 1) for e in extents)
    if count > MAX_COMPUTED:
        raise ConversionError(f"it needs a constant of {count:,} elements; {MAX_COMPUTED:,} are computed at most")
    return count


def as_scalar(x: RelayExpr) -> RelayExpr:
    """Return a tensor of one element without dimensions."""
    return reshape(x, []) if rank_of(x) else x
