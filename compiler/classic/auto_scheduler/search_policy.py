"""The search policy: evolves candidates that the cost model predicts to be fast, and measures them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from compiler.classic.auto_scheduler.cost_model import RandomModel
from compiler.classic.auto_scheduler.measure import MeasureInput, MeasureResult, TuningOptions, measure
from compiler.classic.auto_scheduler.record import load_records, mean_cost
from compiler.classic.auto_scheduler.sketch import State
from compiler.runtime.timing.clock import is_disturbed

if TYPE_CHECKING:
    from compiler.classic.auto_scheduler.search_task import SearchTask

__all__ = ["PreloadMeasuredStates", "SketchPolicy"]

_POPULATION, _GENERATIONS, _PARENTS = 64, 4, 12
_EXPLORED = 0.1
"""The share of schedules that are chosen at random, whatever the model expects."""
_MAX_REPEATS = 200
"""Draws without a new schedule after which all are taken to be measured."""


class PreloadMeasuredStates:
    """Lets a search begin with the records of a file, which are not measured again."""

    def __init__(self, filename: str) -> None:
        self.filename = filename


class SketchPolicy:
    """Searches the schedules of a task's sketch by evolution.

    A ``seed`` makes the search the same one each time, as far as it does not depend on measured times.
    ``program_cost_model``, a :class:`RandomModel` by default, expects speeds; ``best_cost`` is in seconds.

    References
    ----------
    L. Zheng et al., "Ansor: Generating High-Performance Tensor Programs for Deep Learning", OSDI 2020.
    """

    def __init__(
        self,
        task: SearchTask,
        program_cost_model: RandomModel | None = None,
        params: object = None,
        seed: int | None = None,
        verbose: int = 1,
        init_search_callbacks: Sequence[PreloadMeasuredStates] | None = None,
    ) -> None:
        self.task = task
        self.verbose = verbose
        self.best_state: State | None = None
        self.best_cost = float("inf")
        self._model = program_cost_model or RandomModel()
        self._random = random.Random(seed)
        if seed is not None:
            self._model.generator = self._random
        self._costs: dict[State, float] = {}
        for preload in init_search_callbacks or ():
            records = [r for r in load_records(preload.filename) if r[0].task.workload_key == task.workload_key]
            self._learn([inp for inp, _ in records], [res for _, res in records])

    def search(self, tuning_options: TuningOptions) -> State:
        """Measure schedules."""
        left, unimproved = tuning_options.num_measure_trials, 0
        while left > 0:
            before = self.best_cost
            count = self.search_round(min(left, tuning_options.num_measures_per_round), tuning_options)
            unimproved = 0 if self.best_cost < before else unimproved + count
            left -= count
            stopping = tuning_options.early_stopping
            if not count or (stopping is not None and unimproved >= stopping):
                break
        return self.best_state or self.task.compute_dag.sketch.sample(self._random)

    def search_round(self, count: int, tuning_options: TuningOptions) -> int:
        """Measure the schedules of one round, at most ``count`` of them."""
        inputs = [MeasureInput(self.task, state) for state in self._next(count)]
        results = [measure(inp, tuning_options.local_runner) for inp in inputs]
        self._learn(inputs, results)
        for callback in tuning_options.measure_callbacks or ():
            callback.callback(inputs, results)
        if min(self.verbose, tuning_options.verbose) and inputs:
            failed = sum(bool(res.error_no) for res in results)
            disturbed = sum(is_disturbed(res.costs) for res in results)
            print(
                f"{self.task.desc or 'search'}: {len(self._costs)} measured, {failed} of {len(inputs)} failed, "
                f"{f'{disturbed} disturbed, ' if disturbed else ''}best {self.best_cost * 1e3:.4f} ms"
            )
        return len(inputs)

    def sample_initial_population(self) -> list[State]:
        """Return random schedules of the sketch."""
        return [self.task.compute_dag.sketch.sample(self._random) for _ in range(_POPULATION)]

    def evolutionary_search(self, init_populations: Sequence[State], num_best_states: int) -> list[State]:
        """Return the schedules that the model expects most of, after some generations."""
        sketch, scores = self.task.compute_dag.sketch, dict[State, float]()
        population = list(dict.fromkeys(init_populations))
        for _ in range(_GENERATIONS):
            new = [state for state in dict.fromkeys(population) if state not in scores]
            if new:
                scores.update(zip(new, self._model.predict(self.task, new), strict=True))
            parents = sorted(scores, key=lambda state: -scores[state])[:_PARENTS]
            pairs = [self._random.choices(parents, k=2) for _ in range(_POPULATION)]
            population = [sketch.mutated(sketch.crossed(a, b, self._random), self._random) for a, b in pairs]
        return sorted(scores, key=lambda state: -scores[state])[:num_best_states]

    def _next(self, count: int) -> list[State]:
        """Return schedules that were not measured: of the best ones' descendants, and some at random."""
        measured = sorted(self._costs, key=self._costs.__getitem__)[:_PARENTS]
        expected = self.evolutionary_search([*measured, *self.sample_initial_population()], 4 * count)
        chosen: dict[State, None] = {}
        for _ in range(_MAX_REPEATS + count):
            if len(chosen) == count:
                break
            at_random = not expected or self._random.random() < _EXPLORED
            state = self.task.compute_dag.sketch.sample(self._random) if at_random else expected.pop(0)
            if state not in self._costs:
                chosen[state] = None
        return list(chosen)

    def _learn(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        self._model.update(inputs, results)
        for inp, res in zip(inputs, results, strict=True):
            if not isinstance(inp.state, State):  # steps of classic TVM, which have no numbers to vary
                continue
            cost = self._costs[inp.state] = float("inf") if res.error_no else mean_cost(res)
            if cost < self.best_cost:
                self.best_cost, self.best_state = cost, inp.state
