"""A tuner guided by a cost model, which it trains on its measurements."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from compiler.classic.autotvm.boosted_trees import BoostedTrees
from compiler.classic.autotvm.measure import MeasureInput, MeasureResult
from compiler.classic.autotvm.task import Task
from compiler.classic.autotvm.tuner import Tuner, flops
from compiler.ir.error import expected

_LOSSES = ("reg", "rank", "rank-binary")
_EXPLORED = 0.05
"""The share of candidates that are chosen at random, whatever the model expects."""
_WALKERS, _STEPS = 64, 60


class XGBTuner(Tuner):
    """Measures the candidates that boosted trees, trained by what was measured, expect to be fastest.

    The trees learn speeds (``loss_type`` ``reg``) or their order (``rank``, ``rank-binary``) from the values of the
    knobs, whatever ``feature_type`` says.  ``plan_size`` candidates are planned with one model, by simulated annealing
    (``sa``).

    References
    ----------
    T. Chen et al., "Learning to Optimize Tensor Programs", NeurIPS 2018.
    """

    def __init__(
        self, task: Task, plan_size: int = 64, feature_type: str = "itervar", loss_type: str = "reg",
        num_threads: int | None = None, optimizer: str = "sa", diversity_filter_ratio: float | None = None,
        log_interval: int = 50,
    ) -> None:  # fmt: skip
        if loss_type not in _LOSSES:
            expected("XGBTuner", "loss_type", f"one of {', '.join(map(repr, _LOSSES))}", loss_type)
        if optimizer != "sa":
            expected("XGBTuner", "optimizer", "'sa', simulated annealing", optimizer)
        super().__init__(task)
        self._plan_size = plan_size
        self._by_rank = loss_type != "reg"
        self._examples: dict[int, float] = {}
        self._learnt = 0
        self._plan: list[int] = []

    def next_index(self) -> int:
        if len(self._examples) >= self._learnt + self._plan_size // 4 and any(self._examples.values()):
            self._plan = self._planned()
            self._learnt = len(self._examples)
        while self._plan:
            index = self._plan.pop(0)
            if index not in self._visited and random.random() >= _EXPLORED:
                return index
        return self._random_index()

    def update(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        for inp, res in zip(inputs, results, strict=True):
            self._examples[inp.config.index] = flops((inp, res))

    def reset(self) -> None:
        super().reset()
        self._examples.clear()
        self._plan.clear()
        self._learnt = 0

    def _features(self, indices: Sequence[int]) -> npt.NDArray[np.float64]:
        rows = np.array([self.space.get(index).get_flatten_feature() for index in indices], "float64")
        logarithms: npt.NDArray[np.float64] = np.log2(np.abs(rows) + 1)
        return logarithms

    def _planned(self) -> list[int]:
        """Return the candidates that a model of what was measured expects most of, best first."""
        speeds = np.array(list(self._examples.values()))
        values = speeds.argsort().argsort() / len(speeds) if self._by_rank else speeds / speeds.max()
        model = BoostedTrees()
        model.fit(self._features(list(self._examples)), values)
        scores: dict[int, float] = {}

        def score(indices: Sequence[int]) -> list[float]:
            new = [index for index in dict.fromkeys(indices) if index not in scores]
            if new:
                scores.update(zip(new, model.predict(self._features(new)).tolist(), strict=True))
            return [scores[index] for index in indices]

        walkers = [self.space.get_rand_index() for _ in range(_WALKERS)]
        heights = score(walkers)
        for step in range(_STEPS):
            temperature = 1 - step / _STEPS
            moved = [self.space.random_walk(index) for index in walkers]
            for at, (index, height) in enumerate(zip(moved, score(moved), strict=True)):
                if random.random() < math.exp(min((height - heights[at]) / (temperature * 0.1), 0.0)):
                    walkers[at], heights[at] = index, height
        ranked = sorted(scores, key=lambda index: -scores[index])
        return [index for index in ranked if index not in self._visited][: self._plan_size]
