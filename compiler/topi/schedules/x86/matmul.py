"""CPU schedules of matrix products: a tile of C stays in registers while k runs.

References
----------
Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34(3), 2008: panels that stay in
the second cache, tiles that stay in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd, prod

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import IntImm, IterVar
from compiler.target.target import Target
from compiler.te import ComputeOp, PlaceholderOp, Schedule, Stage, Tensor
from compiler.topi.compute import PanelProduct
from compiler.topi.nn.matmul import FEW_ROWS
from compiler.topi.schedules.anchor import Group, find_anchor, partial_sums_group, tiled_group
from compiler.topi.schedules.choice import choose
from compiler.topi.schedules.kit import (
    SOME_CORES,
    accumulators,
    divisor,
    divisors,
    even_tile,
    extent,
    fetch,
    is_worth_parallel,
    parallel,
    partition_partial_tile,
    tile_lanes,
    tile_registers,
)
from compiler.topi.schedules.tiles import in_tiles, multiplies_matrices, multiplies_tiles, tile_shape
from compiler.topi.tag import Tag

_MANY_ACCUMULATORS = 16
"""More than so many leave room for several vectors of each row."""
_PANEL_COUNTS = (4, 3, 6, 5, 2, 1)
"""Panels that a tile covers, of equal costs the best first."""
_PANELS_OF_ROWS = 4
"""Panels that the rows of a tile are multiplied with, at most, before those of the next tile are."""
_PANELS_OF_A_ROW, _MAX_TILE_ROWS, _USUAL_ROWS = 8, 14, 96
"""Panels that a single row is multiplied with at once; rows of a tile at most; rows where nothing says how many."""
_LINE, _FIRST_CACHE = 64, 1 << 15
"""Bytes of a line, and that first caches have."""
_SECOND_CACHE = 3 << 16
"""Bytes that any second cache has room for, beside what they are multiplied with."""
_MATRIX_ROWS, _MATRIX_COLUMNS = 6, 16
"""Of sums in 24 of AArch64's 32 registers."""
_MATRIX_GROUPS = (2, 4)
_BYTES_AHEAD = 3072
"""What of a panel is read while one of its lines comes from the third cache, about."""
_FAR, _LARGE = 1 << 20, 1 << 22
"""Bytes of a weight that the second cache has no room for, and of one that in a model comes from memory."""
_FEW_TILES = 8
"""Tiles across results that leave cores without work unless the rows are distributed, too; all panels come first then,
which takes longer on a single core where they leave its second cache."""
_PERIOD, _MANY_ROWS = 1 << 17, 128
"""Bytes between lines of the same set of a second cache, and rows for which a far weight is always copied."""
_PANELS_AT_ONCE, _ROWS_AT_ONCE = 64, 8
"""What of a large weight is read side by side."""
_MAX_TUNED_ROWS = 16
_DOT_TILE = 4
_LONG_EPILOGUE = 6
"""Steps of a group from which on those after the product are computed for a row of a tile at once: the vectors of a row
do not wait for each other, and the code of all rows would not fit into the instruction cache."""


def schedule_matmul(attrs: object, outputs: Sequence[Tensor], target: Target) -> Schedule:
    """Return the schedule of a group around a product of matrices; ``attrs`` are not read."""
    anchor = find_anchor(outputs, _RULES, "schedule_matmul")
    return _RULES[Tag(anchor.tag)](outputs, anchor, target)


