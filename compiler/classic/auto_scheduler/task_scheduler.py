"""The task scheduler: picks the next task to tune by its share of the model's time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isinf
from os import PathLike
from pathlib import Path

from compiler.classic.auto_scheduler.cost_model import XGBModel
from compiler.classic.auto_scheduler.measure import TuningOptions
from compiler.classic.auto_scheduler.search_policy import PreloadMeasuredStates, SketchPolicy
from compiler.classic.auto_scheduler.search_task import SearchTask
from compiler.ir.error import ArgumentError, expected
from compiler.search.turns import STRATEGIES, Turns


class TaskSchedulerCallback:
    """What a scheduler of tasks calls before and after each round; classes of programs derive from it."""

    def pre_tune(self, task_scheduler: TaskScheduler, task_id: int) -> None:
        """Do something before a task's round."""

    def post_tune(self, task_scheduler: TaskScheduler, task_id: int) -> None:
        """Do something after a task's round."""


class PrintTableInfo(TaskSchedulerCallback):
    """Prints the best time of each task before each round."""

    def pre_tune(self, task_scheduler: TaskScheduler, task_id: int) -> None:
        print("|  ID  | Task                                             | Latency (ms) | Trials |")
        for at, (task, cost) in enumerate(zip(task_scheduler.tasks, task_scheduler.best_costs, strict=True)):
            shown = "-" if isinf(cost) else f"{cost * 1e3:.3f}"
            print(f"| {at:4d} | {task.desc[:48]:48s} | {shown:>12s} | {task_scheduler.task_cts[at]:6d} |")


class LogEstimatedLatency(TaskSchedulerCallback):
    """Writes what all tasks take together to a file after each round.

    A line has the seconds since the beginning, the trials and the milliseconds.
    """

    def __init__(self, log_file: str | PathLike[str]) -> None:
        self.log_file = Path(log_file)
        self.log_file.unlink(missing_ok=True)

    def post_tune(self, task_scheduler: TaskScheduler, task_id: int) -> None:
        costs = task_scheduler.best_costs
        total = "N/A" if any(map(isinf, costs)) else f"{task_scheduler.objective_func(costs) * 1e3:.3f}"
        seconds = time.time() - task_scheduler.began
        with self.log_file.open("a", encoding="utf-8") as file:
            file.write(
                f"ElapsedTime(s)\t{seconds:.0f}\tEstimatedLatency(ms)\t{total}\tTrials\t{sum(task_scheduler.task_cts)}\n"
            )


class TaskScheduler:
    """Searches the schedules of several tasks, a round at a time.

    Parameters
    ----------
    task_weights : sequence of float, optional
        How often each one is called; once by default.
    objective_func : callable, optional
        From the best seconds of all tasks to what is to become least; the weighted sum by default.
    strategy : str
        ``gradient``: the task that takes most time and still gets faster; ``round-robin``: each in turn.

    Attributes
    ----------
    task_cts : list of int
        How many schedules of each task were measured.
    began : float
        When the search began, in seconds since the epoch.
    best_costs : list of float
        The seconds of each task's best schedule.
    """

    def __init__(
        self, tasks: Sequence[SearchTask], task_weights: Sequence[float] | None = None,
        objective_func: Callable[[Sequence[float]], float] | None = None, strategy: str = "gradient",
        load_model_file: str | None = None, load_log_file: str | PathLike[str] | None = None, alpha: float = 0.2,
        beta: float = 2, gamma: float = 0.5, backward_window_size: int = 3,
        callbacks: Sequence[TaskSchedulerCallback] | None = None,
    ) -> None:  # fmt: skip
        if strategy not in STRATEGIES:
            expected("TaskScheduler", "strategy", " or ".join(map(repr, STRATEGIES)), strategy)
        self.tasks = list(tasks)
        self.task_weights = list(task_weights) if task_weights is not None else [1.0] * len(self.tasks)
        if len(self.task_weights) != len(self.tasks):
            raise ArgumentError("TaskScheduler: task_weights must have a number for each task")
        weights = self.task_weights
        self.objective_func = objective_func or (lambda costs: sum(c * w for c, w in zip(costs, weights, strict=True)))
        model = XGBModel(model_file=load_model_file)
        loads = [PreloadMeasuredStates(str(load_log_file))] if load_log_file is not None else None
        self._policies = [SketchPolicy(task, model, verbose=0, init_search_callbacks=loads) for task in self.tasks]
        self._turns = Turns(len(self.tasks), strategy)
        self._callbacks = list(callbacks or ())
        self.task_cts = [0] * len(self.tasks)
        self.began = time.time()

    @property
    def best_costs(self) -> list[float]:
        """The seconds of each task's best schedule; infinite before its first measurement."""
        return [policy.best_cost for policy in self._policies]

    def tune(
        self,
        tune_option: TuningOptions,
        search_policy: str = "default",
        search_policy_params: object = None,
        adaptive_training: bool = False,
        per_task_early_stopping: int | None = None,
    ) -> None:
        """Measure schedules of all tasks, as many together as ``tune_option`` allows.

        The ``search_policy`` ``default`` is one by boosted trees.
        """
        left = tune_option.num_measure_trials
        per_round = min(tune_option.num_measures_per_round, max(left // max(len(self.tasks), 1), 1))
        quiet = replace(tune_option, verbose=0)
        self.began = time.time()
        while left > 0 and (at := self._turns.next(self._share)) is not None:
            before = self.best_costs[at]
            for callback in self._callbacks:
                callback.pre_tune(self, at)
            count = self._policies[at].search_round(min(left, per_round), quiet)
            self.task_cts[at] += count
            for callback in self._callbacks:
                callback.post_tune(self, at)
            self._turns.ended(at, before, self.best_costs[at], count > 0)
            left -= count
            if tune_option.verbose:
                task = self.tasks[at]
                print(f"{task.desc or f'task {at}'}: {self.best_costs[at] * 1e3:.4f} ms, {left} trials left")

    def _share(self, at: int) -> float:
        costs = [0.0 if isinf(cost) else cost for cost in self.best_costs]
        without = [*costs[:at], 0.0, *costs[at + 1 :]]
        return self.objective_func(costs) - self.objective_func(without)
