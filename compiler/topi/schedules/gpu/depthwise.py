"""GPU schedules of depthwise convolutions: the block's input in shared memory, one element per thread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import IterVar
from compiler.target.device_limits import device_limits
from compiler.target.target import Target
from compiler.te import ComputeOp, Schedule, Stage, thread_axis
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import ConvWindows
from compiler.topi.schedules.anchor import Group, tiled_group
from compiler.topi.schedules.gpu.kit import bind, bind_elements, block_threads, fetch, size
from compiler.topi.schedules.kit import divisor, even_tile, extent

_COLUMNS, _ROWS = 32, 8
"""Threads along the columns and the rows of an image, at most."""
_IMAGES = 64
"""Images of a block, at most: threads along z that every device has."""
_CHANNELS, _PIXELS = 32, 8
"""Threads along the channels, and along the columns, of an image whose channels are neighbours, at most."""
_MAX_EACH = 4
"""Rows of such an image that a thread computes, at most."""


@dataclass(frozen=True, slots=True)
class _Side:
    """How an axis of the result is divided: into blocks, threads, and elements of a thread."""

    axis: int
    threads: int
    each: int = 1

    @property
    def tile(self) -> int:
        """Elements of a block."""
        return self.threads * self.each


def schedule_depthwise(outputs: Sequence[Tensor], anchor: ComputeOp, target: Target) -> Schedule | None:
    """Return the schedule of a group around a convolution of images whose channels are not added up.

    Neighbouring elements read almost the same window: a block computes a tile of an image and fetches the window of the
    tile once.  Small images share a block with those of further channels; where channels are neighbours in memory, a
    block computes some of them.

    The schedule is None if extents are not numbers, where neither columns nor channels are the last axis, and where a
    window does not fit into shared memory.
    """
    if size([*anchor.axis, *anchor.reduce_axis]) is None or len(anchor.axis) < 4:
        return None
    sides = _sides(anchor, target)
    if sides is None:
        return None

    def elements(stage: Stage) -> None:
        bind_elements(stage, target)

    group = tiled_group(outputs, anchor, (), may_be_cut=True, elements=elements)
    threads, blocks, place = _bind_tile(group, sides, ConvWindows.of(anchor).channels)
    group.schedule[group.tile].compute_at(group.schedule[group.result], place)
    for tensor in group.schedule[group.tile].op.input_tensors:
        staged = group.schedule[group.schedule.cache_read(tensor, "shared", [group.tile])]
        staged.compute_at(group.schedule[group.result], blocks)
        fetch(staged, threads)
    return group.schedule


def _sides(anchor: ComputeOp, target: Target) -> tuple[_Side, _Side, _Side] | None:
    """Return how columns, rows and channels are divided, neighbours in memory first; None if no tile fits."""
    windows, last = ConvWindows.of(anchor), len(anchor.axis) - 1
    lengths = [extent(axis) or 1 for axis in anchor.axis]
    limit = device_limits(target)["max_shared_memory_per_block"]
    if windows.columns == last:
        columns, rows = min(lengths[last], _COLUMNS), min(lengths[last - 1], _ROWS)
        most = max(min(block_threads(target) // (columns * rows), _IMAGES), 1)
        images = divisor(lengths[windows.channels], most)
        fits = _window_bytes(anchor, windows, (images, rows, columns)) <= limit
        return (_Side(last, columns), _Side(last - 1, rows), _Side(windows.channels, images)) if fits else None
    if windows.channels != last or windows.columns != last - 1:
        return None
    channels, columns = even_tile(lengths[last], _CHANNELS), even_tile(lengths[last - 1], _PIXELS)
    each = min(lengths[last - 2], _MAX_EACH)
    while each and _window_bytes(anchor, windows, (channels, each, columns)) > limit:
        each //= 2
    return (_Side(last, channels), _Side(last - 1, columns), _Side(last - 2, 1, each)) if each else None


def _bind_tile(
    group: Group, sides: tuple[_Side, _Side, _Side], channels: int
) -> tuple[list[IterVar], IterVar, IterVar]:
    """Bind the result's tiles to blocks and their elements to threads.

    Return the threads' axes, the loop of a block, and the loop of a thread.
    """
    result, axes = group.schedule[group.result], list(group.result.op.axis)
    threads = [thread_axis((0, s.threads), f"threadIdx.{name}") for s, name in zip(sides, "xyz", strict=True)]
    blocks, owned, inner = dict[int, IterVar](), [], []
    for side in sides:
        blocks[side.axis], rest = result.split(axes[side.axis], factor=side.tile)
        if side.each > 1:
            rest, one = result.split(rest, factor=side.each)
            inner.append(one)
        owned.append(rest)
    channel = blocks.pop(channels)
    spatial = [blocks[at] for at in sorted(blocks)]
    others = [axis for at, axis in enumerate(axes) if at not in {side.axis for side in sides}]
    result.reorder(*others, channel, *spatial, *reversed(owned), *inner)
    bind(result, result.fuse(*others, channel), "blockIdx.y")
    tiles = result.fuse(*spatial)
    bind(result, tiles, "blockIdx.x")
    for one, thread in zip(owned, threads, strict=True):
        result.bind(one, thread)
    return threads, tiles, owned[0]


def _window_bytes(anchor: ComputeOp, windows: ConvWindows, tile: tuple[int, int, int]) -> int:
    """Return the bytes of the windows and weights of a block's tile: images, rows and columns."""
    images, *extents = tile
    taps = [extent(axis) or 1 for axis in anchor.reduce_axis]
    window, weights = images * math.prod(taps[:-2]), images * math.prod(taps)
    for length, size_of_window in zip(extents, taps[-2:], strict=True):
        window *= (length - 1) * windows.stride + (size_of_window - 1) * windows.dilation + 1
    return (window + weights) * dt.storage_bytes(anchor.output(0).dtype)