def _panels(outputs: Sequence[Tensor], anchor: ComputeOp, target: Target) -> Schedule:
    """Panels outside, since they stay in the second cache, unless all of them do; then tiles of rows."""
    product = PanelProduct.of(anchor)
    stored = (Tag.PANELS, Tag.PANELS_IN_PLACE) if _is_copied(anchor, product, target) else (Tag.PANELS,)
    group = tiled_group(outputs, anchor, stored, may_be_cut=True)
    if (columns := _columns_at_once(group, product)) is not None:
        return _row_by_row(group, product, columns, target)
    s, tile = group.schedule[group.result], group.schedule[group.tile]
    *outer, i, j = group.result.op.axis
    by_matrices = product.width == _MATRIX_COLUMNS and multiplies_matrices(anchor, target)
    is_tiled = by_matrices or multiplies_tiles(anchor, target)
    if by_matrices:
        rows, count = even_tile(extent(i) or _MATRIX_ROWS, _MATRIX_ROWS), 1
    elif is_tiled:
        rows, count = tile_shape(extent(i) or 1, 1 if product.is_cut else _panel_count(group, product))
    else:
        count, rows = _panel_tile(group, product, target)
    count = choose("tile_panels", count, divisors(_panel_count(group, product), max(_PANEL_COUNTS)))
    rows = _choose_rows(anchor, -2, rows, _MAX_TUNED_ROWS)
    jo, ji = s.split(j, factor=count * product.width)
    io, ii = s.split(i, factor=rows)
    panels = next((op for op in group.computations if op.tag in stored), None)
    by_rows = panels is None and product.is_shared and _is_tall(anchor)
    across = list[IterVar]()
    if not (is_tiled or by_rows) and (together := _tiles_together(group, product, count)) > 1:
        jo, jt = s.split(jo, factor=together)
        across = [jt]
    order = [*outer, io, jo] if by_rows else [jo, *outer, io] if product.is_shared else [*outer, jo, io]
    s.reorder(*order, *across, ii, ji)
    if len(group.computations) > _LONG_EPILOGUE and not product.is_cut:
        s.vectorize(ji)
    else:
        jv, jl = s.split(ji, factor=product.width)
        if not is_tiled:  # sums in tile registers are stored first, sums in others must have numbers
            s.unroll(ii)
            s.unroll(jv)
        s.vectorize(jl)
    partition_partial_tile(s, i, io, rows)
    if product.is_cut:
        s.pragma(jo, "loop_partition_hint")
    tile.compute_at(s, [*order, *across][-1])
    *tile_outer, tile_i, tile_j = group.tile.op.axis
    tile_v, tile_l = tile.split(tile_j, factor=product.width)
    if is_tiled:
        if by_matrices:
            in_tiles(tile, tile_i, tile_l, _MATRIX_GROUPS)
        else:
            in_tiles(tile, tile_i, tile_l)
    else:
        tile.reorder(*group.tile.op.reduce_axis, *tile_outer, tile_i, tile_v, tile_l)
        tile.unroll(tile_i)
        tile.unroll(tile_v)
        tile.vectorize(tile_l)
    is_worth = is_worth_parallel(anchor, tile_lanes(target, group.tile.dtype))
    if panels is None:
        if not (is_tiled or by_rows):
            _fetch_ahead(tile, target)
        if is_worth:
            parallel(s, order)
        return group.schedule
    stage = group.schedule[panels]
    *copied, lane = panels.axis
    if panels.tag == Tag.PANELS_IN_PLACE:
        copied[-2:] = copied[-1], copied[-2]  # along the rows of the weight
        stage.reorder(*copied)
    stage.vectorize(lane)
    sizes = [extent(axis) for axis in (*outer, j)]
    if is_worth and None not in sizes and prod(size or 1 for size in sizes) < _FEW_TILES * count * product.width:
        parallel(stage, copied)
        parallel(s, order)
        return group.schedule
    stage.compute_at(s, jo)
    if not is_tiled and _bytes_read([j, *anchor.reduce_axis], anchor) > _FAR:
        fetch(tile, panels.input_tensors[-1], tile.op.reduce_axis[-1], target)
    if is_worth:
        parallel(s, [jo] if product.is_shared else [*outer, jo])
    return group.schedule


