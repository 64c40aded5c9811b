"""CPU schedules of convolutions: an output tile stays in registers during the reduction.

With channels in blocks, or last, a vector is of output channels, and the tile several columns of a row, of several
blocks: one vector of weights for each block meets one broadcast element of the data for each column.  With columns
last, a vector is of columns, and the tile several output channels.

References
----------
Liu et al., "Optimizing CNN Model Inference on CPUs", USENIX ATC 2019: channels in blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import IntImm, IterVar, is_const_int
from compiler.target.target import Target
from compiler.te import Schedule, Stage, Tensor
from compiler.topi.compute import RowVectors
from compiler.topi.nn.product_sums import NARROW, TILE_ROWS
from compiler.topi.schedules.anchor import Group, find_anchor, tiled_group
from compiler.topi.schedules.choice import choose
from compiler.topi.schedules.kit import (
    MAX_CORES,
    MIN_LANES,
    MIN_PARALLEL_WORK,
    accumulators,
    divisor,
    divisors,
    even_tile,
    extent,
    fetch,
    is_worth_parallel,
    parallel,
    partition_partial_tile,
    tile_for_cores,
    tile_lanes,
    tile_registers,
    vectorize_elements,
)
from compiler.topi.schedules.tiles import in_tiles, multiplies_tiles, tile_shape
from compiler.topi.tag import Tag

_STORED = (Tag.PAD, Tag.DILATE)
_MAX_ROW_CHANNELS = 16
_MAX_TAPS = 32
"""Elements of a row of a window that are unrolled: code for more would not stay in the instruction cache."""
_MIN_ACCUMULATORS = 10
"""Sums that keep two multiply-adds a cycle busy, each of which takes four or five cycles."""
_MANY_REGISTERS = 32
_MAX_BLOCKS = 4
"""Blocks of a packed tile: with three columns, that many fill 16 registers with 12 sums."""
_MAX_BLOCKS_OF_MANY_REGISTERS = 3
"""The same where a tile has seven columns or more: loads are then few enough, and fewer tiles read the weights."""
_MAX_BLOCKS_OF_PAIRS = 2
"""The same where 16 registers hold sums of pairs of products, see :func:`packed_tile`."""
_MAX_SHORT, _SHORT_SUMS, _PLAIN = 16, 6, 6
"""Steps of a short reduction, and the sums of its tile, see :func:`_is_short`; axes of a kernel without groups."""
MAX_TUNED_BLOCKS = 8
_MAX_TILES = 32
"""Tiles of some rows with some output channels whose sums stay in the first cache."""
_WEIGHT_BYTES = 1 << 15
"""Weights that do not stay in a first cache beside what they are multiplied with."""
_STRIP_BYTES = 1 << 16
"""A strip of a padded image that stays in any second cache until each of its rows has been read several times."""
_SUMS_FOR_CORES, _STRIPS_FOR_CORES = 16, 32
"""Cores for which an image's rows are divided: each part reads the weights once more, where they are large, while a
smaller strip of a padded image stays in a nearer cache."""
_MIN_STEPS = 64
"""Steps of the parts of a reduction that is cut, for which sums are loaded and stored once."""


def schedule_conv(attrs: object, outputs: Sequence[Tensor], target: Target) -> Schedule:
    """Return the schedule of a group around a convolution; ``attrs`` are not read."""
    anchor = find_anchor(outputs, _RULES, "schedule_conv")
    group = tiled_group(outputs, anchor, _STORED, may_be_cut=True)
    _RULES[Tag(anchor.tag)](group, target)
    for op in group.computations:
        if op.tag in _STORED and group.schedule[op].attach_ivar is None:
            vectorize_elements(group.schedule[op], tile_lanes(target, op.output(0).dtype))
    return group.schedule


def _packed(group: Group, target: Target) -> None:
    """Vectors are the last axis; the tile is of blocks and columns."""
    s, tile = group.schedule[group.result], group.schedule[group.tile]
    n, c, h, w, b = group.result.op.axis
    total = _blocks_of_a_group(group)
    is_tiled = multiplies_tiles(group.anchor, target) and _fills_rows(group)
    if is_tiled:
        columns, blocks = tile_shape(extent(w) or 1, total, max((extent(b) or 1) // TILE_ROWS, 1))
    elif _is_short(group, target):
        blocks = divisor(total, 2)
        columns = min(extent(w) or 1, _SHORT_SUMS // blocks)
    else:
        blocks, columns = packed_tile(total, extent(b) or 1, extent(w) or 1, target, _adds_pairs(group))
    blocks = choose("tile_blocks", blocks, divisors(total, MAX_TUNED_BLOCKS))
    columns = _choose_columns(group, columns, target)
    co, ci = s.split(c, factor=blocks)
    wo, wi = s.split(w, factor=columns)
    s.reorder(n, co, h, wo, ci, wi, b)
    partition_partial_tile(s, w, wo, columns)
    if not is_tiled:  # sums in tile registers are stored first, sums in others must have numbers
        s.unroll(ci)
        s.unroll(wi)
    vectorize_block(s, b, target)
    if not is_tiled and (rows := _rows_of_sums(group, blocks, columns)):
        ho, _ = s.split(h, factor=rows)
        tile.compute_at(s, ho)
        _reduce_outside(tile, columns, target)
        _on_cores(group, [n, co, ho], target)
        return
    tile.compute_at(s, wo)
    tile_n, tile_c, tile_h, tile_w, tile_b = tile.op.axis
    if is_tiled:
        in_tiles(tile, tile_w, tile.split(tile_b, factor=divisor(extent(tile_b), TILE_ROWS))[1])
    else:
        tile.reorder(*tile.op.reduce_axis, tile_n, tile_c, tile_h, tile_w, tile_b)
        tile.unroll(tile_c)
        tile.unroll(tile_w)
        vectorize_block(tile, tile_b, target)
    _on_cores(group, [n, co, h], target)


def _on_cores(group: Group, axes: Sequence[IterVar], target: Target) -> IterVar | None:
    """Run the outermost loops of the result on several cores where its sums, or the steps after them, are worth it."""
    has_many_sums = is_worth_parallel(group.anchor, tile_lanes(target, group.tile.dtype))
    is_worth = has_many_sums or _iterations(group.result.op.axis) >= MIN_PARALLEL_WORK
    return parallel(group.schedule[group.result], axes) if is_worth else None


def vectorize_block(stage: Stage, block: IterVar, target: Target) -> None:
    """Compute the channels of a block in vectors, the last of which may be shorter."""
    lanes, size = tile_lanes(target), extent(block) or 1
    if size > lanes and size % lanes:
        vectors, block = stage.split(block, factor=lanes)
        stage.unroll(vectors)
    stage.vectorize(block)


def _fills_rows(group: Group) -> bool:
    """Return whether the channels of a block fill half of a row of a tile register; vectors of bytes are as fast."""
    is_half = 2 * (extent(group.anchor.reduce_axis[-1]) or 1) >= TILE_ROWS
    return is_half or not _adds_pairs(group)


def _rows_of_sums(group: Group, blocks: int, columns: int) -> int:
    """Return of how many rows of the result sums are kept while the channels of the data are passed over in parts.

    It is 0 where the weights of a tile stay in the first cache.  Otherwise a tile that passed over all of them would
    wait for them, and for the data, whose channels are so far apart that nothing fetches them ahead.
    """
    _, _, h, w, b = (extent(axis) for axis in group.anchor.axis)
    reduced = [extent(axis) for axis in group.anchor.reduce_axis]
    if h is None or w is None or b is None or None in reduced or _adds_pairs(group):
        return 0
    tiles = -(-w // columns)
    weights = math.prod(e or 1 for e in reduced) * blocks * b * dt.storage_bytes(group.anchor.input_tensors[1].dtype)
    if h * tiles <= 1 or weights < _WEIGHT_BYTES:
        return 0
    around = _iterations(group.anchor.axis[:2]) // blocks
    return tile_for_cores(h, max(_MAX_TILES // tiles, 1), around, _SUMS_FOR_CORES)


def _reduce_outside(tile: Stage, columns: int, target: Target) -> None:
    """Add what some input channels contribute to all tiles of some output channels, then what the next ones do.

    Sums are kept in the first cache, and in registers while one tile of them is computed.
    """
    channels, height, width, inner = tile.op.reduce_axis
    taps = math.prod(extent(axis) or 1 for axis in (height, width, inner))
    many, few = tile.split(channels, factor=divisor(extent(channels), max(_MIN_STEPS // taps, 1)))
    n, c, h, w, b = tile.op.axis
    wo, wi = tile.split(w, factor=columns)
    tile.reorder(many, n, h, wo, few, height, width, inner, c, wi, b)
    partition_partial_tile(tile, w, wo, columns)
    fetch(tile, tile.op.input_tensors[1], inner, target)
    tile.unroll(c)
    tile.unroll(wi)
    vectorize_block(tile, b, target)


def _blocks_of_a_group(group: Group) -> int | None:
    """Return how many blocks of output channels read the same data."""
    data, kernel = group.anchor.input_tensors
    sizes = [size.value for size in (data.shape[1], *kernel.shape[:2]) if isinstance(size, IntImm)]
    if len(sizes) < 3:
        return None
    channels, blocks, inputs = sizes
    return blocks // (channels // inputs)


def _adds_pairs(group: Group) -> bool:
    """Return whether each step multiplies two pairs of narrow integers and adds both products."""
    return group.anchor.input_tensors[1].dtype in NARROW


def _is_short(group: Group, target: Target) -> bool:
    """Return whether a reduction has few steps, each an instruction that adds four products to each of 16 sums.

    What is done with the sums then takes as long as the reduction, and processors do it while they begin the next tile
    if tiles are small.
    """
    steps = math.prod(extent(axis) or _MAX_SHORT + 1 for axis in group.anchor.reduce_axis)
    kernel = group.anchor.input_tensors[1]
    in_fours = len(kernel.shape) > _PLAIN and is_const_int(kernel.shape[-1], 4) and _adds_pairs(group)
    return in_fours and steps <= _MAX_SHORT and tile_registers(target) >= _MANY_REGISTERS


def packed_tile(blocks: int | None, block: int, width: int, target: Target, adds_pairs: bool) -> tuple[int, int]:
    """Return how many blocks and columns of a row a tile has.

    Each block loads a vector of weights and each column broadcasts an element of the data; their products are as many
    multiply-adds.  LLVM keeps the elements of all columns in registers while it passes over the weights, so a tile
    takes ``blocks * columns + columns + 1`` of them.  Pairs of products take one more before they are added, unless the
    target has VNNI; such sums wait a cycle for each other, not four or five, so that fewer of them will do.
    """
    registers = tile_registers(target)
    if (vectors := -(-block // tile_lanes(target))) > 1:
        return 1, even_tile(width, max((registers - 1) // (vectors + 1), 1))
    if registers >= _MANY_REGISTERS:
        most = _MAX_BLOCKS_OF_MANY_REGISTERS
    elif adds_pairs:
        most, registers = _MAX_BLOCKS_OF_PAIRS, registers - 1
    else:
        most = _MAX_BLOCKS
    rows = divisor(blocks, max(most, -(-_MIN_ACCUMULATORS // width)))
    if rows == 1 and width < _MIN_ACCUMULATORS:
        rows = divisor(blocks, MAX_TUNED_BLOCKS)
    if rows == 1:
        return 1, even_tile(width, accumulators(target))
    limit = max((registers - 1) // (rows + 1), 1)
    columns = even_tile(width, limit)
    return rows, columns if rows * columns >= _MIN_ACCUMULATORS else min(width, limit)


def _packed_depthwise(group: Group, target: Target) -> None:
    """Nothing is broadcast: with the window unrolled, a vector of the data serves several columns.

    An image is padded by strips: its rows are read so few times that loading them again would take longer.
    """
    s, tile = group.schedule[group.result], group.schedule[group.tile]
    n, c, h, w, b = group.result.op.axis
    lanes, size = tile_lanes(target), extent(b) or 1
    share = 2 if size <= lanes else 3  # addresses in a block of several vectors leave LLVM less room
    columns = _choose_columns(group, even_tile(extent(w) or 1, accumulators(target) // share), target)
    if size % lanes and size % (lanes // 2) == 0:
        lanes //= 2  # none of these vectors crosses a line of the cache
    wo, wi = s.split(w, factor=columns)
    rows = _rows_of_a_strip(group)
    ho, hi = s.split(h, factor=rows)
    bo, bi = s.split(b, factor=min(size, lanes))
    s.reorder(n, c, ho, hi, wo, bo, wi, bi)
    partition_partial_tile(s, h, ho, rows)
    partition_partial_tile(s, w, wo, columns)
    partition_partial_tile(s, b, bo, min(size, lanes))
    s.unroll(wi)
    s.vectorize(bi)
    tile.compute_at(s, bo)
    window_h, window_w = tile.op.reduce_axis
    tile_n, tile_c, tile_h, tile_w, tile_b = tile.op.axis
    tile.reorder(window_h, window_w, tile_n, tile_c, tile_h, tile_w, tile_b)
    if choose("unroll_window", 1, (0,)):
        tile.unroll(window_w)
    tile.unroll(tile_w)
    tile.vectorize(tile_b)
    loop = _on_cores(group, [n, c, ho], target)
    for op in group.computations:
        if op.tag == Tag.PAD:
            group.schedule[op].compute_at(s, ho if loop is None or ho in s.leaf_iter_vars else loop)
            vectorize_block(group.schedule[op], op.axis[-1], target)


def _rows_of_a_strip(group: Group) -> int:
    """Return how many rows of the result are computed from one strip of the padded image."""
    data = group.anchor.input_tensors[0]
    row = math.prod(d.value for d in data.shape[3:] if isinstance(d, IntImm)) * dt.bits(data.dtype) // 8
    *around, h = group.result.op.axis[:3]
    return tile_for_cores(extent(h) or 1, max(_STRIP_BYTES // row, 1), _iterations(around), _STRIPS_FOR_CORES)


def _iterations(axes: Sequence[IterVar]) -> int:
    """Return how often loops run, one of unknown extent as often as there are cores."""
    return math.prod(extent(axis) or MAX_CORES for axis in axes)


def _choose_columns(group: Group, usual: int, target: Target) -> int:
    """Return how many columns of a row a tile has, whose vectors are of channels."""
    width = extent(group.anchor.axis[-2]) or 1
    return choose("tile_columns", usual, range(1, min(width, 2 * accumulators(target)) + 1))


def _rows(group: Group, target: Target) -> None:
    """Vectors are of columns; the tile is of output channels of one group."""
    op, rows = group.tile.op, RowVectors.of(group.anchor)
    s, tile = group.schedule[group.result], group.schedule[group.tile]
    n, c, *middle, w = group.result.op.axis
    channels = extent(c)
    group_channels = None if channels is None else channels // rows.groups
    registers = max(rows.vector // tile_lanes(target, group.tile.dtype), 1)
    limit = min(accumulators(target) // registers, _MAX_ROW_CHANNELS)
    block = even_tile(channels, limit) if channels and rows.groups == 1 else divisor(group_channels, limit)
    block = choose("tile_channels", block, divisors(group_channels, _MAX_ROW_CHANNELS))
    co, ci = s.split(c, factor=block)
    wo, wi = s.split(w, factor=rows.vector)
    s.reorder(n, co, *middle, wo, ci, wi)
    partition_partial_tile(s, c, co, block)
    # Even where rows are a multiple of a vector, no more of them is computed than is read.
    s.pragma(wo, "loop_partition_hint")
    s.unroll(ci)
    s.vectorize(wi)
    tile.compute_at(s, wo)
    tile_n, tile_c, *tile_middle, tile_w = op.axis
    *reduced, taps = op.reduce_axis
    if reduced and extent(reduced[0]) == 1:
        # One input channel a group: neighbouring taps of the window read much of the same.
        many, few = tile.split(taps, factor=divisor(extent(taps), _MAX_TAPS))
        tile.reorder(*reduced, many, few, tile_n, tile_c, *tile_middle, tile_w)
        tile.unroll(few)
    else:
        tile.reorder(*reduced, taps, tile_n, tile_c, *tile_middle, tile_w)
    tile.unroll(tile_c)
    tile.vectorize(tile_w)
    # What computes no more of a row than there is of it must be a loop of its own.
    _on_cores(group, [n, co, *middle] if (extent(w) or 1) % rows.vector else [n, co, *middle, wo], target)


def _channels_last(group: Group, target: Target) -> None:
    """Vectors are of output channels where these are the last axis; any other layout gets plain loops."""
    s, tile = group.schedule[group.result], group.schedule[group.tile]
    *outer, w, c = group.result.op.axis
    lanes = tile_lanes(target)
    columns = _choose_columns(group, even_tile(extent(w) or 1, accumulators(target) // 2), target)
    block = divisor(extent(c), lanes)
    co, ci = s.split(c, factor=block if block >= MIN_LANES else lanes)
    wo, wi = s.split(w, factor=columns)
    s.reorder(*outer, co, wo, wi, ci)
    partition_partial_tile(s, w, wo, columns)
    s.unroll(wi)
    s.vectorize(ci)
    tile.compute_at(s, wo)
    channel, *window = tile.op.reduce_axis
    *tile_outer, tile_w, tile_c = tile.op.axis
    tile.reorder(*window, channel, *tile_outer, tile_w, tile_c)
    tile.unroll(tile_w)
    tile.vectorize(tile_c)
    _on_cores(group, [*outer, co], target)


_RULES: dict[Tag, Callable[[Group, Target], None]] = {
    Tag.CONV_PACKED: _packed,
    Tag.CONV_PACKED_DEPTHWISE: _packed_depthwise,
    Tag.CONV_ROWS: _rows,
    Tag.CONV_ROWS_DEPTHWISE: _rows,
    Tag.CONV: _channels_last,
    Tag.CONV_TRANSPOSE: _channels_last,
}
