"""Schedules whose random decisions a search makes."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from compiler.ir.expr.primexpr import IntImm
from compiler.ir.module import IRModule
from compiler.search.blocks import divisors
from compiler.search.choices import Picker
from compiler.search.machine import Machine
from compiler.search.rules import Derivation
from compiler.tir.schedule.instruction import Instruction, InstructionKind
from compiler.tir.schedule.primitives.sampling import compute_locations
from compiler.tir.schedule.random_variables import BlockRV, LoopRV
from compiler.tir.schedule.registry import primitives
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.statements.function import PrimFunc

_LIKELY = 20
"""How many options stand for all probabilities."""


class PickedSchedule(Schedule):
    """A schedule with a picker, which chooses whatever is sampled; copies have the same one."""

    def __init__(self, func: PrimFunc | IRModule, picker: Picker, enable_check: bool = True) -> None:
        super().__init__(func, seed=1, error_render_level="fast", enable_check=enable_check)
        self.picker = picker
        self.names: dict[Instruction, str] = {}  # what the picker calls the choices of steps
        self._name = ""

    def copy(self) -> PickedSchedule:
        """Return a schedule of the same program, whose decisions the same picker makes."""
        twin = super().copy()
        assert isinstance(twin, PickedSchedule)
        twin.picker, twin.names, twin._name = self.picker, self.names, ""
        return twin

    def pick(self, primitive: str, *args: Any, **options: Any) -> Any:
        """Return a decision of the next step, a sampling one."""
        self._name = f"{len(self.picker.made)}.{primitive}"
        return self.picker.pick(self._name, _OPTIONS[primitive](self, *args, **options))

    def record(
        self, kind: InstructionKind, inputs: Sequence[object], attrs: Sequence[object], outputs: Sequence[object],
        decision: object,
    ) -> None:  # fmt: skip
        super().record(kind, inputs, attrs, outputs, decision)
        if kind.primitive in _OPTIONS and self._name:
            self.names[self.trace.insts[-1]], self._name = self._name, ""


def _categories(sch: Schedule, candidates: Sequence[int], probs: Sequence[float]) -> Iterator[int]:
    for at, weight in enumerate(float(p) for p in probs):
        yield from [at] * math.ceil(_LIKELY * weight / sum(map(float, probs)))


def _tiles(sch: Schedule, loop: LoopRV, n: int, max_innermost_factor: int = 16) -> list[tuple[int, ...]]:
    extent = sch.get_sref(loop).loop.extent
    if not isinstance(extent, IntImm):
        return [(-1, *[1] * (n - 1))]
    return [t for t in _tilings(extent.value, n) if max_innermost_factor < 1 or t[-1] <= max_innermost_factor]


def _tilings(extent: int, n: int) -> list[tuple[int, ...]]:
    """Return all that ``n`` factors of an extent can be."""
    if n < 2:
        return [(extent,)]
    return [(*outer, inner) for inner in divisors(extent) for outer in _tilings(extent // inner, n - 1)]


def _parts(
    sch: Schedule, loop: LoopRV, n: int, partition_pos: int = 0, innerpart_factor: int = 1
) -> list[tuple[int, ...]]:
    return [t for t in _tiles(sch, loop, n, -1) if not math.prod(t[partition_pos:]) % innerpart_factor]


def _places(sch: Schedule, block: BlockRV) -> list[int]:
    return list(compute_locations(sch.state, sch.get_sref(block)))


_OPTIONS: Mapping[str, Callable[..., Any]] = {
    "sample_categorical": _categories,
    "sample_perfect_tile": _tiles,
    "sample_partitioned_tile": _parts,
    "sample_compute_location": _places,
}
"""What a step can decide."""


def _sampling(name: str) -> Callable[..., Any]:
    applied = primitives[name].method()

    def method(self: PickedSchedule, *args: Any, decision: Any = None, **options: Any) -> Any:
        if decision is None:
            decision = self.pick(name, *args, **options)
        return applied(self, *args, **options, decision=decision)

    return method


for _primitive in _OPTIONS:
    setattr(PickedSchedule, _primitive, _sampling(_primitive))


def derivation_of(sch: Schedule) -> Derivation:
    """Return the derivation of a schedule that no search makes, by choices at random."""
    return Derivation(sch, Picker(random.Random(sch.fork_seed())), Machine())