def _is_copied(anchor: ComputeOp, product: PanelProduct, target: Target) -> bool:
    """Return whether panels are copied that could be read where they are.

    That pays for the rows of many tiles if a tile reads a single line of each row of a weight that leaves the first
    cache, or if the second cache does not keep what it reads.  Lines that are a multiple of ``_PERIOD`` apart share its
    ways, so that columns of wide rows fill a small part of it.
    """
    rows, columns, depth = (extent(axis) for axis in (*anchor.axis[-2:], anchor.reduce_axis[-1]))
    if rows is None or columns is None or depth is None or rows < FEW_ROWS:
        return False
    element = dt.storage_bytes(anchor.input_tensors[-1].dtype)
    row, part = columns * element, _counts_across(columns // product.width, target)[0] * product.width * element
    kept = _FAR * min(part / gcd(row, _PERIOD), 1)
    is_by_lines = part <= _LINE and depth * row > _FIRST_CACHE
    return row > part and (is_by_lines or depth * part > kept or (depth * row > _FAR and rows >= _MANY_ROWS))


def _columns_at_once(group: Group, product: PanelProduct) -> int | None:
    """Return how many columns of a large weight, read where it is, a product of one row passes over at once."""
    *_, i, j = group.result.op.axis
    packed = [op for op in group.computations if op.tag == Tag.PANELS]
    is_in_place = not isinstance(group.anchor.input_tensors[-1].op, PlaceholderOp) and not packed
    size = _bytes_read([j, *group.anchor.reduce_axis], group.anchor)
    columns = divisor(_panel_count(group, product), _PANELS_AT_ONCE) * product.width
    is_wide = 2 * columns > _PANELS_AT_ONCE * product.width
    return columns if is_in_place and extent(i) == 1 and size > _LARGE and is_wide and not product.is_cut else None


def _bytes_read(axes: Sequence[IterVar], anchor: ComputeOp) -> int:
    """Return the bytes of a weight that loops pass over; 0 where an extent is unknown."""
    return prod(extent(axis) or 0 for axis in axes) * dt.storage_bytes(anchor.output(0).dtype)


def _row_by_row(group: Group, product: PanelProduct, columns: int, target: Target) -> Schedule:
    """Add some rows of the weight after others to sums in the first cache: each of them is read along its pages."""
    s, tile = group.schedule[group.result], group.schedule[group.tile]
    *outer, i, j = group.result.op.axis
    jo, ji = s.split(j, factor=columns)
    s.reorder(*outer, i, jo, ji)
    s.vectorize(s.split(ji, factor=product.width)[1])
    tile.compute_at(s, jo)
    *tile_outer, tile_i, tile_j = group.tile.op.axis
    tile_v, tile_l = tile.split(tile_j, factor=product.width)
    *more, k = group.tile.op.reduce_axis
    ko, ki = tile.split(k, factor=divisor(extent(k), _ROWS_AT_ONCE))
    tile.reorder(*tile_outer, tile_i, *more, ko, tile_v, ki, tile_l)
    tile.unroll(ki)
    tile.vectorize(tile_l)
    parallel(s, [*outer, i, jo])
    return group.schedule


def _is_tall(anchor: ComputeOp) -> bool:
    """Return whether a product has more rows than columns, and a weight that stays in the second cache."""
    rows, columns = (extent(axis) for axis in anchor.axis[-2:])
    depth = prod(extent(axis) or _SECOND_CACHE for axis in anchor.reduce_axis)
    size = depth * dt.storage_bytes(anchor.output(0).dtype) * (columns or _SECOND_CACHE)
    return rows is not None and columns is not None and rows >= columns and size <= _SECOND_CACHE


def _fetch_ahead(tile: Stage, target: Target) -> None:
    """Ask for the weight some steps before it is multiplied, and meanwhile for what is multiplied next."""
    weight, k = tile.op.input_tensors[-1], tile.op.reduce_axis[-1]
    row = prod(d.value for d in weight.shape[2:] if isinstance(d, IntImm)) * dt.storage_bytes(weight.dtype)
    if row > 0:
        fetch(tile, weight, k, target, max(_BYTES_AHEAD // row, 1))
    fetch(tile, weight, k, target)


def _panel_tile(group: Group, product: PanelProduct, target: Target) -> tuple[int, int]:
    """Return how many panels, and how many rows, a tile covers."""
    available = accumulators(target)
    registers = max(product.width // tile_lanes(target, group.tile.dtype), 1)
    total, rows = _panel_count(group, product), extent(group.result.op.axis[-2]) or _USUAL_ROWS
    if rows == 1:  # what counts is that there is a part for every core
        return divisor(total, min(available // registers, _PANELS_OF_A_ROW, max(total // SOME_CORES, 1))), 1
    # Four of many registers are left for a row of the panel.
    most = available - 4 if available > _MANY_ACCUMULATORS else available
    tiles = [
        (count, height)
        for count in _counts_across(total, target)
        for height in range(max(min(most // (count * registers), _MAX_TILE_ROWS, rows), 1), 0, -1)
        if height == 1 or (height + 1) * count * registers < tile_registers(target)  # with a row of the weight
    ]
    return min(tiles, key=lambda tile: _steps(rows, tile[1], tile[0] * registers) / tile[0])


def _tiles_together(group: Group, product: PanelProduct, count: int) -> int:
    """Return how many tiles of ``count`` panels the same rows are multiplied with, one after another.

    Rows come from far away less often then, and the lines that are copied into panels stand side by side.  The panels
    stay in the second cache, and there is still work for some cores.
    """
    total = _panel_count(group, product) // count
    size = _bytes_read(group.anchor.reduce_axis, group.anchor) * product.width * count
    if product.is_cut or size == 0:
        return 1
    parts = total if product.is_shared else total * prod(extent(axis) or 1 for axis in group.result.op.axis[:-2])
    return divisor(total, max(min(_PANELS_OF_ROWS // count, parts // SOME_CORES, _SECOND_CACHE // size), 1))


def _steps(rows: int, height: int, vectors: int) -> int:
    """Return the cost of all tiles of some rows by some vectors, for one product of each element, in instructions.

    Each product and each element of the data is one, each vector of the weight two: it comes from the second cache.
    """
    tiles = ((rows // height, height), (rows % height > 0, rows % height))
    return sum(count * (tile * vectors + tile + 2 * vectors) for count, tile in tiles)


def _counts_across(total: int, target: Target) -> list[int]:
    """Return how many of the panels of a result a tile of several rows may cover, of equal costs the best first."""
    counts = _PANEL_COUNTS if accumulators(target) > _MANY_ACCUMULATORS else (1,)
    return [count for count in counts if total % count == 0]


def _panel_count(group: Group, product: PanelProduct) -> int:
    """Return how many panels the result covers."""
    return -(-(extent(group.result.op.axis[-1]) or product.width) // product.width)


def _choose_rows(anchor: ComputeOp, axis: int, usual: int, most: int) -> int:
    """Return how many rows of the result a tile has; which axis of the anchor they are is given."""
    return choose("tile_rows", usual, range(1, min(extent(anchor.axis[axis]) or most, most) + 1))


def _partial_sums(outputs: Sequence[Tensor], anchor: ComputeOp, target: Target) -> Schedule:
    """Vectors of partial sums for a few rows and columns; how they are added up is part of the last step."""
    group = partial_sums_group(outputs, anchor)
    s, tile = group.schedule[group.result], group.schedule[group.tile]
    *outer, i, j = group.result.op.axis
    rows = _choose_rows(anchor, -3, divisor(extent(i), _DOT_TILE), 2 * _DOT_TILE)
    # Sums take half of the registers: rows and columns are vectors too, and more sums than that are spilled.
    vectors = max((extent(anchor.axis[-1]) or 1) // tile_lanes(target, group.tile.dtype), 1)
    usual = max(min(tile_registers(target) // 2 // (rows * vectors), _DOT_TILE), 1)
    if extent(i) == 1 and _bytes_read([*anchor.axis[-2:], *anchor.reduce_axis], anchor) > _FAR:
        usual = 1  # column after column, the weight is read from its beginning to its end
    columns = choose("tile_columns", usual, range(1, 2 * _DOT_TILE + 1))
    io, ii = s.split(i, factor=rows)
    jo, ji = s.split(j, factor=columns)
    s.reorder(*outer, jo, io, ii, ji)
    s.unroll(ii)
    s.unroll(ji)
    tile.compute_at(s, io)
    *tile_outer, tile_i, tile_j, lanes = anchor.axis
    tile.reorder(*anchor.reduce_axis, *tile_outer, tile_i, tile_j, lanes)
    tile.unroll(tile_i)
    tile.unroll(tile_j)
    tile.vectorize(lanes)
    partition_partial_tile(s, i, io, rows)
    partition_partial_tile(s, j, jo, columns)
    if is_worth_parallel(anchor, tile_lanes(target, group.tile.dtype)):
        parallel(s, [*outer, jo])
    return group.schedule


def _plain(outputs: Sequence[Tensor], anchor: ComputeOp, target: Target) -> Schedule:
    group = tiled_group(outputs, anchor, (), may_be_cut=False)
    s, tile = group.schedule[group.result], group.schedule[group.tile]
    axes = group.result.op.axis
    tile.compute_at(s, axes[-1])
    parallel(s, axes)
    return group.schedule


_RULES: dict[Tag, Callable[[Sequence[Tensor], ComputeOp, Target], Schedule]] = {
    Tag.MATMUL_PANELS: _panels,
    Tag.MATMUL_PARTIAL_SUMS: _partial_sums,
    Tag.MATMUL: _plain,
}
