"""``tvm.meta_schedule.tune_context``: a program that is tuned, and by what."""

from __future__ import annotations

import copy
import logging
import random
from collections.abc import Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any

from compiler.classic.meta_schedule.cost_model import Candidates, MeasureCandidate, Results
from compiler.classic.meta_schedule.search_strategy import SearchStrategy
from compiler.classic.meta_schedule.space_generator import SpaceGenerator
from compiler.ir.error import ArgumentError, expected, require_int
from compiler.ir.module import IRModule
from compiler.runtime.machine import available_cores
from compiler.search.machine import Machine
from compiler.target.target import Target, TargetLike
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.statements.function import PrimFunc

if TYPE_CHECKING:
    from typing import Self


class TuneContext:
    """A program that is tuned, with the generator of its schedules and the strategy that chooses them.

    Parameters
    ----------
    space_generator, search_strategy
        Of their classes, or what their ``create`` takes.
    rand_state : int
        Where random choices begin; at random from -1.
    num_threads : int or str
        Of parallel loops; ``physical`` and ``logical`` are the cores that this process may use.
    """

    default: IRModule | None = None
    """What the program is built of without a search; the program as it stands if it is None."""
    weight = 1.0

    def __init__(
        self, mod: IRModule | PrimFunc | None = None, *, target: TargetLike | None = None,
        space_generator: Any = None, search_strategy: SearchStrategy | str | None = None, task_name: str = "main",
        rand_state: int = -1, num_threads: int | str = "physical", logger: logging.Logger | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(mod, (IRModule, PrimFunc, NoneType)):
            expected("TuneContext", "mod", "an IRModule or a PrimFunc", mod)
        self.mod = IRModule({"main": mod}) if isinstance(mod, PrimFunc) else mod or IRModule()
        self.target = Target.target_or_current(target)
        self.task_name, self.rand_state, self.logger = task_name, rand_state, logger
        if num_threads not in ("physical", "logical"):
            require_int("TuneContext", "num_threads", num_threads, 1)
        require_int("TuneContext", "rand_state", rand_state, -1)
        self.num_threads = available_cores() if isinstance(num_threads, str) else num_threads
        self.random = random.Random(None if rand_state == -1 else rand_state)
        given, strategy = space_generator, search_strategy
        is_made = given is None or isinstance(given, SpaceGenerator)
        self.space_generator: SpaceGenerator | None = given if is_made else SpaceGenerator.create(given)
        if not isinstance(strategy, (SearchStrategy, NoneType)):
            strategy = SearchStrategy.create(strategy)
        self.search_strategy: SearchStrategy | None = strategy
        self.design_spaces: Sequence[Schedule] | None = None
        for part in (self.space_generator, self.search_strategy):
            if part is not None:
                part._initialize_with_tune_context(self)

    @property
    def machine(self) -> Machine:
        """The processor of the target."""
        return Machine.of(self.target, self.num_threads)

    @property
    def func(self) -> PrimFunc:
        """The only function of the program."""
        funcs = list(self.mod.functions.values())
        if len(funcs) != 1 or not isinstance(funcs[0], PrimFunc):
            expected("TuneContext", "mod", "a module of one PrimFunc", [var.name_hint for var in self.mod.functions])
        return funcs[0]

    def clone(self) -> Self:
        """Return a context with clones of its parts."""
        twin = copy.copy(self)
        twin.space_generator = None if self.space_generator is None else self.space_generator.clone()
        twin.search_strategy = None if self.search_strategy is None else self.search_strategy.clone()
        for part in (twin.space_generator, twin.search_strategy):
            if part is not None:
                part._initialize_with_tune_context(twin)
        return twin

    def generate_design_space(self) -> Sequence[Schedule]:
        """Return the schedules whose random decisions are searched.

        Raises ArgumentError without a generator.
        """
        if self.space_generator is None:
            raise ArgumentError("TuneContext.generate_design_space: the context must have a space_generator")
        self.design_spaces = self.space_generator.generate_design_space(self.mod)
        return self.design_spaces

    def pre_tuning(self, *args: Any, **options: Any) -> None:
        """Begin a search that the program measures itself."""
        self._strategy.pre_tuning(*args, **options)

    def generate_measure_candidates(self) -> Sequence[MeasureCandidate] | None:
        """Return the candidates of a round; None if there are no others."""
        return self._strategy.generate_measure_candidates()

    def notify_runner_results(self, measure_candidates: Candidates, results: Results) -> None:
        """Take notice of what was measured of the candidates of a round."""
        self._strategy.notify_runner_results(measure_candidates, results)

    def post_tuning(self) -> None:
        """End the search."""
        self._strategy.post_tuning()

    @property
    def _strategy(self) -> SearchStrategy:
        if self.search_strategy is None:
            raise ArgumentError("TuneContext: the context must have a search_strategy")
        return self.search_strategy
