"""``tvm.meta_schedule.search_strategy``: how candidates are chosen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from compiler.classic.meta_schedule.cost_model import Asked, Candidates, CostModel, MeasureCandidate, Results, result_of
from compiler.classic.meta_schedule.database import Database
from compiler.classic.meta_schedule.part import Part, created
from compiler.classic.meta_schedule.runner import args_info
from compiler.classic.meta_schedule.space_generator import GeneratedSpace, SpaceGenerator
from compiler.driver.build import build
from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.runtime.numpy_types import NumPyArray
from compiler.search.choices import Choices
from compiler.search.measurer import Kernel, Measurer, Measuring
from compiler.search.search import Evolution, Search, Trial
from compiler.search.space import Space
from compiler.search.tuning import Outcome, random_arrays
from compiler.tir.schedule.schedule import Schedule

if TYPE_CHECKING:
    from compiler.classic.meta_schedule.tune_context import TuneContext


class SearchStrategy(Part):
    """Chooses the candidates of a task, round by round.

    Attributes
    ----------
    evolution : Evolution or None
        What a search is told of it; None for the search's own way.
    """

    evolution: Evolution | None = None
    _context: TuneContext | None = None
    _search: Search[Choices] | None = None
    _proposed: Sequence[tuple[MeasureCandidate, Choices]] = ()
    _left = _per_round = 0

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self._context = context

    def pre_tuning(
        self,
        max_trials: int,
        num_trials_per_iter: int = 64,
        design_spaces: Sequence[Schedule] | None = None,
        database: Database | None = None,
        cost_model: CostModel | None = None,
    ) -> None:
        """Begin a search that a program measures itself: at most so many candidates of some schedules.

        Raises ArgumentError if the strategy is of no task.
        """
        context = self._context
        if context is None or context.space_generator is None:
            raise ArgumentError(f"{type(self).__name__}.pre_tuning: it must be of a TuneContext with a space")
        generator = context.space_generator
        if design_spaces is not None and design_spaces is not context.design_spaces:
            generator = _Given(generator, design_spaces)
        space = GeneratedSpace(context.mod, context.machine, generator)
        asked = Asked(context, space, cost_model) if cost_model is not None else None
        self._left, self._per_round = max_trials, num_trials_per_iter
        self._search = Search(
            space, build, Measurer(()), context.machine, default=partial(build, context.mod), rng=context.random,
            evolution=self.evolution, expect=asked.expect if asked else None,
        )  # fmt: skip

    def generate_measure_candidates(self) -> Sequence[MeasureCandidate] | None:
        """Return the candidates of a round; None if there are no others.

        Raises ArgumentError before ``pre_tuning``.
        """
        search, count = self._begun("generate_measure_candidates"), min(self._left, self._per_round)
        chosen = search.propose(count) if count > 0 else []
        self._left -= len(chosen)
        space = search.space
        assert isinstance(space, GeneratedSpace)
        self._proposed = [(MeasureCandidate(space.derived(each), args_info(space.func)), each) for each in chosen]
        return [candidate for candidate, _ in self._proposed] or None

    def notify_runner_results(self, measure_candidates: Candidates, results: Results) -> None:
        """Take notice of what was measured of the candidates of a round, in their order.

        Raises ArgumentError before ``pre_tuning``.
        """
        search = self._begun("notify_runner_results")
        for (_, choices), result in zip(self._proposed, results, strict=True):
            search.learn(choices, sum(result.run_secs) / len(result.run_secs) if result.run_secs else math.inf)

    def post_tuning(self) -> None:
        """End the search."""
        self._search = None

    def _begun(self, name: str) -> Search[Choices]:
        if self._search is None:
            raise ArgumentError(f"{type(self).__name__}.{name}: pre_tuning must be called before")
        return self._search

    @staticmethod
    def create(kind: str = "evolutionary", *args: Any, **options: Any) -> SearchStrategy:
        """Return a strategy: ``evolutionary``, ``replay-trace`` or ``replay-func``."""
        kinds: dict[str, Callable[..., SearchStrategy]] = {
            "evolutionary": EvolutionarySearch if args or options else SearchStrategy, "replay-trace": ReplayTrace,
            "replay-func": ReplayFunc,
        }  # fmt: skip
        return created("SearchStrategy.create", kinds, kind, *args, **options)


PySearchStrategy = SearchStrategy
create = SearchStrategy.create


class EvolutionarySearch(SearchStrategy):
    """Candidates come of one another; of the options ``population_size`` and those named here are read.

    In each of ``genetic_num_iters`` generations ``genetic_mutate_prob`` of the candidates are mutated, the others are
    of two. ``eps_greedy`` of those that are measured are taken by chance, the others as the model expects them.
    """

    def __init__(
        self, *, population_size: int = 512, genetic_num_iters: int = 4, genetic_mutate_prob: float = 0.85,
        eps_greedy: float = 0.05, **options: float,
    ) -> None:  # fmt: skip
        self.evolution = Evolution(population_size, genetic_num_iters, genetic_mutate_prob, eps_greedy)


class ReplayTrace(SearchStrategy):
    """All decisions of candidates are drawn at random."""

    evolution = Evolution(generations=0, by_chance=1.0)

    def __init__(self, max_fail_count: int = 100) -> None:
        self.max_fail_count = max_fail_count


class ReplayFunc(ReplayTrace):
    """All decisions of candidates are drawn at random, by rules or a function that runs for each of them."""


class _Given(SpaceGenerator):
    """Schedules that there are already, with the parts of a generator."""

    def __init__(self, of: SpaceGenerator, schedules: Sequence[Schedule]) -> None:
        self.postprocs, self.mutator_probs = of.postprocs, of.mutator_probs
        self._traces = [sch.trace for sch in schedules]


class _Programs:
    """The part of a space that is left where a strategy chooses: what candidates are."""

    def program(self, candidate: MeasureCandidate) -> IRModule:
        """Return the program of a candidate."""
        return candidate.sch.mod


class ChosenTuning:
    """The search of a task whose strategy chooses itself what is measured.

    Parameters
    ----------
    told : tuple
        What the strategy is told when it begins: how many candidates, how many of a round, the database, and the model.
    """

    def __init__(
        self,
        context: TuneContext,
        strategy: SearchStrategy,
        default: Callable[[], Kernel],
        measuring: Callable[[Sequence[NumPyArray], int], Measuring] | None,
        told: tuple[int, int, Database | None, CostModel | None],
    ) -> None:
        self._context, self._strategy, self._told = context, strategy, told
        arrays = random_arrays(context.func, 0)
        measurer = measuring(arrays, context.num_threads) if measuring else Measurer(arrays, context.num_threads, 2)
        self.search: Search[MeasureCandidate] = Search(
            cast("Space[MeasureCandidate]", _Programs()), partial(build, target=context.target), measurer,
            context.machine, default=default,
            expect=lambda candidates: [0.0] * len(candidates),
        )  # fmt: skip

    def begin(self) -> None:
        """Measure the default, and let the strategy begin.  Raises ArgumentError if the default cannot be run."""
        if (begun := self.search.begin()).kind != "ok":
            raise ArgumentError(f"tune_tasks: the default cannot be measured: {begun.message}")
        most, per_round, database, model = self._told
        has_space = self._context.space_generator is not None
        spaces = self._context.generate_design_space() if has_space else []
        self._strategy.pre_tuning(most, per_round, spaces, database, model)

    def round(self, count: int) -> Sequence[Trial[MeasureCandidate]]:
        """Measure what the strategy chooses, all of it, and tell it; none if it has no more."""
        chosen = self._strategy.generate_measure_candidates()
        if chosen is None:
            self._strategy.post_tuning()
            return ()
        made = self.search.round(len(chosen), chosen)
        self._strategy.notify_runner_results(chosen, [result_of(trial) for trial in made])
        return made

    def outcome(self) -> Outcome:
        """Compare the best with the default once more; the default stays unless it is slower."""
        winner, default = self.search.finish(), self.search.default_seconds
        if winner is None:
            return Outcome(None, None, default, default, ())
        return Outcome(winner.candidate.sch, None, winner.seconds, default, ())
