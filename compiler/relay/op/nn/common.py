"""What operators over windows of images share: attributes for each spatial dimension, extents that may be symbolic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.lib.stride_tricks import as_strided

from compiler.ir.error import ArgumentError, show
from compiler.ir.primexpr import IntImm
from compiler.relay.op.common import unknown
from compiler.relay.operator import RelationError
from compiler.relay.ty import AnyDim, Dim
from compiler.topi.nn.conv import window_extent


def ints(value: Any, count: int, what: str) -> tuple[int, ...]:
    """Return one int for each of ``count`` dimensions; a single one is meant for all.

    Raises
    ------
    ArgumentError
        If it is neither an int nor as many as there are dimensions.
    """
    if (single := _as_int(value)) is not None:
        return (single,) * count
    values = [_as_int(v) for v in value] if isinstance(value, (list, tuple)) else []
    if len(values) == 1:
        values *= count
    if len(values) != count or None in values:
        raise ArgumentError(f"{what} must be an int or {count} of them, got {show(value)}")
    return tuple(values)  # type: ignore[arg-type]


def paddings(value: Any, count: int, what: str = "padding") -> tuple[int, ...]:
    """Return the padding before each dimension, then the one after each.

    One number is meant for all sides, one a dimension for both of its sides.

    Raises
    ------
    ArgumentError
        If there are neither one, ``count`` nor ``2 * count`` of them.
    """
    if (single := _as_int(value)) is not None:
        return (single,) * (2 * count)
    values = tuple(_as_int(v) for v in value) if isinstance(value, (list, tuple)) else ()
    if None in values or len(values) not in (1, count, 2 * count):
        raise ArgumentError(f"{what} must be 1, {count} or {2 * count} ints, got {show(value)}")
    return (values * (2 * count // len(values)))[: 2 * count]  # type: ignore[return-value]


def _as_int(value: Any) -> int | None:
    if isinstance(value, IntImm):
        return value.value
    return int(value) if hasattr(value, "__index__") and not isinstance(value, bool) else None


def window_dim(extent: Dim, around: int, kernel: Dim, stride: int, dilation: int, ceil: bool = False) -> Dim:
    """Return how often a window fits into an extent with ``around`` elements added.

    Raises
    ------
    RelationError
        If it does not fit once.
    """
    if unknown(extent, kernel):
        return AnyDim()
    room = extent + around - (kernel - 1) * dilation - 1
    if isinstance(room, int) and room < 0:
        raise RelationError(
            f"the window of {kernel} elements, dilated by {dilation}, must fit into {extent} padded by {around}"
        )
    return (room + stride - 1 if ceil else room) // stride + 1


def positive(what: str, values: tuple[int, ...]) -> tuple[int, ...]:
    """Return values that must all be positive.

    Raises
    ------
    ArgumentError
        If one is not.
    """
    if any(v < 1 for v in values):
        raise ArgumentError(f"{what} must be positive, got {show(values)}")
    return values


def along(vector: Any, axis: int, rank: int) -> Any:
    """Return a NumPy vector with axes of extent 1 around it, so that it broadcasts along ``axis``."""
    return vector.reshape([-1 if d == axis else 1 for d in range(rank)])


def windows(x: Any, kernel: Sequence[int], strides: Sequence[int], dilation: Sequence[int]) -> Any:
    """Return a view of all windows of an array ``(N, C, spatial…)``: ``(N, C, out…, kernel…)``."""
    rank = len(kernel)
    out = [window_extent(x.shape[2 + d], 0, 0, kernel[d], strides[d], dilation[d]) for d in range(rank)]
    steps = x.strides[2:]
    by_window = [step * stride for step, stride in zip(steps, strides, strict=True)]
    inside = [step * by for step, by in zip(steps, dilation, strict=True)]
    return as_strided(x, (*x.shape[:2], *out, *kernel), (*x.strides[:2], *by_window, *inside), writeable=False)
