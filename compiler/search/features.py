"""What a cost model sees of a program: numbers read from its loops, the same ones for every program.

The loops are those of a schedule, of blocks or of tensor expressions, or of a lowered function.  A condition marked as
likely, or of a loop that is to be partitioned, costs nothing: lowering takes it out of most iterations.  Of each
access its movement along each loop gives how much memory the inner loops touch, and with that what moves between the
levels of memory: into registers, and into each cache (working sets, as :mod:`compiler.tir.analysis.memory_traffic` has
them).  All that counts is summed up over the program; the sizes are logarithms, relative to the work, so that programs
of other shapes teach something, too.  The estimated cycles are not relative: what is computed twice counts twice.

References
----------
L. Zheng et al., "Ansor: Generating High-Performance Tensor Programs for Deep Learning", OSDI 2020: features of loops.
P. J. Denning, "The working set model for program behavior", Communications of the ACM 11 (5), 1968.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Add, Call, Div, IntImm, Max, Min, Mul, PrimExpr, Ramp, Select, Sub, Var
from compiler.ir.expr.substitute import uses_var
from compiler.ir.functor import parts_of
from compiler.ir.module import IRModule
from compiler.ir.node import Node
from compiler.search.blocks import flat_offset, value_at
from compiler.search.machine import Machine
from compiler.tir.statements.block import BlockRealize
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, ForKind, IfThenElse
from compiler.tir.transform.loops.loop_partition import HINT
from compiler.tir.transform.loops.value_follower import without_likely

NAMES = (
    "estimate", "operations", "instructions", "iterations", "register_loads", "gathers", "L1_bytes", "L1_runs",
    "L2_bytes", "memory_bytes", "calls", "guards", "parallel", "lanes", "unrolled", "tile_registers", "innermost",
    "depth", "scalar_share", "stores", "buffers",
)  # fmt: skip
"""What the features are called, in their order."""

_CALL_COST, _GATHER_COST, _ITERATION_COST, _GUARD_COST = 12.0, 1.0, 1.5, 1.0
"""Cycles of a function such as exp, of an element that a vector gathers, of a loop's own work, of a condition."""
_CYCLES_PER_BYTE = (1 / 64, 1 / 24, 1 / 8)
"""From the second and third level of caches, and from memory."""
_RUN_COST = 10.0
"""Cycles until neighbouring lines come into the first cache: those after the first are fetched ahead."""
_NOT_HIDDEN = 0.4
"""The share of what other parts of the processor do meanwhile that takes time of its own."""
_ARITHMETIC = (Add, Sub, Mul, Div, Max, Min, Select)


@dataclass
class _Access:
    buffer: Buffer
    bytes: int
    moves: list[int]
    """By how many elements it moves with each loop, from outside."""
    is_store: bool


@dataclass
class _Leaf:
    """A statement that stores, with the loops around it."""

    extents: list[int]
    kinds: list[ForKind]
    operations: int
    calls: int
    guards: int
    lanes: int
    accesses: list[_Access] = field(default_factory=list)

    def trips(self, depth: int = -1) -> int:
        """Return how often the loops outside ``depth`` run together; all of them if it is negative."""
        return math.prod(self.extents if depth < 0 else self.extents[:depth])

    def touched(self, access: _Access, depth: int, unit: int) -> float:
        """Return how many units of so many bytes the loops from ``depth`` on touch with an access."""
        count, smallest = 1.0, 0
        for extent, move in zip(self.extents[depth:], access.moves[depth:], strict=True):
            if move:
                count *= extent
                smallest = min(smallest or abs(move), abs(move))
        size = math.prod(value_at(dim, {}) for dim in access.buffer.shape) or count
        step = min(max(smallest, 1) * access.bytes, unit)
        return max(1.0, min(count, size) * step / unit)

    def run(self, access: _Access, depth: int) -> int:
        """Return how many elements lie side by side of those that the loops from ``depth`` on touch with an access."""
        length = 1
        steps = zip(self.extents[depth:], access.moves[depth:], strict=True)
        for move, extent in sorted((abs(move), extent) for extent, move in steps if move):
            if move > length:
                break
            length += move * (extent - 1)
        return length

    def fetched(self, capacity: float, unit: int) -> int:
        """Return from which loop on all that is touched moves once into a memory of so many units."""
        depths = range(len(self.extents) + 1)
        fits = (d for d in depths if sum(self.touched(access, d, unit) for access in self.accesses) <= capacity)
        return max(next(fits, len(depths)) - 1, 0)  # iterations find what the others left, together they fetch all once

    def traffic(self, depth: int, unit: int) -> float:
        """Return the units that move where each iteration around ``depth`` fetches all that it touches."""
        return self.trips(depth) * sum(self.touched(access, depth, unit) for access in self.accesses)

    def runs(self, depth: int, unit: int) -> float:
        """Return in how many runs of neighbours these units lie."""
        runs = 0.0
        for access in self.accesses:
            units = self.touched(access, depth, unit)
            runs += units / min(max(self.run(access, depth) * access.bytes / unit, 1.0), units)
        return self.trips(depth) * runs


