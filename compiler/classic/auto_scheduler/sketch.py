"""Sketches: schedules whose structure is derived from the definitions and whose parameters are searched.

Reductions are tiled at several levels: the tiles of the result outside, in parallel; then the tiles that stay in a
cache, the reduction, and the tile that stays in registers.  Operations on single elements are inlined or have loops of
their own.

References
----------
L. Zheng et al., "Ansor: Generating High-Performance Tensor Programs for Deep Learning", OSDI 2020.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from compiler.classic.auto_scheduler.workload import ComputeDAG, extent_of
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import IntImm, IterVar
from compiler.te.definition.operation import ComputeOp
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.scheduling.schedule import Schedule, create_schedule
from compiler.te.scheduling.stage import Stage

_LANES = (1, 4, 8, 16, 32)
_MAX_REGISTER_TILE = 256
"""Elements of the innermost tile: more are spilled, and take long to compile."""
_MAX_VECTOR = 64
_ATTEMPTS = 50


@dataclass(frozen=True, slots=True)
class State:
    """A schedule of a sketch: the numbers that were chosen for each operation, in the order of the data."""

    decisions: tuple[tuple[int, ...], ...]


class _Plan:
    """What is chosen for one operation."""

    def sample(self, rng: random.Random) -> tuple[int, ...]:
        """Choose at random."""
        return ()


class _Elementwise(_Plan):
    """Whether an operation is inlined, and the lanes of its vectors where it is not."""

    def __init__(self, may_be_inlined: bool) -> None:
        self._may_be_inlined = may_be_inlined

    def sample(self, rng: random.Random) -> tuple[int, ...]:
        inlined = self._may_be_inlined and rng.random() < 0.8
        return (int(inlined), rng.choice(_LANES))


class _TiledOperation(_Plan):
    """The sizes of the tiles of a reduction, three of each axis, one of each that is reduced; whether to unroll."""

    def __init__(self, op: ComputeOp) -> None:
        self._spatial = [_extent(axis, op) for axis in op.axis]
        self._reduced = [_extent(axis, op) for axis in op.reduce_axis]

    def sample(self, rng: random.Random) -> tuple[int, ...]:
        for _ in range(_ATTEMPTS):
            tiles = [_factors(extent, rng) for extent in self._spatial]
            if math.prod(t[2] for t in tiles) <= _MAX_REGISTER_TILE and tiles[-1][2] <= _MAX_VECTOR:
                break
        else:
            tiles = [(1, 1, 1)] * len(self._spatial)
        reduced = [rng.choice(_divisors(extent)) for extent in self._reduced]
        return (*(size for tile in tiles for size in tile), *reduced, rng.randint(0, 1))


class Sketch:
    """The schedules of a graph of operations of static shapes that are searched."""

    def __init__(self, dag: ComputeDAG) -> None:
        self.dag = dag
        self._plans = [self._plan(op) for op in dag.ops]
        for op in dag.ops:
            for axis in op.axis if isinstance(op, ComputeOp) else ():
                _extent(axis, op)

    def sample(self, rng: random.Random) -> State:
        """Choose all numbers at random."""
        return State(tuple(plan.sample(rng) for plan in self._plans))

    def mutated(self, state: State, rng: random.Random) -> State:
        """Choose the numbers of one operation again."""
        places = [i for i, decision in enumerate(state.decisions) if decision]
        if not places:
            return state
        at = rng.choice(places)
        new, old = self._plans[at].sample(rng), state.decisions[at]
        if rng.random() < 0.5 and isinstance(self._plans[at], _TiledOperation):
            new = self._with_one_axis_of(old, new, at, rng)
        return State((*state.decisions[:at], new, *state.decisions[at + 1 :]))

    def crossed(self, first: State, second: State, rng: random.Random) -> State:
        """Take the numbers of each operation from one of two states."""
        pairs = zip(first.decisions, second.decisions, strict=True)
        return State(tuple(rng.choice(pair) for pair in pairs))

    def schedule(self, state: State) -> tuple[Schedule, list[Tensor]]:
        """Return the schedule of a state, with the parameters of the function.

        Raises ArgumentError if the state is one of another graph.
        """
        if not state.decisions:  # what there is without a search
            return create_schedule(self.dag.outputs), self.dag.tensors
        if len(state.decisions) != len(self._plans):
            raise ArgumentError("auto_scheduler: the state belongs to another workload")
        s = create_schedule(self.dag.outputs)
        decisions = dict(zip(self.dag.ops, state.decisions, strict=True))
        plans = dict(zip(self.dag.ops, self._plans, strict=True))
        inlined = {op for op in self.dag.ops if isinstance(plans[op], _Elementwise) and decisions[op][0]}
        for op in inlined:
            s[op].compute_inline()
        owners: dict[Operation, Operation] = {}
        for op in self.dag.ops:
            if isinstance(plans[op], _TiledOperation):
                owner = self._owner(op, inlined)
                owners.setdefault(owner if owner not in owners else op, op)
        for owner, op in owners.items():
            _tile(s, owner, op, decisions[op])
        for op in self.dag.ops:
            if isinstance(plans[op], _Elementwise) and op not in inlined and op not in owners:
                _spread(s[op], decisions[op][1])
        return s, self.dag.tensors

    def _with_one_axis_of(
        self, old: tuple[int, ...], new: tuple[int, ...], at: int, rng: random.Random
    ) -> tuple[int, ...]:
        """Return the old numbers, those of one axis replaced by new ones, where the tile stays small enough."""
        op = self.dag.ops[at]
        assert isinstance(op, ComputeOp)
        axis = rng.randrange(len(op.axis))
        place = slice(3 * axis, 3 * axis + 3)
        mixed = (*old[: place.start], *new[place], *old[place.stop :])
        tile = math.prod(mixed[2 : 3 * len(op.axis) : 3])
        return mixed if tile <= _MAX_REGISTER_TILE else new

    def _plan(self, op: Operation) -> _Plan:
        if not isinstance(op, ComputeOp) or len(op.body) != 1 or not op.axis:
            return _Plan()
        return _TiledOperation(op) if op.reduce_axis else _Elementwise(may_be_inlined(self.dag, op))

    def _owner(self, op: Operation, inlined: set[Operation]) -> Operation:
        """Return the operation in whose tiles a reduction is computed: what its elements go into, or itself."""
        last = op
        while True:
            consumers = self.dag.consumers(last)
            if len(consumers) != 1 or not _has_same_axes(consumers[0], op):
                return op
            last = consumers[0]
            if last not in inlined:
                return last


def may_be_inlined(dag: ComputeDAG, op: Operation) -> bool:
    """Return whether an operation is computed element by element, and read by others in the same way only."""
    readers = dag.consumers(op)
    is_plain = isinstance(op, ComputeOp) and len(op.body) == 1 and not op.reduce_axis and op not in dag.outputs
    return is_plain and all(isinstance(reader, ComputeOp) for reader in readers)


def _has_same_axes(consumer: Operation, op: Operation) -> bool:
    if not isinstance(consumer, ComputeOp) or consumer.reduce_axis or not isinstance(op, ComputeOp):
        return False
    return [_extent(a, consumer) for a in consumer.axis] == [_extent(a, op) for a in op.axis]


def _tile(s: Schedule, owner: Operation, op: Operation, decision: tuple[int, ...]) -> None:
    """Tile a reduction in the tiles of what its elements go into; its own result is written to a cache first."""
    product = s.cache_write(op.output(0), "local") if owner is op else op.output(0)
    axes = s[owner].op.axis
    sizes = [decision[3 * i : 3 * i + 3] for i in range(len(axes))]
    outer, middle, inner = [], [], []
    for axis, (first, second, third) in zip(axes, sizes, strict=True):
        block, rest = s[owner].split(axis, factor=first * second * third)
        middle_axis, inner_axis = s[owner].split(rest, factor=second * third)
        outer.append(block)
        middle.append(middle_axis)
        inner.append(inner_axis)
    s[owner].reorder(*outer, *middle, *inner)
    s[owner].parallel(s[owner].fuse(*outer))
    s[product].compute_at(s[owner], middle[-1])
    s[owner].vectorize(s[owner].split(inner[-1], factor=sizes[-1][2])[1])
    _tile_for_registers(s[product], [size[2] for size in sizes], decision[3 * len(axes) :])


def _tile_for_registers(stage: Stage, sizes: Sequence[int], decision: Sequence[int]) -> None:
    *reduced, unrolls = decision
    spatial = [stage.split(axis, factor=size) for axis, size in zip(stage.op.axis, sizes, strict=True)]
    reductions = [stage.split(axis, factor=size) for axis, size in zip(stage.op.reduce_axis, reduced, strict=True)]
    outer, inner = ([pair[level] for pair in reductions] for level in (0, 1))
    stage.reorder(*outer, *(o for o, _ in spatial), *inner, *(i for _, i in spatial))
    for _, axis in spatial[:-1] if unrolls else []:
        stage.unroll(axis)
    stage.vectorize(spatial[-1][1])


def _spread(stage: Stage, lanes: int) -> None:
    """Compute an operation on single elements in parallel and by vectors."""
    fused = stage.fuse(*stage.op.axis)
    outer, inner = stage.split(fused, factor=lanes)
    stage.parallel(outer)
    stage.vectorize(inner)


def _extent(axis: IterVar, op: Operation) -> int:
    extent = extent_of(axis)
    if not isinstance(extent, IntImm):
        raise ArgumentError(f"auto_scheduler: {op.name}: shapes must be static, got the extent {extent}")
    return extent.value


def _divisors(extent: int) -> list[int]:
    return [d for d in range(1, extent + 1) if extent % d == 0]


def _factors(extent: int, rng: random.Random) -> tuple[int, int, int]:
    """Return three sizes whose product divides an extent."""
    third = rng.choice([d for d in _divisors(extent) if d <= _MAX_VECTOR])
    second = rng.choice(_divisors(extent // third))
    first = rng.choice(_divisors(extent // third // second))
    return first, second, third
