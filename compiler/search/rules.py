"""The rules that derive a schedule, as a table: what each is for, which blocks it is for, and what it does to them.

A schedule is derived by the rules one after another, each over the blocks from the last to the first, so that a block
comes after those that read it.  What is undecided is picked (:mod:`compiler.search.choices`).  A product of two
matrices, tiled for registers and caches, with its second operand packed and a following sum on single elements::

    for i, j: for k: C[i, j] += A[i, k] * B[j, k]          for j.0, i.0:                                 parallel
    for i, j: D[i, j] = C[i, j] + bias[j]            →         for i.1, j.1:
                                                                   for k.0: for i.2, j.2: for k.1:
                                                                       for i.3 (unrolled), j.3 (vector):
                                                                           C[…] += A[…] * packed[j / 32, k, j % 32]
                                                                   for …: D[…] = C[…] + bias[…]

A primitive that is refused makes the whole candidate one that is refused, before anything is compiled.

References
----------
L. Zheng et al., "Ansor: Generating High-Performance Tensor Programs for Deep Learning", OSDI 2020.
J. Shao et al., "Tensor Program Optimization with Probabilistic Programs", NeurIPS 2022.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import product
from typing import NamedTuple, TypeVar

from compiler.arith import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.expr.coercion import is_const_int
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Var
from compiler.ir.expr.substitute import free_vars, uses_var
from compiler.search.blocks import BlockFacts, block_facts, blocks_of, divisors, movements, value_at
from compiler.search.choices import Picker
from compiler.search.machine import Machine
from compiler.tir.schedule.analysis import is_output_block
from compiler.tir.schedule.error import ScheduleError
from compiler.tir.schedule.primitives.strassen import halves
from compiler.tir.schedule.primitives.winograd import is_winograd_possible
from compiler.tir.schedule.random_variables import BlockRV, LoopRV
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.statements.block import BlockRealize
from compiler.tir.statements.buffer import BufferStore
from compiler.tir.statements.stmt import ForKind
from compiler.tir.transform.loops.loop_partition import HINT
from compiler.tir.transform.loops.reduce_in_pairs import PAIRWISE

Option = TypeVar("Option")
_MAX_VECTORS = 4
"""Vector registers side by side in a tile."""
_LEAST_QUARTER = 256
"""Rows, columns and sums of quarters that are worth Strassen's sums."""
_LIKELY = 4
"""How many times as often as all others those options are drawn that are likely to be fast."""
_FILLED = 0.8
"""The share of a cache that what is read again and again may fill."""
_PARTIAL = (2, 4, 6, 8, 12, 14)
"""Rows of tiles that need not divide all rows, where registers have room for more than those that do."""
_MAX_UNROLLED = 256
"""Vector instructions in the innermost loops that are written out: more take long to compile."""


class Quarters(NamedTuple):
    """The blocks around products of quarters: the sums of both matrices, and the result."""

    sums: list[BlockRV]
    result: BlockRV


@dataclass
class Derivation:
    """A schedule on its way."""

    sch: Schedule
    picker: Picker
    machine: Machine
    tiled: set[str] = field(default_factory=set)
    """Blocks whose loops are as they will be."""
    begins: dict[str, LoopRV] = field(default_factory=dict)
    """Before which loop a tiled reduction begins."""
    placed: set[str] = field(default_factory=set)
    """Blocks that have their place."""
    quartered: dict[str, Quarters] = field(default_factory=dict)
    """Products of quarters, with the blocks before and after them."""
    partial: set[str] = field(default_factory=set)
    """Blocks that hold the parts of a reduction, a vector of them innermost."""
    summed: set[str] = field(default_factory=set)
    """Blocks that sum up parts."""
    abreast: dict[str, LoopRV] = field(default_factory=dict)
    """Blocks that compute vectors of several rows side by side, and their loops over these rows."""

    def copied(self, picker: Picker) -> Derivation:
        """Return one that goes on from here by other choices."""
        made = replace(self, sch=self.sch.copy(), picker=picker)
        for each in fields(made):
            value = getattr(made, each.name)
            if isinstance(value, (set, dict)):
                setattr(made, each.name, value.copy())
        return made

    def pick(self, name: str, options: Sequence[object]) -> object:
        """Return one of several options."""
        return self.picker.pick(name, options)

    def choose(self, name: str, sizes: Sequence[int]) -> int:
        """Return one of several sizes."""
        return int(self.picker.pick(name, sizes))

    def name(self, rv: BlockRV) -> str:
        """Return what a block is called."""
        return self.sch.get_sref(rv).block.name_hint

    def kind(self, loop: LoopRV) -> ForKind:
        """Return the kind of a loop."""
        return self.sch.get_sref(loop).loop.kind

    def extent(self, loop: LoopRV) -> int | None:
        """Return how many iterations a loop has, None where that is no constant."""
        extent = self.sch.get_sref(loop).loop.extent
        return extent.value if isinstance(extent, IntImm) else None


