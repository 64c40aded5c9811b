"""What the rules ask about a block: the loops of its axes, and how its accesses move along them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compiler.ir.expr.primexpr import Add, Cast, FloorDiv, FloorMod, IntImm, IterVar, Max, Min, Mul, PrimExpr, Sub, Var
from compiler.tir.schedule.random_variables import BlockRV, LoopRV
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import Buffer, BufferRegion, BufferStore


def value_at(expr: PrimExpr, values: Mapping[Var, int]) -> int:
    """Return an integer expression's value where variables have some, the others 0; 0 of what is not arithmetic."""
    if isinstance(expr, IntImm):
        return expr.value
    if isinstance(expr, Var):
        return values.get(expr, 0)
    if isinstance(expr, Cast):
        return value_at(expr.value, values)
    if not isinstance(expr, (Add, Sub, Mul, FloorDiv, FloorMod, Min, Max)):
        return 0
    a, b = value_at(expr.a, values), value_at(expr.b, values)
    if isinstance(expr, Add):
        return a + b
    if isinstance(expr, Sub):
        return a - b
    if isinstance(expr, Mul):
        return a * b
    if isinstance(expr, (Min, Max)):
        return (min if isinstance(expr, Min) else max)(a, b)
    return 0 if not b else a // b if isinstance(expr, FloorDiv) else a % b


def flat_offset(buffer: Buffer, indices: Sequence[PrimExpr], values: Mapping[Var, int]) -> int:
    """Return the place of an element in a compact buffer."""
    offset = 0
    for index, dim in zip(indices, buffer.shape, strict=True):
        offset = offset * value_at(dim, {}) + value_at(index, values)
    return offset


def movements(sch: Schedule, rv: BlockRV, loops: Sequence[LoopRV]) -> tuple[list[list[int]], list[list[int]]]:
    """Return of each read and each write by how many elements it moves in memory with one step of some loops."""
    realize = sch.state.realize_of(sch.get_sref(rv))
    axes = [axis.var for axis in realize.block.iter_vars]
    steps: list[dict[Var, int]] = [{}, *({sch.get_sref(loop).loop.loop_var: 1} for loop in loops)]
    places = [{axis: value_at(v, step) for axis, v in zip(axes, realize.iter_values, strict=True)} for step in steps]

    def moved(region: BufferRegion) -> list[int]:
        origin, *there = (flat_offset(region.buffer, [r.min for r in region.region], place) for place in places)
        return [offset - origin for offset in there]

    return [moved(read) for read in realize.block.reads], [moved(write) for write in realize.block.writes]


@dataclass(frozen=True)
class BlockFacts:
    """A block whose loops are its axes.

    Attributes
    ----------
    loops : list of LoopRV
        One for each axis, in the order of the axes.
    kinds : str
        A letter for each: ``S``, or ``R`` for one that is reduced.
    reads, writes : list of list of int
        Of each access, by how many elements it moves with each axis.
    """

    rv: BlockRV
    block: Block
    loops: list[LoopRV]
    kinds: str
    extents: list[int]
    reads: list[list[int]]
    writes: list[list[int]]

    def axes(self, kind: str) -> list[int]:
        """Return the places of the axes of a kind."""
        return [i for i, k in enumerate(self.kinds) if k == kind]

    @property
    def dtype(self) -> str:
        """The data type of what it computes."""
        return self.block.writes[0].buffer.dtype

    @property
    def is_sum(self) -> bool:
        """Whether it reduces into a single buffer."""
        return "R" in self.kinds and self.block.init is not None and isinstance(self.block.body, BufferStore)

    @property
    def uses(self) -> list[int]:
        """In how many places of the result an element of each operand is read; those tiles keep near."""
        own = self.block.writes[0].buffer
        reads = [r for r, region in zip(self.reads, self.block.reads, strict=True) if region.buffer is not own]
        return [math.prod(self.extents[i] for i in self.axes("S") if read[i] == 0) for read in reads]

    def is_contiguous(self, axis: int, width: int) -> bool:
        """Return whether accesses that move from one element to the next along an axis do so ``width`` times."""
        at = {self.block.iter_vars[axis].var: width - 1}
        accesses = zip((*self.block.reads, *self.block.writes), (*self.reads, *self.writes), strict=True)
        indices = [(r.buffer, [dim.min for dim in r.region]) for r, move in accesses if abs(move[axis]) == 1]
        return all(abs(flat_offset(b, i, at) - flat_offset(b, i, {})) == width - 1 for b, i in indices)


def block_facts(sch: Schedule, rv: BlockRV) -> BlockFacts | None:
    """Return what is known of a block; None unless its loops are its axes, of constant extents."""
    sref = sch.get_sref(rv)
    loops = sch.get_loops(rv)
    realize = sch.state.realize_of(sref)
    block = realize.block
    if len(loops) != len(block.iter_vars) or not block.writes:
        return None
    extents = []
    for loop, value in zip(loops, realize.iter_values, strict=True):
        stmt = sch.get_sref(loop).loop
        if stmt.loop_var is not value or not isinstance(stmt.extent, IntImm):
            return None
        extents.append(stmt.extent.value)
    kinds = "".join("R" if axis.iter_type == IterVar.CommReduce else "S" for axis in block.iter_vars)
    return BlockFacts(rv, block, loops, kinds, extents, *movements(sch, rv, loops))


def blocks_of(sch: Schedule, with_scopes: bool = False) -> list[BlockRV]:
    """Return the blocks of a program in their order; those that contain others, if at all, come after these."""
    found: list[BlockRV] = []
    todo = [sch.get_block("root")]
    while todo:
        rv = todo.pop()
        children = sch.get_child_blocks(rv)
        if with_scopes or not children:
            found.append(rv)
        todo += children
    return found[::-1]


def divisors(extent: int, most: int | None = None) -> list[int]:
    """Return the divisors of an extent, from 1 up, those at most ``most``."""
    small = [d for d in range(1, math.isqrt(extent) + 1) if extent % d == 0]
    every = sorted({*small, *(extent // d for d in small)})
    return [d for d in every if most is None or d <= most]
