"""``tvm.meta_schedule.mutator``: how a candidate becomes another one."""

from __future__ import annotations

import inspect
import random
from typing import ClassVar

from compiler.classic.meta_schedule.part import Part
from compiler.classic.meta_schedule.picked_schedule import PickedSchedule
from compiler.classic.meta_schedule.schedule_rule import require_llvm
from compiler.ir.error import ArgumentError, undefined
from compiler.search.choices import Choices, Picker
from compiler.tir.schedule.trace import Trace

_SEEDS = 1 << 31


class Mutator(Part):
    """Changes decisions of traces; a program's own one derives from this class, or from its other name."""

    def apply(self, trace: Trace, _: int = 0) -> Trace | None:
        """Return a trace with other decisions of the same steps; None if it has none to change."""
        undefined(self, "apply")

    def picker(self, candidate: Choices, sch: PickedSchedule, rng: random.Random) -> Picker | None:
        """Return what makes the choices of a candidate but for those that become others; None without any.

        Raises ArgumentError if steps were changed.
        """
        seed = [rng.randrange(_SEEDS)] * (len(inspect.signature(self.apply).parameters) > 1)
        changed = self.apply(Trace(sch.trace.insts, sch.trace.decisions), *seed)
        if changed is None:
            return None
        steps = sch.trace.insts[: len(changed.insts)]
        if changed.insts != steps or not all(inst in steps for inst in sch.names):
            raise ArgumentError(f"{type(self).__name__}.apply: decisions can be others, the steps must be the same")
        decided = {name: changed.decisions[inst] for inst, name in sch.names.items()}
        return Picker(rng, {**dict(candidate), **{name: _choice(value) for name, value in decided.items()}})

    @staticmethod
    def create(kind: str) -> dict[Mutator, float]:
        """Return how often each decision is changed for a processor, which ``kind`` calls ``llvm``."""
        require_llvm("Mutator.create", kind)
        return {MutateTileSize(): 0.9, MutateParallel(16): 0.02, MutateComputeLocation(): 0.05, MutateUnroll(): 0.03}


PyMutator = Mutator


def _choice(decision: object) -> int | tuple[int, ...]:
    if isinstance(decision, (list, tuple)):
        return tuple(int(factor) for factor in decision)
    return int(decision)  # type: ignore[call-overload, no-any-return]


class _OfChoices(Mutator):
    """Changes one of the choices whose names end in some way."""

    ends: ClassVar[tuple[str, ...]] = ()

    def picker(self, candidate: Choices, sch: PickedSchedule, rng: random.Random) -> Picker | None:
        names = [name for name, _ in candidate if name.endswith(self.ends)]
        return Picker(rng, dict(candidate), rng.choice(names)) if names else None

    def apply(self, trace: Trace, _: int = 0) -> Trace | None:
        sampled = [inst for inst in trace.decisions if inst.kind.primitive.endswith(self.ends)]
        if not sampled:
            return None
        again = random.choice(sampled)
        return Trace(trace.insts, {inst: made for inst, made in trace.decisions.items() if inst is not again})


class MutateTileSize(_OfChoices):
    """Changes the sizes of tiles and vectors."""

    ends = (".inner", ".outer", ".parts", ".lanes", "perfect_tile", "partitioned_tile")


class MutateComputeLocation(_OfChoices):
    """Changes where a block is computed."""

    ends = (".at", ".written_at", ".inline", "compute_location")


class MutateUnroll(_OfChoices):
    """Changes what is unrolled."""

    ends = (".unroll", "sample_categorical")


class MutateParallel(_OfChoices):
    """Changes nothing: how many loops are parallel follows from the cores."""

    def __init__(self, max_jobs_per_core: int) -> None:
        self.max_jobs_per_core = max_jobs_per_core


class MutateThreadBinding(_OfChoices):
    """Changes nothing: a processor has no threads that loops are bound to."""