class Rule(NamedTuple):
    """A row: what a rule is called, what it is for, and what it does to a block that it is for."""

    name: str
    purpose: str
    apply: Callable[[Derivation, BlockRV], None]
    is_of_scopes: bool = False
    """Whether it is also for blocks that contain others, which come before these."""
    is_early: bool = False
    """Whether it comes first, and there are few ways: what was picked before is not done again."""


def derive(derivation: Derivation, rules: Sequence[Rule]) -> None:
    """Apply rules to a schedule.

    Raises TVMError where a primitive is refused.
    """
    for rule in rules:
        for rv in reversed(blocks_of(derivation.sch, rule.is_of_scopes)):
            if getattr(derivation.sch.meaning(rv), "stmt", None) is not None:  # not inlined meanwhile
                rule.apply(derivation, rv)


# inlining


def _fold(d: Derivation, rv: BlockRV) -> None:
    if _is_folded(d, rv):
        d.sch.compute_inline(rv)


def _inline(d: Derivation, rv: BlockRV) -> None:
    if _is_folded(d, rv) or (_may_be_inlined(d, rv) and d.pick(f"{d.name(rv)}.inline", (True, True, False))):
        d.sch.compute_inline(rv)


def _is_folded(d: Derivation, rv: BlockRV) -> bool:
    """Return whether it is a constant that is read, or what a single block reads that is no reduction."""
    consumers = d.sch.get_consumers(rv)
    if block_facts(d.sch, rv) is None:
        return bool(consumers) and not d.sch.get_loops(rv)
    is_read_once = len(consumers) == 1 and "R" not in getattr(block_facts(d.sch, consumers[0]), "kinds", "R")
    return is_read_once and _may_be_inlined(d, rv)


def _may_be_inlined(d: Derivation, rv: BlockRV) -> bool:
    facts, consumers = block_facts(d.sch, rv), d.sch.get_consumers(rv)
    if facts is None or "R" in facts.kinds or not consumers or is_output_block(d.sch, rv):
        return False
    own = facts.block.writes[0].buffer
    read = [region for c in consumers for region in d.sch.get_sref(c).block.reads if region.buffer is own]
    # what is read several elements at a time was laid out for instructions that take neighbours
    return isinstance(facts.block.body, BufferStore) and all(
        is_const_int(dim.extent, 1) for region in read for dim in region.region
    )


# other algorithms


def _winograd(d: Derivation, rv: BlockRV) -> None:
    """Let a convolution be one of fewer products; its steps stay where they are."""
    block = d.sch.get_sref(rv).block
    if not is_winograd_possible(block) or not d.sch.get_loops(rv):
        return
    tile = d.choose(f"{block.name_hint}.winograd", (0, 0, 4, 4, 2))
    if tile:
        before = {d.name(each) for each in blocks_of(d.sch)}
        d.sch.winograd(rv, tile)
        d.placed |= {d.name(each) for each in blocks_of(d.sch)} - before


def _strassen(d: Derivation, rv: BlockRV) -> None:
    """Let a product of matrices be one of seven products of quarters."""
    quarter = halves(d.sch.get_sref(rv).block)
    if quarter is None or min(quarter) < _LEAST_QUARTER:
        return
    if d.pick(f"{d.name(rv)}.strassen", (False, False, True)):
        d.sch.strassen(rv)
        around = Quarters(d.sch.get_producers(rv), d.sch.get_consumers(rv)[0])
        d.quartered[d.name(rv)] = around
        d.placed |= {d.name(each) for each in (*around.sums, around.result)}


# reductions


def reduction(*known: str) -> Rule:
    """Return the row of reductions, by some of the ways ``tiles`` and ``parts``."""
    purpose = "a reduction is tiled for registers and caches, or summed up in parts for vectors"
    return Rule("reduce", purpose, partial(_reduce, known))


def _reduce(known: Sequence[str], d: Derivation, rv: BlockRV) -> None:
    facts = block_facts(d.sch, rv)
    if facts is None or not facts.is_sum:
        return
    inner = _contiguous_reduction(facts)
    ways = ["plain"]
    if inner is not None and "parts" in known and _numbers_of_parts(d, facts, inner):
        ways.append("parts")
    is_across = inner is None and any(abs(read[i]) == 1 for read in facts.reads for i in facts.axes("S"))
    is_wide = any(facts.extents[i] > 1 for i in facts.axes("S"))
    uses = facts.uses or [1]
    if (max(uses) > 1 or is_across) and is_wide and "tiles" in known:
        often = min(max(min(uses), _LIKELY), 4 * _LIKELY)  # for elements that are used so often parts rarely pay
        ways = ["tiles"] if d.name(rv) in d.quartered else ["tiles"] * often + ways[1:]
    way = d.pick(f"{d.name(rv)}.way", ways)
    if way == "tiles":
        _tile(d, facts)
    elif way == "parts" and inner is not None:
        _in_parts(d, facts, inner)


def _contiguous_reduction(facts: BlockFacts) -> int | None:
    """Return the reduced axis along which neighbours in memory are summed up."""
    return next((i for i in reversed(facts.axes("R")) if any(abs(read[i]) == 1 for read in facts.reads)), None)


