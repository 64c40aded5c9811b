"""CPU schedule of Strassen's products: those of a few columns are made, then added up in registers."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir import dtype as dt
from compiler.target.target import Target
from compiler.te import Schedule, Stage, Tensor
from compiler.topi.operands import constant, dims
from compiler.topi.schedules.anchor import find_anchor, tiled_group
from compiler.topi.schedules.choice import choose
from compiler.topi.schedules.kit import accumulators, divisor, divisors, extent, fetch, parallel, tile_lanes
from compiler.topi.tag import Tag

_PRODUCTS_BYTES = 3 << 17
"""Of what is added up later, which is to stay in the second cache."""
_PANELS = 6
_ROWS = 16


def schedule_strassen(attrs: object, outputs: Sequence[Tensor], target: Target) -> Schedule:
    """Return the schedule of a group around a product by :mod:`compiler.topi.nn.strassen`; ``attrs`` are not read."""
    anchor = find_anchor(outputs, (Tag.MATMUL_STRASSEN,), "schedule_strassen")
    (products,) = anchor.input_tensors
    sums, weight = products.op.input_tensors
    group = tiled_group(outputs, anchor, (Tag.STAGED,), may_be_cut=False)
    s = group.schedule
    count, rows, columns = (extent(axis) or 1 for axis in products.op.axis)
    width = constant(dims(weight)[-1], "schedule_strassen")
    parts = (extent(anchor.axis[-2]) or 1) // rows
    available = accumulators(target) // max(width // tile_lanes(target, products.dtype), 1)
    panels, high = _tile(columns // width, rows, available)
    panels = choose("tile_panels", panels, divisors(columns // width, _PANELS))
    high = choose("tile_rows", high, divisors(rows, _ROWS))
    most = _PRODUCTS_BYTES // (count * panels * high * width * dt.storage_bytes(products.dtype))
    block = choose("block_rows", divisor(rows // high, max(most, 1)), divisors(rows // high, rows))
    result, tile, multiplied = s[group.result], s[group.tile], s[products]
    in_registers = s[s.cache_write(products, "local")]
    *outer, i, j = group.result.op.axis
    jo, ji = result.split(j, factor=parts * panels * width)
    jv, jl = result.split(ji, factor=width)
    io, ii = result.split(i, factor=parts * block * high)
    ig, iq = result.split(ii, factor=parts)
    result.reorder(*outer, jo, io, ig, iq, jv, jl)
    result.unroll(iq)
    result.unroll(jv)
    result.vectorize(jl)
    tile.compute_at(result, jv)
    tile.vectorize(group.tile.op.axis[-1])
    multiplied.compute_at(result, io)
    _multiply(multiplied, in_registers, high, panels * width, width)
    fetch(in_registers, weight, in_registers.op.reduce_axis[-1], target)
    _add_quarters(s[sums], width)
    parallel(result, [*outer, jo])
    return s


def _tile(panels: int, rows: int, most: int) -> tuple[int, int]:
    """Return how many panels and rows the tile covers that has most sums in registers, and most rows."""
    sizes = [(c, r) for c in divisors(panels, _PANELS) for r in divisors(rows, _ROWS) if c * r <= max(most, 1)]
    return max(sizes, key=lambda size: (size[0] * size[1], size[1]))


def _multiply(stage: Stage, tile: Stage, rows: int, columns: int, width: int) -> None:
    p, i, j = stage.op.axis
    jo, ji = stage.split(j, factor=columns)
    jv, jl = stage.split(ji, factor=width)
    io, ii = stage.split(i, factor=rows)
    stage.reorder(p, jo, io, ii, jv, jl)
    stage.unroll(ii)
    stage.unroll(jv)
    stage.vectorize(jl)
    tile.compute_at(stage, io)
    tile_p, tile_i, tile_j = tile.op.axis
    tile_v, tile_l = tile.split(tile_j, factor=width)
    tile.reorder(*tile.op.reduce_axis, tile_p, tile_i, tile_v, tile_l)
    tile.unroll(tile_i)
    tile.unroll(tile_v)
    tile.vectorize(tile_l)


def _add_quarters(stage: Stage, width: int) -> None:
    p, i, k = stage.op.axis
    ko, kl = stage.split(k, factor=width)
    stage.reorder(i, ko, p, kl)
    stage.unroll(p)
    stage.vectorize(kl)
    stage.parallel(i)
