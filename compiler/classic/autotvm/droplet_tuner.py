"""A tuner that goes downhill: ``DropletTuner``."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from compiler.classic.autotvm.measure import MeasureInput, MeasureResult
from compiler.classic.autotvm.task import Task
from compiler.classic.autotvm.tuner import Tuner
from compiler.ir.error import ArgumentError


class DropletTuner(Tuner):
    """Measures the neighbours of the fastest candidate, which differ by a step of one knob, until none is faster.

    It begins with the values of knobs that ``start_position`` numbers, the first ones by default. Where there are
    several times of candidates, one is faster if chance would show the difference of their means with a probability
    below ``pvalue``.

    References
    ----------
    M. Canesche et al., "The Droplet Search Algorithm for Kernel Scheduling", TACO 21(2), 2024.
    """

    def __init__(self, task: Task, start_position: Sequence[int] | None = None, pvalue: float = 0.05) -> None:
        super().__init__(task)
        self._start = list(start_position or [0] * len(self.space.dims))
        sizes = self.space.dims
        if len(self._start) != len(sizes) or any(not 0 <= at < n for at, n in zip(self._start, sizes, strict=True)):
            raise ArgumentError(f"DropletTuner: start_position must number values of {sizes}, got {self._start}")
        self._pvalue = pvalue
        self._place, self._costs = self._start, [math.inf]

    def has_next(self) -> bool:
        return bool(self._open())

    def next_index(self) -> int:
        return self._open()[0]

    def update(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        for inp, res in zip(inputs, results, strict=True):
            costs = [cost for cost in res.costs if not isinstance(cost, Exception)]
            if not res.error_no and costs and self._is_faster(costs):
                self._place, self._costs = self.space.point2knob(inp.config.index), costs

    def reset(self) -> None:
        super().reset()
        self._place, self._costs = self._start, [math.inf]

    def _open(self) -> list[int]:
        steps = [(at, by) for at in range(len(self._place)) for by in (1, -1)]
        beside = [[*self._place[:at], self._place[at] + by, *self._place[at + 1 :]] for at, by in steps]
        within = [
            knobs
            for knobs in [self._place, *beside]
            if all(0 <= at < size for at, size in zip(knobs, self.space.dims, strict=True))
        ]
        indices = map(self.space.knob2point, within)
        return [index for index in indices if index not in self._visited and self.space.is_index_valid(index)]

    def _is_faster(self, costs: Sequence[float]) -> bool:
        better = statistics.fmean(self._costs) - statistics.fmean(costs)
        if better <= 0 or min(len(costs), len(self._costs)) < 2:
            return better > 0
        error = math.sqrt(sum(statistics.variance(some) / len(some) for some in (costs, self._costs)))
        return not error or 1 - statistics.NormalDist().cdf(better / error) < self._pvalue
