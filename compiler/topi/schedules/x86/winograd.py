"""CPU schedule of Winograd convolutions: the tiles' transforms, products in register tiles, the transforms back.

Between the three the values at the points of all tiles are in memory, of as many images as caches hold; a transform
along one dimension stays in registers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import IterVar
from compiler.target.target import Target
from compiler.te import Schedule, Stage, Tensor
from compiler.topi.nn.convolution.winograd_packed import TILE
from compiler.topi.nn.product_sums import NARROW
from compiler.topi.schedules.anchor import Group, find_anchor, tiled_group
from compiler.topi.schedules.choice import choose
from compiler.topi.schedules.kit import accumulators, divisor, divisors, extent, fetch, parallel, partition_partial_tile
from compiler.topi.schedules.x86.conv import MAX_TUNED_BLOCKS, packed_tile, vectorize_block
from compiler.topi.tag import Tag

_BETWEEN = 1 << 24
"""Bytes between the steps of several images: through memory, each takes two to three times as long."""


def schedule_winograd(attrs: object, outputs: Sequence[Tensor], target: Target) -> Schedule:
    """Return the schedule of a group around a Winograd convolution; ``attrs`` are not read."""
    anchor = find_anchor(outputs, (Tag.CONV_WINOGRAD,), "schedule_winograd")
    (back,) = anchor.input_tensors
    (products,) = back.op.input_tensors
    points = products.op.input_tensors[0]
    (columns,) = points.op.input_tensors
    group = tiled_group(outputs, anchor, (Tag.PAD, Tag.WINOGRAD_STEP), may_be_cut=True)
    s = group.schedule
    stages = [s[tensor] for tensor in (back, products, points, columns, *columns.op.input_tensors)]
    batch = extent(group.result.op.axis[0]) or 1
    images = divisor(batch, max(_BETWEEN * batch // (_bytes(points) + _bytes(products)), 1))
    _multiply(s, stages[1], products, (extent(products.op.axis[3]) or 1) // batch * images, target)
    _transform_data(stages[2], stages[3], stages[4], target)
    result = s[group.result]
    image = group.result.op.axis[0]
    if images < batch:
        some, image = result.split(image, factor=images)
        for stage in stages[1:3]:
            stage.compute_at(result, some)
    _transform_back(group, image, stages[0], target)
    return s


def _bytes(tensor: Tensor) -> int:
    return math.prod(extent(axis) or 1 for axis in tensor.op.axis) * dt.storage_bytes(tensor.dtype)


def _transform_data(points: Stage, columns: Stage, padded: Stage, target: Target) -> None:
    p, q, c, t, i = points.op.axis
    row, x = points.split(t, factor=extent(columns.op.axis[3]) or 1)
    points.reorder(c, row, x, p, q, i)
    rows = points.fuse(c, row)
    points.unroll(q)
    vectorize_block(points, i, target)
    points.parallel(rows)
    _keep_beside(columns, points, x, target)
    if padded.op.tag == Tag.PAD:
        padded.compute_at(points, rows)
        vectorize_block(padded, padded.op.axis[-1], target)


def _multiply(s: Schedule, stage: Stage, products: Tensor, tiles: int, target: Target) -> None:
    """The tile is of blocks of output channels and of ``tiles`` of images, as :mod:`.conv` has it of columns."""
    tile = s[s.cache_write(products, "local")]
    p, q, o, t, b = stage.op.axis
    total = extent(o) or 1
    blocks, columns = packed_tile(total, extent(b) or 1, tiles, target, products.op.input_tensors[0].dtype in NARROW)
    blocks = choose("tile_blocks", blocks, divisors(total, MAX_TUNED_BLOCKS))
    columns = choose("tile_columns", columns, range(1, min(tiles, 2 * accumulators(target)) + 1))
    oo, oi = stage.split(o, factor=blocks)
    to, ti = stage.split(t, factor=columns)
    stage.reorder(p, q, oo, to, oi, ti, b)
    partition_partial_tile(stage, t, to, columns, of=tiles)
    stage.unroll(oi)
    stage.unroll(ti)
    vectorize_block(stage, b, target)
    tile.compute_at(stage, to)
    *outer, tile_o, tile_t, tile_b = tile.op.axis
    tile.reorder(*tile.op.reduce_axis, *outer, tile_o, tile_t, tile_b)
    for each in tile.op.input_tensors:
        fetch(tile, each, tile.op.reduce_axis[-1], target)
    tile.unroll(tile_o)
    tile.unroll(tile_t)
    vectorize_block(tile, tile_b, target)
    parallel(stage, [p, q, oo])


def _transform_back(group: Group, image: IterVar, back: Stage, target: Target) -> None:
    result, tile = group.schedule[group.result], group.schedule[group.tile]
    _, c, h, w, b = group.result.op.axis
    ho, hi = result.split(h, factor=TILE)
    wo, wi = result.split(w, factor=TILE)
    result.reorder(image, c, ho, wo, hi, wi, b)
    partition_partial_tile(result, h, ho, TILE)
    partition_partial_tile(result, w, wo, TILE)
    result.unroll(wi)
    vectorize_block(result, b, target)
    _keep_beside(tile, result, hi, target)
    _keep_beside(back, result, wo, target)
    parallel(result, [image, c, ho])


def _keep_beside(stage: Stage, reader: Stage, axis: IterVar, target: Target) -> None:
    """Compute vectors where they are read; one loop is unrolled, in which one of the sums is what each iteration is."""
    stage.set_scope("local")
    stage.compute_at(reader, axis)
    *outer, chosen, other, block = stage.op.axis
    stage.reorder(*outer, other, chosen, block)
    stage.unroll(chosen)
    vectorize_block(stage, block, target)
