"""Tuners: decide which candidates to measure, and in which order."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING

from compiler.classic.autotvm.measure import MeasureInput, MeasureResult, Record
from compiler.classic.autotvm.measure_methods import create_measure_batch
from compiler.classic.autotvm.task import ConfigEntity, Task
from compiler.ir.error import expected, require_int, undefined
from compiler.ir.extension import public_module
from compiler.search.fastest import mean_cost

__all__ = ["GATuner", "GridSearchTuner", "RandomTuner", "Tuner"]

Callback = Callable[["Tuner", Sequence[MeasureInput], Sequence[MeasureResult]], None]

_BATCH = 8
MAX_ERRORS = 150
"""Candidates that may fail before the log says all; ``set_error_threshold`` says another number."""


class Tuner:
    """Measures candidates of a task and remembers the best; ``best_flops`` are floating-point operations a second."""

    def __init__(self, task: Task, **options: object) -> None:
        if not isinstance(task, Task) or task.config_space is None or task.target is None:
            expected("tuner", "task", "a task with a configuration space, as autotvm.task.create makes it", task)
        self.task = task
        self.space = task.config_space
        self.target = task.target
        self.best_config: ConfigEntity | None = None
        self.best_flops = 0.0
        self.best_iter = 0
        self.best_measure_pair: Record | None = None
        self._visited: set[int] = set()
        self._error_threshold = MAX_ERRORS
        self._errors = 0

    def set_error_threshold(self, threshold: int) -> None:
        """Say how many candidates may fail before the logger ``autotvm`` turns to debugging."""
        self._error_threshold = threshold

    def has_next(self) -> bool:
        """Return whether there are candidates that were not measured."""
        return len(self._visited) < len(self.space)

    def next_batch(self, batch_size: int) -> list[ConfigEntity]:
        """Return the next candidates."""
        made: list[ConfigEntity] = []
        while len(made) < batch_size and self.has_next():
            index = self.next_index()
            self._visited.add(index)
            made.append(self.space.get(index))
        return made

    def next_index(self) -> int:
        """Return the number of a candidate that was not measured."""
        undefined(self, "next_index")

    def _random_index(self, first: int = 0, end: int | None = None) -> int:
        while (index := self.space.get_rand_index(first, end)) in self._visited:
            continue
        return index

    def update(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        """Take notice of measurements."""

    def load_history(self, data_set: Iterable[Record]) -> None:
        """Take notice of records; what they measured is not measured again."""
        if isinstance(data_set, str | PathLike):
            expected("Tuner.load_history", "data_set", "records, as load_from_file yields them", data_set)
        own = [row for row in data_set if row[0].task.workload == self.task.workload]
        self._visited.update(inp.config.index for inp, _ in own)
        self.update([inp for inp, _ in own], [res for _, res in own])

    def reset(self) -> None:
        """Forget what was measured."""
        self.best_config, self.best_flops, self.best_iter, self.best_measure_pair = None, 0.0, 0, None
        self._visited.clear()

    def tune(
        self,
        n_trial: int,
        measure_option: Mapping[str, object],
        early_stopping: int | None = None,
        callbacks: Sequence[Callback] = (),
        si_prefix: str = "G",
    ) -> None:
        """Measure candidates.

        Parameters
        ----------
        measure_option : mapping
            What ``autotvm.measure_option`` returned.
        early_stopping : int, optional
            End when so many candidates in a row were no better; 0 is for never.
        callbacks : sequence of callable
            Called with the tuner, the inputs and the results of each batch.
        """
        require_int("Tuner.tune", "n_trial", n_trial, 0)
        if not isinstance(early_stopping, float | int | None):
            expected("Tuner.tune", "early_stopping", "a number of candidates or None", early_stopping)
        if not isinstance(callbacks, Sequence) or not all(map(callable, callbacks)):
            expected("Tuner.tune", "callbacks", "a list of functions", callbacks)
        measure_batch = create_measure_batch(self.task, measure_option)
        done = 0
        while done < n_trial and self.has_next():
            configs = self.next_batch(min(_BATCH, n_trial - done))
            if not configs:
                break
            inputs = [MeasureInput(self.target, self.task, config) for config in configs]
            results = measure_batch(inputs)
            for at, record in enumerate(zip(inputs, results, strict=True), start=done):
                self._compare(at, record)
            done += len(inputs)
            self._count_errors(results)
            self.update(inputs, results)
            for callback in callbacks:
                callback(self, inputs, results)
            if early_stopping and done >= self.best_iter + early_stopping:
                return

    def _count_errors(self, results: Sequence[MeasureResult]) -> None:
        before = self._errors
        self._errors += sum(bool(result.error_no) for result in results)
        if before <= self._error_threshold < self._errors:
            logger = logging.getLogger("autotvm")
            logger.warning("Too many errors happen in the tuning. Switching to debug mode.")
            logger.setLevel(logging.DEBUG)

    def _compare(self, at: int, record: Record) -> None:
        speed = flops(record)
        if speed > self.best_flops:
            self.best_config, self.best_flops = record[0].config, speed
            self.best_iter, self.best_measure_pair = at, record


def flops(record: Record) -> float:
    """Return the floating-point operations a second of a record, or calls a second where a task has none."""
    return (record[0].task.flop or 1) / mean_cost(record[1])


class _RangeTuner(Tuner):
    """Measures candidates whose numbers are in a range."""

    def __init__(self, task: Task, range_idx: tuple[int, int] | None = None) -> None:
        super().__init__(task)
        most, given = self.space.range_length - 1, (0, self.space.range_length - 1) if range_idx is None else range_idx
        match given:
            case (int(first), int(last)) if 0 <= first <= last <= most:
                self.begin_idx, self.end_idx = first, last + 1
            case _:
                expected("tuner", "range_idx", f"the first and the last number, within 0 and {most}", range_idx)

    def has_next(self) -> bool:
        done = sum(self.begin_idx <= index < self.end_idx for index in self._visited)
        return done < self.space.subrange_length(self.begin_idx, self.end_idx)


class RandomTuner(_RangeTuner):
    """Measures candidates in random order, all or those from the first number to the last one of ``range_idx``."""

    def next_index(self) -> int:
        return self._random_index(self.begin_idx, self.end_idx)


class GridSearchTuner(_RangeTuner):
    """Measures candidates in the order of the space, all or those from the first to the last one of ``range_idx``."""

    def next_index(self) -> int:
        numbers = range(self.begin_idx, self.end_idx)
        return next(i for i in numbers if i not in self._visited and self.space.is_index_valid(i))


class GATuner(Tuner):
    """Measures what a genetic algorithm breeds: the knobs of good candidates, crossed and mutated.

    ``elite_num`` of the best stay among the parents; ``mutation_prob`` is how likely each knob is to change.
    """

    def __init__(self, task: Task, pop_size: int = 100, elite_num: int = 3, mutation_prob: float = 0.1) -> None:
        super().__init__(task)
        self._elite_num = elite_num
        self._pop_size = pop_size
        self._mutation_prob = mutation_prob
        self._parents: list[tuple[float, list[int]]] = []

    def next_index(self) -> int:
        if len(self._parents) >= 2:
            for _ in range(self._pop_size):
                index = self.space.knob2point(self._child())
                if index not in self._visited and self.space.is_index_valid(index):
                    return index
        return self._random_index()

    def _child(self) -> list[int]:
        """Cross two candidates, good ones rather than others, and mutate the result."""
        weights = [speed + 1e-9 for speed, _ in self._parents]
        (_, first), (_, second) = random.choices(self._parents, weights, k=2)
        cut = random.randrange(len(first) + 1)
        return [
            random.randrange(size) if random.random() < self._mutation_prob else knob
            for knob, size in zip(first[:cut] + second[cut:], self.space.dims, strict=True)
        ]

    def update(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        measured = [
            (flops((inp, res)), self.space.point2knob(inp.config.index))
            for inp, res in zip(inputs, results, strict=True)
        ]
        ranked = sorted([*self._parents, *measured], reverse=True)
        self._parents = ranked[: max(self._elite_num, self._pop_size)]


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.autotvm.tuner", __all__)
