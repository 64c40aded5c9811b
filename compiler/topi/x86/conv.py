"""Schedules of convolutions: a tile of the result stays in registers while channels and window are summed up.

With channels in blocks, or last, a vector is of output channels, and the tile several columns of a row: one vector of
weights meets one broadcast element of the data for each column.  With columns last, a vector is of columns, and the
tile several output channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.te.operation import ComputeOp
from compiler.topi.x86.common import Group, accumulators, divisor, even_tile, extent, group, lanes, parallel, simple


def schedule_conv(attrs: Any, outputs: Sequence[Any], target: Any) -> Any:
    """Return the schedule of a group around a convolution."""
    for tag, rule in _RULES.items():
        found = group(outputs, (tag,), kept=("pad", "dilate"), cut=True)
        if found is not None:
            rule(found, target)
            for stage in found.schedule.stages:
                if isinstance(stage.op, ComputeOp) and ("pad" in stage.op.tag or "dilate" in stage.op.tag):
                    simple(stage, lanes(target, stage.op.output(0).dtype))
            return found.schedule
    raise AssertionError("a group around a convolution has one")


def _packed(found: Group, target: Any) -> None:
    """Vectors are the last axis; the tile is of columns, and of blocks too where rows are short."""
    s, last, tile = found.schedule[found.last], found.last, found.schedule[found.tile]
    n, c, h, w, b = last.op.axis
    limit = accumulators(target)
    columns = even_tile(extent(w) or 1, limit)
    blocks = divisor(extent(c), 4) if columns < 4 else 1
    co, ci = s.split(c, factor=blocks)
    wo, wi = s.split(w, factor=columns)
    s.reorder(n, co, h, wo, ci, wi, b)
    _whole_tiles_first(s, w, wo, columns)
    s.unroll(ci)
    s.unroll(wi)
    s.vectorize(b)
    tile.compute_at(s, wo)
    n, c_, h_, w_, b_ = tile.op.axis
    tile.reorder(*tile.op.reduce_axis, n, c_, h_, w_, b_)
    tile.unroll(c_)
    tile.unroll(w_)
    tile.vectorize(b_)
    parallel(s, [last.op.axis[0], co, last.op.axis[2]])


def _packed_depthwise(found: Group, target: Any) -> None:
    """Nothing is broadcast: with the window unrolled, a vector of the data serves several columns."""
    s, tile = found.schedule[found.last], found.schedule[found.tile]
    n, c, h, w, b = found.last.op.axis
    columns = even_tile(extent(w) or 1, accumulators(target) // 2)
    wo, wi = s.split(w, factor=columns)
    s.reorder(n, c, h, wo, wi, b)
    _whole_tiles_first(s, w, wo, columns)
    s.unroll(wi)
    s.vectorize(b)
    tile.compute_at(s, wo)
    rh, rw = tile.op.reduce_axis
    n_, c_, h_, w_, b_ = tile.op.axis
    tile.reorder(rh, rw, n_, c_, h_, w_, b_)
    for axis in (rw, w_):
        tile.unroll(axis)
    tile.vectorize(b_)
    parallel(s, [n, c, h])


def _rows(found: Group, target: Any) -> None:
    """Vectors are of columns; the tile is of output channels of one group."""
    op = found.tile.op
    attrs = _attrs(found)
    s, tile = found.schedule[found.last], found.schedule[found.tile]
    n, c, *middle, w = found.last.op.axis
    each = None if extent(c) is None else extent(c) // attrs["groups"]
    registers = max(attrs["vector"] // lanes(target, op.output(0).dtype), 1)
    channels = divisor(each, min(accumulators(target) // registers, 16))
    co, ci = s.split(c, factor=channels)
    wo, wi = s.split(w, factor=attrs["vector"])
    s.reorder(n, co, *middle, wo, ci, wi)
    # Even where rows are whole vectors, no more of them is computed than is read.
    s.pragma(wo, "loop_partition_hint")
    s.unroll(ci)
    s.vectorize(wi)
    tile.compute_at(s, wo)
    n_, c_, *middle_, w_ = op.axis
    tile.reorder(*op.reduce_axis, n_, c_, *middle_, w_)
    if len(op.reduce_axis) > 1 and extent(op.reduce_axis[0]) == 1:
        # One input channel a group: neighbouring taps of the window read much of the same.
        tile.unroll(op.reduce_axis[-1])
    tile.unroll(c_)
    tile.vectorize(w_)
    parallel(s, [n, co, *middle])


def _attrs(found: Group) -> Any:
    """Return what the computation says of itself; the copy in registers does not."""
    source = found.last.op if found.last.op.tag.startswith("conv_rows") else found.tile.op
    return source.attrs


def _channels_last(found: Group, target: Any) -> None:
    """Vectors are of output channels where these are the last axis; any other layout gets plain loops."""
    s, tile = found.schedule[found.last], found.schedule[found.tile]
    *outer, w, c = found.last.op.axis
    width = lanes(target)
    columns = even_tile(extent(w) or 1, accumulators(target) // 2)
    co, ci = s.split(c, factor=divisor(extent(c), width) if divisor(extent(c), width) > 3 else width)
    wo, wi = s.split(w, factor=columns)
    s.reorder(*outer, co, wo, wi, ci)
    _whole_tiles_first(s, w, wo, columns)
    s.unroll(wi)
    s.vectorize(ci)
    tile.compute_at(s, wo)
    rc, *window = tile.op.reduce_axis
    *outer_, w_, c_ = tile.op.axis
    tile.reorder(*window, rc, *outer_, w_, c_)
    tile.unroll(w_)
    tile.vectorize(c_)
    parallel(s, [*outer, co])


def _whole_tiles_first(stage: Any, axis: Any, outer: Any, factor: int) -> None:
    """Let whole tiles be computed without conditions where the last one is smaller."""
    if (size := extent(axis)) is not None and size % factor:
        stage.pragma(outer, "loop_partition_hint")


_RULES = {
    "conv_packed": _packed,
    "conv_packed_depthwise": _packed_depthwise,
    "conv_rows": _rows,
    "conv_rows_depthwise": _rows,
    "conv": _channels_last,
    "conv_transpose": _channels_last,
}