def _in_parts(d: Derivation, facts: BlockFacts, axis: int) -> None:
    """Sum up as many parts as vectors have lanes, then these: ``rfactor``."""
    name = d.name(facts.rv)
    width = d.choose(f"{name}.parts", _numbers_of_parts(d, facts, axis))
    others = [loop for i, loop in enumerate(facts.loops) if i != axis]
    outer, inner = d.sch.split(facts.loops[axis], factors=[None, width])
    d.sch.reorder(*others, outer, inner)
    made = d.sch.rfactor(inner, len(facts.axes("S")))
    d.partial.add(d.name(made))
    d.summed.add(name)


def _numbers_of_parts(d: Derivation, facts: BlockFacts, axis: int) -> list[int]:
    extent, lanes = facts.extents[axis], d.machine.lanes(facts.dtype)
    whole = [n for n in (lanes, 2 * lanes, 4 * lanes, 8 * lanes, lanes // 2) if n > 1 and not extent % n]
    return whole or [n for n in divisors(extent, 8 * lanes)[-1:] if n > 1]


class _Group(NamedTuple):
    """Products that an instruction adds at once."""

    axis: int
    """Which axis is reduced in groups of them."""
    size: int


class _Tiles(NamedTuple):
    """The loops of a tiled reduction, without those of one iteration."""

    rows: list[list[LoopRV]]
    """Those of the spatial axes at each of four levels, from outside; the innermost has one of each axis."""
    sums: list[list[LoopRV]]
    """Those of the reduced axes at each of two levels, and the loop over products that are added at once."""
    vector: int
    """Which of the spatial axes is the vectors'."""
    width: int
    """The elements of a tile along it."""


def _tile(d: Derivation, facts: BlockFacts) -> None:
    name, sch = d.name(facts.rv), d.sch
    epilogue = _epilogue(d, facts)
    group = _group(d, facts)
    tiles = _split(d, facts, group)
    reads = _packed(d, facts, tiles, group)
    is_last, is_whole = tiles.vector == len(facts.axes("S")) - 1, not tiles.sums[0]
    store = epilogue
    may_be_direct = is_last and is_whole and name not in d.quartered
    if store is None and not (may_be_direct and d.pick(f"{name}.direct", (True, False))):
        store = sch.cache_write(facts.rv, 0, "global")
    if not is_last and _is_plain_write(facts):
        _turn_accumulators(d, facts, tiles)
    blocks, panels, rows, registers = tiles.rows
    registers = [*registers[: tiles.vector], *registers[tiles.vector + 1 :], registers[tiles.vector]]
    if len(blocks) > 1 and d.pick(f"{name}.turned", (False, True)):
        blocks.reverse()
    inner = [*tiles.sums[0], *rows, *tiles.sums[1], *registers]
    sch.reorder(*blocks, *panels, *inner, *tiles.sums[2])
    outside = [*blocks, *panels]
    tiles_of = (blocks, outside, [*outside, *rows] if is_whole else [])
    places = list(dict.fromkeys(loops[-1] for loops in tiles_of if loops))
    if places and store is not None:
        sch.reverse_compute_at(store, places[d.choose(f"{name}.written_at", range(len(places)))])
    for read in reads if outside else ():
        where = d.choose(f"{d.name(read)}.at", (-1, 0, 1))
        if where >= 0:
            sch.compute_at(read, (places[0], [*outside, *tiles.sums[0]][-1])[where])
    if outside and store is not None and name in d.quartered:
        d.placed.add(d.name(store))
        if blocks:
            _near_products(d, facts, blocks)
    for loop in registers[:-1]:
        sch.unroll(loop)
    sch.vectorize(registers[-1])
    for loop in tiles.sums[2]:
        sch.unroll(loop)
    vectors = math.prod(d.extent(loop) or 1 for loop in registers) // d.machine.lanes(facts.dtype)
    depth = d.extent(tiles.sums[1][-1]) if tiles.sums[1] else None
    if depth and depth * vectors <= _MAX_UNROLLED and d.pick(f"{name}.unroll", (False, True)):
        sch.unroll(tiles.sums[1][-1])
    d.begins[name] = (tiles.sums[1] if is_whole and tiles.sums[1] else inner)[0]
    d.tiled.add(name)
    d.placed |= {name, *map(d.name, reads)}


def _near_products(d: Derivation, facts: BlockFacts, blocks: Sequence[LoopRV]) -> None:
    """Let products of quarters be added up block by block, and the sums that a row of blocks shares be made for it."""
    around, realize = d.quartered[d.name(facts.rv)], d.sch.state.realize_of(d.sch.get_sref(facts.rv))
    d.sch.reverse_compute_at(around.result, blocks[-1])
    row = d.sch.get_sref(blocks[0]).loop.loop_var
    axes = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    moved = next(axis.var for axis, value in axes if uses_var(value, row))
    for sums in around.sums:
        made = d.sch.get_sref(sums).block.writes[0].buffer
        read = next(region for region in realize.block.reads if region.buffer is made)
        if any(uses_var(dim.min, moved) for dim in read.region) and d.pick(f"{d.name(sums)}.near", (False, True)):
            d.sch.compute_at(sums, blocks[0])


def _epilogue(d: Derivation, facts: BlockFacts) -> BlockRV | None:
    """Return the only consumer, if it reads the result element by element: it is computed tile by tile."""
    consumers = d.sch.get_consumers(facts.rv)
    if len(consumers) != 1:
        return None
    after = block_facts(d.sch, consumers[0])
    size = math.prod(facts.extents[i] for i in facts.axes("S"))
    if after is None or "R" in after.kinds or math.prod(after.extents) != size:
        return None
    own = facts.block.writes[0].buffer
    read = [r for r, region in zip(after.reads, after.block.reads, strict=True) if region.buffer is own]
    return consumers[0] if len(read) == 1 and read[0] == after.writes[0] else None


def _group(d: Derivation, facts: BlockFacts) -> _Group | None:
    """Return how products of narrow integers are added in groups; None if no instruction does that.

    The elements of a group are neighbours in memory of one operand; the other one is packed so.
    """
    own, axis = facts.block.writes[0].buffer, _contiguous_reduction(facts)
    factors = [region.buffer.dtype for region in facts.block.reads if region.buffer is not own]
    if axis is None or len(factors) != 2 or facts.dtype != "int32":
        return None
    size = d.machine.products(factors[0], factors[1])
    return _Group(axis, size) if size > 1 and facts.extents[axis] % size == 0 else None


def _split(d: Derivation, facts: BlockFacts, group: _Group | None) -> _Tiles:
    """Split all axes: the inner tile fits the registers, what is read for a tile is likely to fit the caches."""
    name, spatial, reduced = d.name(facts.rv), facts.axes("S"), facts.axes("R")
    products, axes = (0, [len(spatial) - 1]) if name in d.quartered else (None, _vector_axes(facts))
    vector = d.choose(f"{name}.vector", axes)
    inner = _register_tile(d, facts, vector, products)
    panel, block = (int(size * _FILLED) * 8 // dt.bits(facts.dtype) for size in (d.machine.caches * 2)[:2])
    others = math.prod(inner.values()) // inner[vector]
    depths, rooms = dict[int, int](), (panel // inner[vector], panel // others)
    for at in reversed(range(len(reduced))):
        at_once = group.size if group and group.axis == reduced[at] else 1
        sizes = [at_once * size for size in divisors(facts.extents[reduced[at]] // at_once)]
        deepest = {size for room in rooms for size in _largest(sizes, room)}
        depths[at] = d.choose(f"{name}.r{at}.inner", _weighed(sizes, deepest))
        rooms = (rooms[0] // depths[at], rooms[1] // depths[at])
    depth = math.prod(depths.values())
    # What is as deep as the first cache holds stays there: vectors, and tiles of the others are read one after another
    # from the second cache; or a tile, and vectors are.
    streamed = {vector} if depth * inner[vector] > panel else {at for at in range(len(spatial)) if at != vector}
    outer, room = dict[int, tuple[int, int]](), block // (depth * (inner[vector] if vector in streamed else others))
    for at in reversed(range(len(spatial))):
        count = -(-facts.extents[spatial[at]] // inner[at])
        likely = _largest(divisors(count), room if at in streamed else 1)
        pairs = [(a, b) for a, b in product(divisors(count), repeat=2) if not count % (a * b)]
        weighed = _weighed(pairs, [pair for pair in pairs if pair[1] in likely])
        outer[at] = (count, 1) if at == products else d.picker.pick(f"{name}.{at}.outer", weighed)
        room //= outer[at][1] if at in streamed else 1
    rows: list[list[LoopRV]] = [[], [], [], []]
    sums: list[list[LoopRV]] = [[], [], []]
    for at, axis in enumerate(spatial):
        blocks = -(-facts.extents[axis] // inner[at]) // math.prod(outer[at])
        _levels(d, facts.loops[axis], [blocks, *outer[at], inner[at]], rows)
    for at, axis in enumerate(reduced):
        deep = [depths[at] // group.size, group.size] if group and group.axis == axis else [depths[at]]
        _levels(d, facts.loops[axis], [facts.extents[axis] // depths[at], *deep], sums)
    return _Tiles(rows, sums, vector, inner[vector])


def _register_tile(d: Derivation, facts: BlockFacts, vector: int, products: int | None) -> dict[int, int]:
    """Return the size of the innermost tile along each spatial axis, 1 for products of quarters."""
    name, lanes, spatial = d.name(facts.rv), d.machine.lanes(facts.dtype), facts.axes("S")
    widths = _widths(facts, spatial[vector], lanes)
    wide = [width for width in widths if width > lanes] or widths  # by one vector more is loaded than multiplied
    inner = {vector: d.choose(f"{name}.{vector}.inner", _weighed(widths, wide))}
    vectors = max(-(-inner[vector] // lanes), 1)
    left = max((d.machine.registers - 1 - vectors) // vectors, 1)  # others hold the vectors read, and what they go with
    for at in reversed(range(len(spatial))):
        if at == products:
            inner[at] = 1
        elif at != vector:
            sizes = divisors(facts.extents[spatial[at]], left)
            most = min(left, facts.extents[spatial[at]])
            sizes += [s for s in _PARTIAL if max(sizes) < s <= most]  # the last tile is partial
            inner[at] = d.choose(f"{name}.{at}.inner", _weighed(sizes, _largest(sizes, left)))
            left //= inner[at]
    return inner


def _weighed(options: Sequence[Option], likely: Collection[Option]) -> list[Option]:
    """Return options, the likely ones so often that most draws are of them."""
    others = [option for option in options if option not in likely]
    return [*others, *[option for option in options if option in likely] * max(_LIKELY * len(others) // len(likely), 1)]


def _largest(sizes: Sequence[int], room: int) -> list[int]:
    """Return the largest size that fits and those down to half of it; the smallest if none does."""
    most = max((size for size in sizes if size <= room), default=min(sizes))
    return [size for size in sizes if most < 2 * size <= 2 * most]


def _levels(d: Derivation, loop: LoopRV, sizes: Sequence[int], levels: list[list[LoopRV]]) -> None:
    """Split a loop and put the loops into their levels, those of one iteration only into the innermost one."""
    kept = [at for at, size in enumerate(sizes) if size > 1 or at == len(sizes) - 1]
    made = [loop] if len(kept) == 1 else d.sch.split(loop, factors=[None, *(sizes[at] for at in kept[1:])])
    for at, part in zip(kept, made, strict=True):
        levels[at].append(part)


def _vector_axes(facts: BlockFacts) -> list[int]:
    """Return the spatial axes that vectors may run along, those several times for which the least is moved.

    Not if there are others: those along which elements are far apart, of what cannot be packed.
    """
    spatial = facts.axes("S")
    wide = [at for at, axis in enumerate(spatial) if facts.extents[axis] > 1]
    near = [a for a in wide if not any(_is_gathered(facts, read, spatial[a]) for read in range(len(facts.reads)))]
    moved = [_moved(facts, spatial[at]) for at in near]
    least = [at for at, count in zip(near, moved, strict=True) if count == min(moved)]
    return _weighed(near, least) if near else wide or [len(spatial) - 1]


def _moved(facts: BlockFacts, axis: int) -> int:
    """Return how many elements are moved so that those of vectors along an axis are neighbours."""
    accesses = zip([*facts.block.reads, *facts.block.writes], [*facts.reads, *facts.writes], strict=True)
    far = [region.buffer.shape for region, move in accesses if abs(move[axis]) > 1]
    return sum(math.prod(value_at(dim, {}) for dim in shape) for shape in far)


def _is_gathered(facts: BlockFacts, read: int, axis: int) -> bool:
    """Return whether vectors along an axis take elements of an operand from here and there, even after packing."""
    last = facts.block.reads[read].region[-1].extent
    together = last.value if isinstance(last, IntImm) else 1
    return abs(facts.reads[read][axis]) > together and _index_of(facts, read, axis) is None


def _index_of(facts: BlockFacts, read: int, axis: int) -> int | None:
    """Return which index of an operand is an axis; None unless it can be packed: if all indices are axes, each once."""
    region, analyzer = facts.block.reads[read], Analyzer()
    dims = [analyzer.simplify(r.min) for r in region.region]  # an operand that was packed, inlined, is not any more
    axes = {iter_var.var for iter_var in facts.block.iter_vars}
    if region.buffer is facts.block.writes[0].buffer or len(set(dims)) < len(dims) or not set(dims) <= axes:
        return None
    return next((at for at, index in enumerate(dims) if index is facts.block.iter_vars[axis].var), None)


def _widths(facts: BlockFacts, axis: int, lanes: int) -> list[int]:
    """Return widths of tiles along the vectors' axis: whole vectors where that is possible, neighbours in memory."""
    extent = facts.extents[axis]
    wide = [w for n in (1, 2, 3, _MAX_VECTORS) if not extent % (w := n * lanes)]
    if wide:
        return [w for w in wide if w == lanes or facts.is_contiguous(axis, w)]
    dividing = [w for w in divisors(extent, _MAX_VECTORS * lanes) if w > lanes // 4] or [1]
    return dividing + ([lanes] if extent > lanes else [])


def _is_plain_write(facts: BlockFacts) -> bool:
    """Return whether the result is indexed by the spatial axes, each once and in order."""
    axes = [facts.block.iter_vars[i].var for i in facts.axes("S")]
    return [r.min for r in facts.block.writes[0].region] == axes


def _turn_accumulators(d: Derivation, facts: BlockFacts, tiles: _Tiles) -> None:
    """Store the sums of a tile so that those of a vector are neighbours."""
    at = tiles.vector

    def turned(*indices: Var) -> list[Var]:
        return [*indices[:at], *indices[at + 1 :], indices[at]]

    d.sch.transform_layout(facts.rv, ("write", 0), _mapping(len(facts.axes("S")), turned))


def _mapping(rank: int, function: Callable[..., Sequence[PrimExpr]]) -> Callable[..., Sequence[PrimExpr]]:
    """Return a function of ``rank`` named parameters, as index maps are read from."""
    names = ", ".join(f"i{n}" for n in range(rank))
    made: Callable[..., Sequence[PrimExpr]] = eval(f"lambda {names}: f({names})", {"f": function})
    return made


def _packed(d: Derivation, facts: BlockFacts, tiles: _Tiles, group: _Group | None) -> list[BlockRV]:
    """Copy operands so that what a vector reads are neighbours, tile after tile."""
    axis, name = facts.axes("S")[tiles.vector], d.name(facts.rv)
    made: list[BlockRV] = []
    for at, read in enumerate(facts.reads):
        place = _index_of(facts, at, axis)
        if place is None or facts.extents[axis] % tiles.width:
            continue
        is_made = name in d.quartered  # sums are made in whatever order
        grouped = _index_of(facts, at, group.axis) if group else None
        ways = (True,) if is_made or abs(read[axis]) != 1 else (False, False, True)  # vectors of others are slow
        if d.pick(f"{name}.pack{at}", ways if grouped is None else (True,)):
            copy = None if is_made else d.sch.cache_read(facts.rv, at, "global")
            groups = _Group(grouped, group.size) if group and grouped is not None else None
            packing = _mapping(len(facts.block.reads[at].region), partial(_pack, place, tiles.width, groups))
            d.sch.transform_layout(facts.rv, ("read", at), packing)
            made += [copy] if copy else []
    return made


def _pack(place: int, width: int, group: _Group | None, *indices: PrimExpr) -> list[PrimExpr]:
    """Return where an element is: panels of ``width`` along an index, and groups along another one innermost."""
    at, others, innermost = indices[place], [*indices], list[PrimExpr]()
    if group is not None:
        others[group.axis] = indices[group.axis] // group.size
        innermost = [indices[group.axis] % group.size]
    return [at // width, *others[:place], *others[place + 1 :], at % width, *innermost]


# places and loops of what is not tiled


def _group_rows(d: Derivation, rv: BlockRV) -> None:
    """Let rows that read sums of rows go a few at a time: sums of several do not wait for one another.

    Vectors of these rows may be computed side by side, so that what is the same for all is loaded once.
    """
    name, loops = d.name(rv), d.sch.get_loops(rv)
    if name in d.tiled or True in are_reduced(d, rv, loops):
        return
    if not any(d.name(producer) in d.summed for producer in d.sch.get_producers(rv)):
        return
    row = next((loop for loop in loops[:-1] if d.extent(loop) != 1), None)
    sizes = [s for s in (1, 2, 4, 8) if row and not (d.extent(row) or 1) % s]
    if row and (size := d.choose(f"{name}.rows", sizes)) > 1:
        _, together = d.sch.split(row, factors=[None, size])
        if d.pick(f"{name}.abreast", (False, True)):
            d.abreast[name] = together


def _locate(d: Derivation, rv: BlockRV) -> None:
    consumers = d.sch.get_consumers(rv)
    if d.name(rv) in d.placed or not consumers or not d.sch.get_loops(rv):
        return
    if d.sch.get_sref(d.sch.get_loops(rv)[0]).parent is not d.sch.get_sref(d.sch.get_block("root")):
        return
    nests = [[d.sch.get_sref(loop) for loop in d.sch.get_loops(consumer)] for consumer in consumers]
    if d.sch.get_sref(d.sch.get_loops(rv)[0]) in nests[0]:
        return
    shared = 0
    while all(len(nest) > shared and nest[shared] is nests[0][shared] for nest in nests):
        shared += 1
    for consumer in consumers:
        if (rows := _rows_abreast(d, d.name(consumer), d.sch.get_loops(consumer))) is not None:
            shared = min(shared, rows)
        reduced = are_reduced(d, consumer, d.sch.get_loops(consumer))
        if d.name(consumer) in d.summed and True in reduced:  # a part alone is no vector
            shared = min(shared, reduced.index(True))
        if d.name(consumer) in d.partial:  # whose loops are still to be put in order
            parts = len(reduced) - 1 - reduced[::-1].index(False)
            shared = min(shared, parts, reduced.index(True) if True in reduced else parts)
    loops = d.sch.get_loops(consumers[0])[:shared]
    around = [i for i, loop in enumerate(loops) if d.kind(loop) is ForKind.SERIAL]
    where = d.choose(f"{d.name(rv)}.at", [-1, *around, *around])
    if where >= 0:
        d.sch.compute_at(rv, loops[where])
        if d.name(rv) in d.summed:
            _sum_row_by_row(d, rv, where + 1)


def _sum_row_by_row(d: Derivation, rv: BlockRV, depth: int) -> None:
    """Let parts be summed up innermost; ``depth`` loops are of others, too."""
    own = d.sch.get_loops(rv)[depth:]
    reduced = are_reduced(d, rv, own)
    ordered = sorted(own, key=lambda loop: reduced[own.index(loop)])
    if ordered != list(own):
        d.sch.reorder(*ordered)


def _order(d: Derivation, rv: BlockRV) -> None:
    """Let a reduction in parts go along the parts innermost."""
    name = d.name(rv)
    if name not in d.partial:
        return
    loops, realize = d.sch.get_loops(rv), d.sch.state.realize_of(d.sch.get_sref(rv))
    reduced = are_reduced(d, rv, loops)
    sums = [loop for loop, is_reduced in zip(loops, reduced, strict=True) if is_reduced]
    last = realize.block.writes[0].region[-1].min
    (near,) = [v for a, v in zip(realize.block.iter_vars, realize.iter_values, strict=True) if a.var is last]
    at = next(i for i, loop in enumerate(loops) if uses_var(near, d.sch.get_sref(loop).loop.loop_var))
    rows = [loop for loop, is_reduced in zip(loops[at + 1 :], reduced[at + 1 :], strict=True) if not is_reduced]
    if sums:
        d.sch.reorder(*rows, *sums, loops[at])
        d.begins[name] = sums[0]


def _follow(d: Derivation, rv: BlockRV) -> None:
    """Let a sum in parts add the elements of its operand up as they are made, vector by vector."""
    name, producers = d.name(rv), d.sch.get_producers(rv)
    if name not in d.partial or len(producers) != 1 or d.name(producers[0]) in {*d.partial, *d.tiled, *d.abreast}:
        return
    loops, parts = d.sch.get_loops(producers[0]), d.extent(d.sch.get_loops(rv)[-1])
    if not are_reduced(d, producers[0], loops)[-1] and d.pick(f"{name}.follows", (False, True)):
        d.begins[name], _ = d.sch.split(loops[-1], factors=[None, parts])
        d.sch.reverse_compute_at(rv, d.begins[name])


def _begin(d: Derivation, rv: BlockRV) -> None:
    """Let a reduction begin outside its loops, which no other primitive takes apart then, and sum up parts in pairs."""
    name = d.name(rv)
    if name in d.summed:
        loops = d.sch.get_loops(rv)
        d.sch.annotate(loops[-1], PAIRWISE, 1)
        d.begins[name] = loops[are_reduced(d, rv, loops).index(True)]
    if name in d.begins:
        d.sch.decompose_reduction(rv, d.begins[name])


def _by_quarters(d: Derivation, rv: BlockRV) -> None:
    """Let vectors of all quarters of the result be added up from the same products."""
    if d.name(rv) in {d.name(each.result) for each in d.quartered.values()}:
        *_, last, row, column = d.sch.get_loops(rv)
        d.sch.reorder(row, column, last)
        d.sch.unroll(row)
        d.sch.unroll(column)


def _turn(d: Derivation, rv: BlockRV) -> None:
    """Let what reads along another axis than it writes go over squares, whose rows are loaded and turned in registers.

    ::

        for i, j: packed[i / 16, j, i % 16] = A[i, j]   →   for j.0, i.0: for j.1: for i.1 (vector): packed[…] = A[…]
    """
    name, loops, block = d.name(rv), _own_loops(d, rv), d.sch.get_sref(rv).block
    extents = [d.extent(loop) or 0 for loop in loops]
    if name in {*d.tiled, *d.abreast} or not block.writes or not all(extents) or True in are_reduced(d, rv, loops):
        return
    lanes = d.machine.lanes(block.writes[0].buffer.dtype)
    reads, writes = movements(d.sch, rv, loops)
    vector = next((at for at, move in enumerate(writes[0]) if abs(move) == 1), len(loops) - 1)
    near = [a for move in reads for a in range(len(loops)) if 0 < abs(move[a]) <= lanes < abs(move[vector])]
    sizes = [n for n in divisors(extents[near[0]], 2 * lanes) if 4 * n > lanes] if near else []
    if not sizes or not (size := d.choose(f"{name}.square", _weighed((*sizes, 0), sizes))):
        return
    rows, row = d.sch.split(loops[near[0]], factors=[None, size])
    others = [rows if at == near[0] else loop for at, loop in enumerate(loops) if at != vector]
    across = d.sch.split(loops[vector], factors=[None, lanes]) if extents[vector] > lanes else [loops[vector]]
    d.sch.reorder(*others, *across[:-1], row, across[-1])


def _own_loops(d: Derivation, rv: BlockRV) -> list[LoopRV]:
    """Return the innermost loops of a block, those that run over nothing else."""
    loops: list[LoopRV] = d.sch.get_loops(rv)
    stmts = [d.sch.get_sref(loop).loop for loop in loops]
    if not stmts or not isinstance(stmts[-1].body, BlockRealize):
        return []
    around = (at for at in reversed(range(len(loops) - 1)) if stmts[at].body is not stmts[at + 1])
    return loops[next(around, -1) + 1 :]


def _vectorize(d: Derivation, rv: BlockRV) -> None:
    """Let vectors run along the innermost loop of what is computed element by element."""
    name, block = d.name(rv), d.sch.get_sref(rv).block
    loops = d.sch.get_loops(rv)
    if name in d.tiled or not loops or not block.writes or are_reduced(d, rv, loops)[-1]:
        return
    if not isinstance(d.sch.get_sref(loops[-1]).loop.body, BlockRealize):  # it runs over other blocks, too
        return
    extent = d.extent(loops[-1])
    if extent is None or extent == 1 or d.kind(loops[-1]) is not ForKind.SERIAL:
        return
    lanes = d.machine.lanes(block.writes[0].buffer.dtype)
    widths = [w for w in (lanes, 2 * lanes, 4 * lanes) if w < extent and not extent % w]
    whole = [extent] if extent <= 8 * lanes else []
    vectors = [*whole, *widths]
    plain = [] if name in d.partial and vectors else [0]
    width = d.choose(f"{name}.lanes", _weighed([*vectors, *plain], vectors or plain))
    outer, inner = [], loops[-1]
    rows = _rows_abreast(d, name, loops)
    if 0 < width < extent:
        *outer, inner = d.sch.split(inner, factors=[None, width])
    if width:
        d.sch.vectorize(inner)
    if rows is not None:
        d.sch.reorder(*loops[rows + 1 : -1], *outer, loops[rows], inner)
        d.sch.unroll(loops[rows])


def _rows_abreast(d: Derivation, name: str, loops: Sequence[LoopRV]) -> int | None:
    """Return which loop of a block is over rows that are computed side by side; None if there is none any more."""
    rows = d.abreast.get(name)
    if rows is None or getattr(d.sch.meaning(rows), "stmt", None) is None:  # it became one loop with others
        return None
    return [d.sch.get_sref(loop) for loop in loops].index(d.sch.get_sref(rows))


def are_reduced(d: Derivation, rv: BlockRV, loops: Sequence[LoopRV]) -> list[bool]:
    """Return of which of its loops a block reduces the iterations."""
    realize = d.sch.state.realize_of(d.sch.get_sref(rv))
    used: set[Var] = set()
    for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        if axis.iter_type == axis.CommReduce:
            used |= set(free_vars(value))
    return [d.sch.get_sref(loop).loop.loop_var in used for loop in loops]


def _parallel(d: Derivation, rv: BlockRV) -> None:
    """Spread the outer loops of a nest over the cores, at the last block in it."""
    loops = d.sch.get_loops(rv)
    if d.machine.cores < 2 or not loops or d.kind(loops[0]) is not ForKind.SERIAL:
        return
    reduced = are_reduced(d, rv, loops)
    loops = loops[: reduced.index(True)] if True in reduced else loops
    count = 1
    while count < len(loops) and math.prod(d.extent(loop) or 1 for loop in loops[:count]) < 4 * d.machine.cores:
        count += 1
    state = d.sch.state
    checking, state.enable_check = state.enable_check, True  # a race may go unnoticed when the result is compared
    try:
        for depth in range(min(count, len(loops)), 0, -1):
            try:
                d.sch.parallel(d.sch.fuse(*loops[:depth]) if depth > 1 else loops[0])
            except ScheduleError:
                if getattr(d.sch.meaning(loops[0]), "stmt", None) is None:
                    return  # they were fused, and cannot be parallel
                continue
            return
    finally:
        state.enable_check = checking


def _partition(d: Derivation, rv: BlockRV) -> None:
    """Let the last tiles, which may be partial, be loops of their own: the others need no condition."""
    used = free_vars(d.sch.state.realize_of(d.sch.get_sref(rv)).predicate)
    for loop in d.sch.get_loops(rv) if used else ():
        stmt = d.sch.get_sref(loop).loop
        if stmt.loop_var in used and stmt.kind is ForKind.SERIAL and HINT not in stmt.annotations:
            d.sch.annotate(loop, HINT, 1)


RULES: tuple[Rule, ...] = (
    Rule("fold", "what a single block reads element by element is computed there", _fold, is_early=True),
    Rule("winograd", "a convolution is computed by fewer products, on transformed tiles", _winograd, is_early=True),
    Rule("inline", "what is computed element by element is computed where it is read", _inline, is_early=True),
    Rule("strassen", "a product of matrices is computed by seven products of quarters", _strassen, is_early=True),
    reduction("tiles", "parts"),
    Rule("rows", "rows that read sums of rows go a few at a time", _group_rows),
    Rule("locate", "what has several readers, or is a reduction, is computed near them", _locate),
    Rule("order", "a reduction in parts goes along the parts innermost", _order),
    Rule("follow", "a reduction in parts adds up what is made as it is made", _follow),
    Rule("quarters", "products of quarters are added up in all quarters of the result at once", _by_quarters),
    Rule("turn", "what is read along another axis than it is written goes over squares", _turn),
    Rule("parallel", "the outer loops run on several cores", _parallel),
    Rule("vectorize", "innermost loops run over vectors", _vectorize),
    Rule("begin", "a reduction of tiles or in parts begins outside its loops", _begin),
    Rule("partition", "the last tiles, which may be partial, are loops of their own", _partition),
)
