"""Convolutions of each channel by itself on a GPU: the window of a block in shared memory, an element a thread."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir import dtype as dt
from compiler.target.device_limits import device_limits
from compiler.target.target import Target
from compiler.te import ComputeOp, Schedule, Stage, thread_axis
from compiler.te.tensor import Tensor
from compiler.topi.compute import ConvWindows
from compiler.topi.schedules.anchor import tiled_group
from compiler.topi.schedules.gpu.kit import bind, bind_elements, block_threads, fetch, size
from compiler.topi.schedules.kit import divisor, extent

__all__ = ["schedule_depthwise"]

_COLUMNS, _ROWS = 32, 8
"""Threads along the columns and the rows of an image, at most."""
_IMAGES = 64
"""Images of a block, at most: threads along z that every device has."""


def schedule_depthwise(outputs: Sequence[Tensor], anchor: ComputeOp, target: Target) -> Schedule | None:
    """Return the schedule of a group around a convolution of images whose channels are not added up.

    Neighbouring elements read almost the same window: a block computes a tile of an image and fetches the window of the
    tile once.  Small images share a block with those of further channels.

    Parameters
    ----------
    outputs : sequence of Tensor
        The outputs of the group.
    anchor : ComputeOp
        The convolution.
    target : Target

    Returns
    -------
    Schedule or None
        None where its extents are not numbers, where rows and columns are not the last axes, and where a window does
        not fit into shared memory.
    """
    windows = ConvWindows.of(anchor)
    last = len(anchor.axis) - 1
    if size([*anchor.axis, *anchor.reduce_axis]) is None or last < 3 or windows.columns != last:
        return None
    channels, height, width = (extent(anchor.axis[d]) or 1 for d in (windows.channels, last - 1, last))
    columns, rows = min(width, _COLUMNS), min(height, _ROWS)
    images = divisor(channels, max(min(block_threads(target) // (columns * rows), _IMAGES), 1))
    if _window_bytes(anchor, windows, (images, rows, columns)) > device_limits(target)["max_shared_memory_per_block"]:
        return None

    def elements(stage: Stage) -> None:
        bind_elements(stage, target)

    group = tiled_group(outputs, anchor, (), may_be_cut=True, elements=elements)
    result, tile = group.schedule[group.result], group.schedule[group.tile]
    threads = [
        thread_axis((0, count), f"threadIdx.{name}") for count, name in ((columns, "x"), (rows, "y"), (images, "z"))
    ]
    axes = list(group.result.op.axis)
    own = (axes[last], axes[last - 1], axes[windows.channels])
    blocks, inner = [], []
    for axis, thread in zip(own, threads, strict=True):
        block, one = result.split(axis, factor=extent(thread))
        blocks.append(block)
        inner.append(one)
    column, row, channel = blocks
    others = [axis for axis in axes if axis not in own]
    result.reorder(*others, channel, row, column, *reversed(inner))
    bind(result, result.fuse(*others, channel), "blockIdx.y")
    tiles = result.fuse(row, column)
    bind(result, tiles, "blockIdx.x")
    for one, thread in zip(inner, threads, strict=True):
        result.bind(one, thread)
    tile.compute_at(result, inner[0])
    for tensor in tile.op.input_tensors:
        staged = group.schedule[group.schedule.cache_read(tensor, "shared", [group.tile])]
        staged.compute_at(result, tiles)
        fetch(staged, threads)
    return group.schedule


def _window_bytes(anchor: ComputeOp, windows: ConvWindows, tile: tuple[int, int, int]) -> int:
    """Return the bytes of the windows and weights of a block's tile: images, rows and columns."""
    images, *extents = tile
    taps = [extent(axis) or 1 for axis in anchor.reduce_axis]
    window, weights = images, images
    for length, size_of_window in zip(extents, taps[-2:], strict=True):
        window *= (length - 1) * windows.stride + (size_of_window - 1) * windows.dilation + 1
    for each in taps:
        weights *= each
    for each in taps[:-2]:
        window *= each
    return (window + weights) * dt.storage_bytes(anchor.output(0).dtype)
