"""Cost models: predict which schedules of a search are fast."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from compiler.classic.auto_scheduler.measure import MeasureInput, MeasureResult
from compiler.classic.auto_scheduler.record import load_records, mean_cost
from compiler.classic.auto_scheduler.sketch import State
from compiler.classic.autotvm.boosted_trees import BoostedTrees

if TYPE_CHECKING:
    from compiler.classic.auto_scheduler.search_task import SearchTask

__all__ = ["RandomModel", "XGBModel"]


class RandomModel:
    """Expects nothing: all schedules are as good as others.  A policy with a seed sets the ``generator`` of scores."""

    generator = random.Random()

    def update(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        """Take notice of measurements."""

    def predict(self, task: SearchTask, states: Sequence[State]) -> list[float]:
        """Return scores of schedules, the higher the faster."""
        return [self.generator.random() for _ in states]


class XGBModel(RandomModel):
    """Learns from measurements by boosted trees, a model for each workload.

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
        self._speeds: dict[str, dict[State, float]] = {}

    def update(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        for inp, res in zip(inputs, results, strict=True):
            speed = 0.0 if res.error_no else 1 / mean_cost(res)
            if isinstance(inp.state, State):  # not the steps of a record of classic TVM
                self._speeds.setdefault(inp.task.workload_key, {})[inp.state] = speed

    def update_from_file(self, file_name: str, n_lines: int | None = None) -> None:
        """Take notice of the records of a file, all or the first ``n_lines``."""
        for inp, res in list(load_records(file_name))[:n_lines]:
            self.update([inp], [res])

    def predict(self, task: SearchTask, states: Sequence[State]) -> list[float]:
        speeds = self._speeds.get(task.workload_key, {})
        if len(speeds) < self._warmup or not any(speeds.values()):
            return super().predict(task, states)
        values = np.array(list(speeds.values()))
        model = BoostedTrees()
        model.fit(_features(list(speeds)), values / values.max())
        scores: list[float] = model.predict(_features(states)).tolist()
        return scores


def _features(states: Sequence[State]) -> npt.NDArray[np.float64]:
    """Return the logarithms of the chosen numbers, and of the products of neighbours: sizes of tiles."""
    rows = [[number for decision in state.decisions for number in decision] for state in states]
    logarithms: npt.NDArray[np.float64] = np.log2(np.array(rows, "float64") + 1)
    return np.concatenate([logarithms, logarithms[:, 1:] + logarithms[:, :-1]], axis=1)
