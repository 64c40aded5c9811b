"""Schedules of products of matrices: a tile of rows and vectors of columns stays in registers while k runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.te.operation import ComputeOp
from compiler.topi.x86.common import Group, accumulators, divisor, even_tile, extent, group, lanes, parallel


def schedule_product(attrs: Any, outputs: Sequence[Any], target: Any) -> Any:
    """Return the schedule of a group around a product of matrices."""
    found = group(outputs, ("product_panels",), kept=("panels",), cut=True)
    if found is not None:
        _panels(found, target)
        return found.schedule
    found = group(outputs, ("product_parts",), inner_axes=1)
    if found is not None:
        _dots(found)
        return found.schedule
    found = group(outputs, ("product",))
    assert found is not None, "a group around a product has one"
    _plain(found)
    return found.schedule


def _panels(found: Group, target: Any) -> None:
    """Panels outside, since they stay in the second cache; then tiles of rows."""
    source = found.last.op if found.last.op.tag == "product_panels" else found.tile.op
    width, shared = source.attrs["width"], source.attrs["shared"]
    s, tile = found.schedule[found.last], found.schedule[found.tile]
    *outer, i, j = found.last.op.axis
    room = accumulators(target)
    registers = max(width // lanes(target, found.tile.dtype), 1)
    count = -(-(extent(j) or width) // width)
    vectors = next(n for n in ((4, 3, 6, 5, 2, 1) if room > 16 else (1,)) if count % n == 0)
    # Four of many registers are left for a row of the panel.
    rows = even_tile(extent(i) or 6, max(min((room - 4 if room > 16 else room) // (vectors * registers), 8), 1))
    jo, ji = s.split(j, factor=vectors * width)
    io, ii = s.split(i, factor=rows)
    s.reorder(*([jo, *outer] if shared else [*outer, jo]), io, ii, ji)
    jv, jl = s.split(ji, factor=width)
    s.unroll(ii)
    s.unroll(jv)
    s.vectorize(jl)
    if (size := extent(i)) is not None and size % rows:
        s.pragma(io, "loop_partition_hint")
    if _is_cut(found):
        s.pragma(jo, "loop_partition_hint")
    tile.compute_at(s, io)
    *outer_, i_, j_ = found.tile.op.axis
    v_, l_ = tile.split(j_, factor=width)
    tile.reorder(*found.tile.op.reduce_axis, *outer_, i_, v_, l_)
    tile.unroll(i_)
    tile.unroll(v_)
    tile.vectorize(l_)
    panels = _panels_of(found)
    if panels is not None:
        stage = found.schedule[panels]
        stage.compute_at(s, jo)
        stage.vectorize(panels.axis[-1])
        s.parallel(jo) if shared else parallel(s, [*outer, jo])
    else:
        parallel(s, [jo, *outer, io] if shared else [*outer, jo, io])


def _is_cut(found: Group) -> bool:
    """Return whether less is read than whole vectors, as no more is computed then."""
    return any(isinstance(stage.op, ComputeOp) and stage.op.name == "product_cut" for stage in found.schedule.stages)


def _panels_of(found: Group) -> Any:
    for stage in found.schedule.stages:
        if isinstance(stage.op, ComputeOp) and stage.op.tag == "panels":
            return stage.op
    return None


def _dots(found: Group) -> None:
    """Vectors of partial sums for a few rows and columns; how they are added up is part of the last step."""
    s, tile = found.schedule[found.last], found.schedule[found.tile]
    *outer, i, j = found.last.op.axis
    io, ii = s.split(i, factor=divisor(extent(i), 4))
    jo, ji = s.split(j, factor=4)
    s.reorder(*outer, jo, io, ii, ji)
    s.unroll(ii)
    s.unroll(ji)
    tile.compute_at(s, io)
    *outer_, i_, j_, l_ = found.tile.op.axis
    tile.reorder(*found.tile.op.reduce_axis, *outer_, i_, j_, l_)
    tile.unroll(i_)
    tile.unroll(j_)
    tile.vectorize(l_)
    if (size := extent(j)) is not None and size % 4:
        s.pragma(jo, "loop_partition_hint")
    parallel(s, [*outer, jo])


def _plain(found: Group) -> None:
    s, tile = found.schedule[found.last], found.schedule[found.tile]
    axes = found.last.op.axis
    tile.compute_at(s, axes[-1])
    parallel(s, list(axes))
