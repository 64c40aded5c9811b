"""GPU schedules of matrix products and convolutions: shared memory tiles, register accumulators.

A block computes a tile of the result; its threads fetch what a step of the reduction reads into shared memory, and
each keeps a few rows and columns in registers.

References
----------
Volkov and Demmel, "Benchmarking GPUs to Tune Dense Linear Algebra", SC 2008: tiles in shared memory and registers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import IterVar
from compiler.target.device_limits import device_limits
from compiler.target.target import Target
from compiler.te import ComputeOp, Schedule, Stage, thread_axis
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import ConvWindows
from compiler.topi.schedules.anchor import Group, tiled_group
from compiler.topi.schedules.gpu.depthwise import schedule_depthwise
from compiler.topi.schedules.gpu.kit import bind, bind_elements, fetch, size
from compiler.topi.schedules.kit import divisor, extent

_THREADS = 16
"""Threads along each side of a tile."""
_FEW_ROWS = 8
"""With fewer rows each element of the result is summed by several threads."""
_MAX_STEP = 8
"""Elements of the reduction that are fetched together."""


@dataclass(frozen=True, slots=True)
class _Side:
    """How one axis of the result is divided: into blocks, threads, and elements of a thread."""

    axis: IterVar
    threads: int
    each: int

    @classmethod
    def of(cls, axis: IterVar, length: int) -> _Side:
        """Choose tiles that cover an axis with little waste."""
        each = 4 if length >= 4 * _THREADS else 2 if length > _THREADS else 1
        blocks = -(-length // (_THREADS * each))
        return cls(axis, -(-length // (blocks * each)), each)

    @classmethod
    def within(cls, axis: IterVar, length: int) -> _Side:
        """Choose tiles that cover equal parts of an axis exactly: the channels of one group read the same input."""
        side = cls.of(axis, length)
        threads = divisor(length // divisor(length, side.each), _THREADS)
        return cls(axis, threads, divisor(length, side.each))

    @property
    def tile(self) -> int:
        """Elements of a block."""
        return self.threads * self.each


def schedule_matmul(outputs: Sequence[Tensor], anchor: ComputeOp, target: Target) -> Schedule | None:
    """Return the schedule of a group around a product of matrices.

    It is None if extents are not numbers, and for few rows, whose columns nothing shares.
    """
    if size([*anchor.axis, *anchor.reduce_axis]) is None or len(anchor.axis) < 2:
        return None
    if (extent(anchor.axis[-2]) or 0) < _FEW_ROWS:
        return None
    group = _group(outputs, anchor, target)
    *_, i, j = group.result.op.axis
    rows, columns = (_Side.of(axis, extent(axis) or 1) for axis in (i, j))
    step = min(extent(anchor.reduce_axis[0]) or 1, _MAX_STEP)
    _tiled(group, rows, columns, step)
    return group.schedule


def schedule_conv(outputs: Sequence[Tensor], anchor: ComputeOp, target: Target) -> Schedule | None:
    """Return the schedule of a group around a convolution: a tile is of output channels and columns of a row.

    It is None if extents are not numbers; of a few channels a group where :func:`schedule_depthwise` has none.
    """
    if size([*anchor.axis, *anchor.reduce_axis]) is None or not anchor.attrs:
        return None
    windows = ConvWindows.of(anchor)
    channels = (extent(anchor.axis[windows.channels]) or 1) // windows.groups
    if windows.groups > 1 and channels < _FEW_ROWS:
        return schedule_depthwise(outputs, anchor, target)
    group = _group(outputs, anchor, target)
    channel, column = (group.result.op.axis[d] for d in (windows.channels, windows.columns))
    rows = _Side.of(channel, channels) if windows.groups == 1 else _Side.within(channel, channels)
    columns = _Side.of(column, extent(column) or 1)
    limit = device_limits(target)["max_shared_memory_per_block"]
    while (step := _step(anchor, windows, rows.tile, columns.tile, limit)) == 0 and rows.each > 1:
        rows = replace(rows, each=rows.each // 2)
    if step == 0:
        return None
    # The side whose elements are neighbours in memory is that of neighbouring threads.
    sides = (rows, columns) if windows.columns > windows.channels else (columns, rows)
    _tiled(group, *sides, step)
    return group.schedule


def _step(anchor: ComputeOp, windows: ConvWindows, channels: int, columns: int, limit: int) -> int:
    """Return how many input channels fit into shared memory at once, 0 if not even one does."""
    inputs, *window = (extent(axis) or 1 for axis in anchor.reduce_axis)
    *rows, taps = window or [1]
    height = math.prod(rows)
    reach = (columns - 1) * windows.stride + (taps - 1) * windows.dilation + 1
    bytes_of_one = (height * reach + channels * height * taps) * dt.bits(anchor.output(0).dtype) // 8
    return divisor(inputs, min(_MAX_STEP, limit // bytes_of_one)) if bytes_of_one <= limit else 0


def _group(outputs: Sequence[Tensor], anchor: ComputeOp, target: Target) -> Group:
    def elements(stage: Stage) -> None:
        bind_elements(stage, target)

    return tiled_group(outputs, anchor, (), may_be_cut=True, elements=elements)


def _tiled(group: Group, rows: _Side, columns: _Side, step: int) -> None:
    """Compute tiles of the result by blocks, with so many elements of the first axis of the reduction at a time."""
    s, tile = group.schedule[group.result], group.schedule[group.tile]
    threads = (thread_axis((0, columns.threads), "threadIdx.x"), thread_axis((0, rows.threads), "threadIdx.y"))
    place = _blocks(s, group.result.op.axis, rows, columns, threads)
    tile.compute_at(s, place)
    first, *others = tile.op.reduce_axis
    outer, inner = tile.split(first, factor=step)
    own = list(tile.op.axis)
    tile.reorder(outer, inner, *others, *own)
    at_rows, at_columns = (list(group.result.op.axis).index(side.axis) for side in (rows, columns))
    for position in (at_rows, at_columns):
        tile.unroll(own[position])
    for tensor in tile.op.input_tensors:
        staged = group.schedule[group.schedule.cache_read(tensor, "shared", [group.tile])]
        staged.compute_at(tile, outer)
        fetch(staged, threads)


def _blocks(
    s: Stage, axes: Sequence[IterVar], rows: _Side, columns: _Side, threads: tuple[IterVar, IterVar]
) -> IterVar:
    """Divide the result among blocks and threads; return the loop around the elements of a thread."""
    others = [axis for axis in axes if axis is not rows.axis and axis is not columns.axis]
    row_block, row = s.split(rows.axis, factor=rows.tile)
    column_block, column = s.split(columns.axis, factor=columns.tile)
    row_thread, row_each = s.split(row, factor=rows.each)
    # Neighbouring threads store neighbouring elements.
    column_each, column_thread = s.split(column, factor=columns.threads)
    s.reorder(*others, row_block, column_block, row_thread, column_thread, row_each, column_each)
    if others:
        bind(s, others[0] if len(others) == 1 else s.fuse(*others), "blockIdx.z")
    bind(s, row_block, "blockIdx.y")
    bind(s, column_block, "blockIdx.x")
    s.bind(row_thread, threads[1])
    s.bind(column_thread, threads[0])
    s.unroll(row_each)
    s.unroll(column_each)
    return column_thread
