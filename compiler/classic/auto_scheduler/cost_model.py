"""Cost models: predict which schedules of a search are fast."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from compiler.classic.auto_scheduler.measure import MeasureInput, MeasureResult
from compiler.classic.auto_scheduler.record import StoredTask, load_records
from compiler.classic.auto_scheduler.sketch import State
from compiler.classic.auto_scheduler.transform_steps import StepState
from compiler.search import LearnedModel
from compiler.search.fastest import mean_cost

if TYPE_CHECKING:
    from compiler.classic.auto_scheduler.search_task import SearchTask


class RandomModel:
    """Expects nothing: all schedules are as good as others.  A policy with a seed sets the ``generator`` of scores.

    A program's own model derives from it by its other name.
    """

    generator = random.Random()

    def update(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        """Take notice of measurements."""

    def predict(self, task: SearchTask, states: Sequence[State | StepState]) -> list[float]:
        """Return scores of schedules, the higher the faster."""
        return [self.generator.random() for _ in states]


PythonBasedModel = RandomModel


class XGBModel(RandomModel):
    """Learns from measurements what features of loops make schedules fast, of all workloads together.

    Scores are random until ``num_warmup_sample`` schedules were measured; ``seed`` makes them the same each time.
    """

    def __init__(
        self,
        verbose_eval: int = 25,
        num_warmup_sample: int = 8,
        seed: int | None = None,
        model_file: str | None = None,
        adaptive_training: bool = False,
    ) -> None:
        if seed is not None:
            self.generator = random.Random(seed)
        self._warmup = num_warmup_sample
        self._seconds: dict[str, dict[State | StepState, float]] = {}
        self._learned = LearnedModel()
        self._taught: set[tuple[str, State | StepState]] = set()

    def update(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        for inp, res in zip(inputs, results, strict=True):
            if not isinstance(inp.task, StoredTask) or isinstance(inp.state, State):  # no record of classic TVM
                self._seconds.setdefault(inp.task.workload_key, {})[inp.state] = mean_cost(res)

    def update_from_file(self, file_name: str, n_lines: int | None = None) -> None:
        """Take notice of the records of a file, all or the first ``n_lines``."""
        for inp, res in list(load_records(file_name))[:n_lines]:
            self.update([inp], [res])

    def predict(self, task: SearchTask, states: Sequence[State | StepState]) -> list[float]:
        key = task.workload_key
        seconds = self._seconds.get(key, {})
        if len(seconds) < self._warmup:
            return super().predict(task, states)
        new = [state for state in seconds if (key, state) not in self._taught]
        self._taught.update((key, state) for state in new)
        self._learned.update(key, _features(task, new), [seconds[state] for state in new])
        return [-number for number in self._learned.predict(_features(task, states))]


def _features(task: SearchTask, states: Sequence[State | StepState]) -> list[list[float]]:
    return [task.compute_dag.features(state, task.measured_layout) for state in states]
