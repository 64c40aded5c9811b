"""``tvm.meta_schedule.space_generator``: spaces that a program's own function makes of its random decisions."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.search.choices import Picker
from compiler.search.machine import Machine
from compiler.search.space import ScheduleSpace
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.statements.function import PrimFunc

_LIKELY = 20
"""How many options stand for all probabilities."""

Made = Schedule | Sequence[Schedule] | None


class SpaceGenerator:
    """What schedules of a program are to be searched."""

    def generate_design_space(self, mod: IRModule | PrimFunc) -> Sequence[Schedule]:
        """Return schedules whose random decisions can be made otherwise.

        Raises NotImplementedError in this class.
        """
        raise NotImplementedError


class ScheduleFn(SpaceGenerator):
    """The schedules that a function makes, each time by other random decisions (``sample_…``).

    It changes the schedule that it is given, or returns one or several; there are no rules and no ``postprocs``.
    """

    def __init__(
        self,
        sch_fn: Callable[[Schedule], Made],
        sch_rules: Sequence[object] | None = None,
        postprocs: Sequence[object] | None = None,
        mutator_probs: object = None,
    ) -> None:
        if sch_rules or postprocs:
            raise ArgumentError("ScheduleFn: sch_rules and postprocs must be empty: what is done, the function does")
        self.sch_fn = sch_fn

    def generate_design_space(self, mod: IRModule | PrimFunc) -> Sequence[Schedule]:
        """Return what the function makes of a program."""
        return self.schedules(Schedule(mod))

    def schedules(self, sch: Schedule) -> Sequence[Schedule]:
        """Return what the function makes of a schedule."""
        made = self.sch_fn(sch)
        return [sch] if made is None else [made] if isinstance(made, Schedule) else made


class FunctionSpace(ScheduleSpace):
    """The schedules of a function with blocks, as a function of schedules makes them."""

    def __init__(self, func: PrimFunc, machine: Machine, generator: ScheduleFn) -> None:
        super().__init__(func, machine)
        self._generator = generator

    def _derive(self, picker: Picker, enable_check: bool) -> Schedule:
        sch = _Picked(self.func, seed=1, error_render_level="fast", enable_check=enable_check)
        sch.draws = _Draws(picker)
        made = self._generator.schedules(sch)
        chosen = made[picker.pick("schedule", range(len(made)))]
        assert isinstance(chosen, Schedule)
        return chosen


class _Draws(random.Random):
    """Lets a search make the choices that are drawn."""

    def __init__(self, picker: Picker) -> None:
        super().__init__(0)
        self._picker = picker

    def _pick(self, options: Sequence[int]) -> int:
        return int(self._picker.pick(f"draw{len(self._picker.made)}", options))

    def choice(self, seq: Any) -> Any:
        return seq[self._pick(range(len(seq)))]

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        return self._pick(range(start) if stop is None else range(start, stop, step))

    def choices(self, population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1) -> list[Any]:
        shares = [math.ceil(_LIKELY * weight / sum(weights)) for weight in weights]
        return [population[self._pick([at for at, share in enumerate(shares) for _ in range(share)])] for _ in range(k)]


class _Picked(Schedule):
    """A schedule whose random decisions a search makes."""

    draws: random.Random

    @property
    def random(self) -> random.Random:
        return self.draws
