"""Cost models: predict which schedules of a search are fast."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from compiler.classic.auto_scheduler.layout_rewrite import LayoutRewriteOption
from compiler.classic.auto_scheduler.measure import MeasureInput, MeasureResult
from compiler.classic.auto_scheduler.record import StoredTask, load_records
from compiler.classic.auto_scheduler.scheduled_dag import ScheduledDAG
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

    Scores are random, by a ``seed``, until ``num_warmup_sample`` schedules were measured or a ``model_file`` was read.
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
        self._tasks: dict[str, SearchTask | StoredTask] = {}
        self._learned = LearnedModel()
        self._taught: set[tuple[str, State | StepState]] = set()
        if model_file is not None:
            self.load(model_file)

    def save(self, file_name: str) -> None:
        """Write what was learned to a file.

        Raises ArgumentError if what was measured is of a workload that is not registered.
        """
        for task in self._tasks.values():
            self._learn(task)
        self._learned.save(file_name)

    def load(self, file_name: str) -> None:
        """Learn from what another model wrote to a file, too, and score by it at once."""
        self._learned.load(file_name)
        self._taught.clear()
        self._warmup = 0

    def update(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        for inp, res in zip(inputs, results, strict=True):
            if not isinstance(inp.task, StoredTask) or isinstance(inp.state, State):  # no record of classic TVM
                self._tasks.setdefault(inp.task.workload_key, inp.task)
                self._seconds.setdefault(inp.task.workload_key, {})[inp.state] = mean_cost(res)

    def update_from_file(self, file_name: str, n_lines: int | None = None) -> None:
        """Take notice of the records of a file, all or the first ``n_lines``."""
        for inp, res in list(load_records(file_name))[:n_lines]:
            self.update([inp], [res])

    def predict(self, task: SearchTask, states: Sequence[State | StepState]) -> list[float]:
        if len(self._seconds.get(task.workload_key, ())) < self._warmup:
            return super().predict(task, states)
        self._tasks[task.workload_key] = task
        self._learn(task)
        return [-number for number in self._learned.predict(_features(task, states))]

    def _learn(self, task: SearchTask | StoredTask) -> None:
        key = task.workload_key
        seconds = self._seconds.get(key, {})
        if new := [state for state in seconds if (key, state) not in self._taught]:
            self._taught.update((key, state) for state in new)
            self._learned.update(key, _features(task, new), [seconds[state] for state in new])


def _features(task: SearchTask | StoredTask, states: Sequence[State | StepState]) -> list[list[float]]:
    if isinstance(task, StoredTask):
        dag, layout = ScheduledDAG(task.workload_key), LayoutRewriteOption.get_target_default(task.target)
        return [dag.features(state, layout) for state in states]
    return [task.compute_dag.features(state, task.measured_layout) for state in states]