def features(program: IRModule | PrimFunc, machine: Machine) -> list[float]:
    """Return the features of a program, as many as :data:`NAMES`."""
    functions = [program] if isinstance(program, PrimFunc) else program.functions.values()
    leaves = [leaf for f in functions if isinstance(f, PrimFunc) for leaf in _leaves(f)]
    total = dict.fromkeys(NAMES, 0.0)
    dearest: list[Any] = [-1.0, {}]  # the cycles of the statement that costs most, and what its loops are like
    buffers: set[Buffer] = set()
    for leaf in leaves:
        _add(leaf, machine, total, dearest)
        buffers |= {access.buffer for access in leaf.accesses}
    work = max(total["operations"], 1.0)
    row = {name: math.log2(1e-6 + total[name] / work) for name in NAMES}
    row |= {name: math.log2(max(value, 1e-3)) for name, value in dearest[1].items()}
    row["operations"], row["buffers"] = math.log2(work), float(len(buffers))
    row["estimate"] += row["operations"]
    row["scalar_share"] = total["scalar_share"] / work
    return [row[name] for name in NAMES]


def _add(leaf: _Leaf, machine: Machine, total: dict[str, float], dearest: list[Any]) -> None:
    """Add what a statement costs."""
    size = max((access.bytes for access in leaf.accesses), default=4)
    width = max(machine.vector_bits // (8 * size), 1)
    trips, lanes = leaf.trips(), leaf.lanes or _lanes_of(leaf)
    vectors = trips / min(lanes, width) if lanes > 1 else trips
    registers = _registers(leaf, machine, width, min(lanes, width))
    written_out = _written_out(leaf)
    loops = leaf.trips(written_out)
    strided = sum(1 for access in leaf.accesses if lanes > 1 and abs(_lane_move(leaf, access)) > 1)
    depths = [leaf.fetched(capacity / machine.line, machine.line) for capacity in machine.caches[:3]]
    bytes_of = [leaf.traffic(depth, machine.line) * machine.line for depth in depths]
    bytes_of += [bytes_of[-1]] * (3 - len(bytes_of))
    runs = leaf.runs(depths[0], machine.line)
    operations = trips * max(leaf.operations, 1)
    parallel = math.prod(e for e, k in zip(leaf.extents, leaf.kinds, strict=True) if k is ForKind.PARALLEL)
    sums = {
        "operations": operations,
        "instructions": vectors * max(leaf.operations, 1),
        "iterations": loops,
        "register_loads": registers,
        "gathers": strided * trips,
        "L1_bytes": bytes_of[0],
        "L1_runs": runs,
        "L2_bytes": bytes_of[1],
        "memory_bytes": bytes_of[2],
        "calls": leaf.calls * vectors,
        "guards": leaf.guards * trips,
        "scalar_share": operations if lanes == 1 else 0.0,
        "stores": vectors,
    }
    units = [
        vectors * max(leaf.operations, 1) / 4 + _CALL_COST * sums["calls"] + _GUARD_COST * sums["guards"],
        registers / 2 + _GATHER_COST * sums["gathers"],
        _ITERATION_COST * loops,
        _RUN_COST * runs,
        *(cost * size for cost, size in zip(_CYCLES_PER_BYTE, bytes_of, strict=True)),
    ]
    cycles = max(units) + _NOT_HIDDEN * (sum(units) - max(units))
    sums["estimate"] = cycles / max(min(parallel, machine.cores), 1)
    for name, value in sums.items():
        total[name] += value
    share = {
        "parallel": parallel,
        "lanes": lanes,
        "unrolled": math.prod(leaf.extents[written_out:]),
        "tile_registers": _tile(leaf, written_out) / width,
        "innermost": leaf.extents[-1] if leaf.extents else 1,
        "depth": len(leaf.extents),
    }
    if cycles > dearest[0]:
        dearest[:] = cycles, share


def _lanes_of(leaf: _Leaf) -> int:
    """Return the lanes of a vector loop, or of an innermost loop that LLVM makes one of."""
    if not leaf.extents:
        return 1
    if leaf.kinds[-1] is ForKind.VECTORIZED:
        return leaf.extents[-1]
    store = next((a for a in leaf.accesses if a.is_store), None)
    near = store is not None and store.moves[-1] == 1 and all(abs(a.moves[-1]) <= 1 for a in leaf.accesses)
    return leaf.extents[-1] if near else 1


def _lane_move(leaf: _Leaf, access: _Access) -> int:
    return access.moves[-1] if leaf.extents else 0


def _written_out(leaf: _Leaf) -> int:
    """Return where the loops begin that are code instead of loops."""
    at = len(leaf.extents)
    while at and leaf.kinds[at - 1] in (ForKind.UNROLLED, ForKind.VECTORIZED):
        at -= 1
    return at


def _tile(leaf: _Leaf, first: int) -> float:
    """Return the elements of the result that are in registers at a time."""
    stores = [access for access in leaf.accesses if access.is_store]
    return max((leaf.touched(store, first, store.bytes) for store in stores), default=1.0)


def _registers(leaf: _Leaf, machine: Machine, width: int, lanes: int) -> float:
    """Return the loads and stores of registers: in the innermost code, and of sums as often as their loop begins."""
    first = _written_out(leaf)
    moved = 0.0
    fits = _tile(leaf, first) / width <= machine.registers
    for access in leaf.accesses:
        unit = access.bytes * (lanes if lanes > 1 and abs(_lane_move(leaf, access)) == 1 else 1)
        outer = first
        if fits:  # what does not move with the loops next to the code stays in registers
            while outer and access.moves[outer - 1] == 0 and leaf.kinds[outer - 1] is ForKind.SERIAL:
                outer -= 1
        moved += leaf.trips(outer) * leaf.touched(access, first, unit)
    return moved


def _leaves(func: PrimFunc) -> Iterator[_Leaf]:
    """Yield the statements that store."""
    todo: list[tuple[Node, tuple[For, ...], dict[Var, PrimExpr], int]] = [(func.body, (), {}, 0)]
    while todo:
        stmt, loops, axes, guards = todo.pop()
        if isinstance(stmt, For):
            todo.append((stmt.body, (*loops, stmt), axes, guards))
        elif isinstance(stmt, BlockRealize):
            bound = {a.var: v for a, v in zip(stmt.block.iter_vars, stmt.iter_values, strict=True)}
            is_partitioned = any(HINT in loop.annotations and uses_var(stmt.predicate, loop.loop_var) for loop in loops)
            guarded = guards + (not isinstance(stmt.predicate, IntImm) and not is_partitioned)
            todo.append((stmt.block.body, loops, {**axes, **bound}, guarded))
            if stmt.block.init is not None:
                kept = {a.var for a in stmt.block.iter_vars if a.iter_type == a.CommReduce}
                outside = tuple(loop for loop in loops if not any(_uses(bound[v], loop.loop_var) for v in kept))
                todo.append((stmt.block.init, outside, {**axes, **bound}, guarded))
        elif isinstance(stmt, BufferStore):
            yield _leaf(stmt, loops, axes, guards)
        else:
            inside = guards + (isinstance(stmt, IfThenElse) and without_likely(stmt.condition) is stmt.condition)
            parts = (part for part in parts_of(stmt, Node) if not isinstance(part, PrimExpr))
            todo += [(part, loops, axes, inside) for part in parts]


def _uses(expr: PrimExpr, var: Var) -> bool:
    """Return whether an index changes with a loop."""
    return value_at(expr, {var: 1}) != value_at(expr, {})


def _leaf(store: BufferStore, loops: tuple[For, ...], axes: dict[Var, PrimExpr], guards: int) -> _Leaf:
    extents = [max(value_at(loop.extent, {}), 1) for loop in loops]
    points = [_point(axes, {})] + [_point(axes, {loop.loop_var: 1}) for loop in loops]
    leaf = _Leaf(extents, [loop.kind for loop in loops], 0, 0, guards, 0)
    todo: list[Node] = [store.value]
    accesses: list[BufferLoad | BufferStore] = [store]
    while todo:
        node = todo.pop()
        if isinstance(node, BufferLoad):
            accesses.append(node)
            continue
        if isinstance(node, Call):
            leaf.calls += 1
        leaf.operations += isinstance(node, _ARITHMETIC)
        todo += parts_of(node, Node)
    for access in accesses:
        lanes = [index for index in access.indices if isinstance(index, Ramp)]
        leaf.lanes = max(
            leaf.lanes, *(value_at(r.lanes, {}) if isinstance(r.lanes, PrimExpr) else r.lanes for r in lanes), 0
        )
        starts = [index.base if isinstance(index, Ramp) else index for index in access.indices]
        offsets = [flat_offset(access.buffer, starts, point) for point in points]
        size = max(dt.bits(access.buffer.dtype) // 8, 1)
        leaf.accesses.append(
            _Access(access.buffer, size, [o - offsets[0] for o in offsets[1:]], isinstance(access, BufferStore))
        )
    return leaf


def _point(axes: dict[Var, PrimExpr], loops: dict[Var, int]) -> dict[Var, int]:
    """Return the values of all variables where the loops have theirs."""
    values = dict(loops)
    for var, expr in axes.items():
        values[var] = value_at(expr, values)
    return values
