"""``tvm.meta_schedule.task_scheduler``: whose round is next, and the rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from compiler.classic.meta_schedule.builder import Builder, BuilderResult
from compiler.classic.meta_schedule.cost_model import (
    Asked,
    Candidates,
    CostModel,
    MeasureCandidate,
    Results,
    XGBModel,
    result_of,
)
from compiler.classic.meta_schedule.database import Database, TuningRecord
from compiler.classic.meta_schedule.measure_callback import AddToDatabase, MeasureCallback, UpdateCostModel
from compiler.classic.meta_schedule.part import created
from compiler.classic.meta_schedule.profiler import profile
from compiler.classic.meta_schedule.runner import MeasuringBy, Runner, args_info, measuring_by
from compiler.classic.meta_schedule.search_strategy import ChosenTuning, SearchStrategy
from compiler.classic.meta_schedule.space_generator import GeneratedSpace, PostOrderApply
from compiler.classic.meta_schedule.tune_context import TuneContext
from compiler.driver.build import build
from compiler.ir.error import ArgumentError, PartError, TVMError
from compiler.search import CostModel as Learning
from compiler.search import Database as Log
from compiler.search import LearnedModel, Machine, ScheduleSpace
from compiler.search.search import Trial
from compiler.search.tuning import Tuning, learn
from compiler.search.turns import Turns
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.statements.function import PrimFunc


@dataclass
class TaskRecord:
    """A task that is searched, and its last round."""

    ctx: TuneContext
    task_weight: float
    tuning: Tuning | ChosenTuning
    is_terminated: bool = False
    is_begun: bool = False
    measure_candidates: Candidates | None = None
    builder_results: Sequence[BuilderResult] | None = None
    runner_futures: None = None
    """A round is over when it is heard of: none is ever left to be joined."""
    runner_results: Results = field(default_factory=list)

    @property
    def trials(self) -> int:
        """How many candidates were measured."""
        return len(self.tuning.search.trials)

    @property
    def seconds(self) -> float:
        """Of the fastest; infinite before anything was measured."""
        best = self.tuning.search.best
        return best.seconds if best else self.tuning.search.default_seconds

    @property
    def most_seconds(self) -> float:
        """What a schedule takes at most that is noted: of a kernel of a model, what its default takes."""
        return math.inf if self.ctx.default is None else self.tuning.search.default_seconds

    def search(self, count: int, is_told: bool) -> bool:
        """Measure so many schedules at most, and keep them for callbacks; return whether there are others.

        Raises TVMError if a task that has no default but itself cannot be searched; others end, unless a part is wrong.
        """
        try:
            if not self.is_begun:
                self.is_begun = True
                self.tuning.begin()
            made = self.tuning.round(count)
        except TVMError as failed:
            if self.ctx.default is None or isinstance(failed, PartError):
                raise
            return False
        self.measure_candidates = [self._candidate(trial) for trial in made] if is_told else None
        self.builder_results = [BuilderResult(None, result_of(trial).error_msg) for trial in made]
        self.runner_results = [result_of(trial) for trial in made]
        return bool(made)

    def _candidate(self, trial: Trial[Any]) -> MeasureCandidate:
        if isinstance(self.tuning, ChosenTuning):
            return trial.candidate  # type: ignore[no-any-return]
        space = self.tuning.space
        derive = space.derived if isinstance(space, GeneratedSpace) else space.schedule
        return MeasureCandidate(derive(trial.candidate), args_info(self.ctx.func))

    def note(self, database: Database) -> None:
        """Commit what is certainly fastest: a schedule, or the program as it stands."""
        if not self.trials and self.ctx.default is not None:
            return
        found = self.tuning.outcome()
        if found.schedule is None and self.ctx.default is not None:
            return
        schedule = found.schedule or Schedule(self.ctx.func)
        workload = database.commit_workload(self.ctx.mod)
        seconds = [found.seconds] if math.isfinite(found.seconds) else None  # unknown where nothing could be compared
        database.commit_tuning_record(TuningRecord(schedule.trace, workload, seconds, self.ctx.target))


class _Still:
    """A model that learns no more."""

    def __init__(self, model: Learning) -> None:
        self.predict = model.predict

    def update(self, group: str, rows: Sequence[Sequence[float]], seconds: Sequence[float]) -> None:
        """Learn nothing."""


class TaskScheduler:
    """Searches tasks a round at a time; a program's own one derives from this class, or from its other name.

    Attributes
    ----------
    tasks_ : list of TaskRecord
        The tasks; their last rounds are told to the ``measure_callbacks_``.
    """

    strategy = "gradient"
    log: Log | None = None
    """Where the search goes on from, and what is measured is noted."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self.tasks_: list[TaskRecord] = []
        self.measure_callbacks_: Sequence[MeasureCallback] = ()
        self.database_: Database | None = None
        self.cost_model_: CostModel | None = None
        self._turns = Turns(0, self.strategy)

    @property
    def remaining_tasks_(self) -> int:
        """How many tasks have not ended."""
        return sum(not task.is_terminated for task in self.tasks_)

    def _outer(self) -> TaskScheduler:
        """Return the scheduler of whose class a program derives."""
        return self

    def next_task_id(self) -> int:
        """Return the task whose round is next; -1 if all have ended."""
        at = self._turns.next(lambda at: self.tasks_[at].task_weight * self.tasks_[at].seconds)
        return -1 if at is None else at

    def join_running_task(self, task_id: int) -> Results:
        """Return what was measured in the last round of a task."""
        return self.tasks_[task_id].runner_results

    def touch_task(self, task_id: int) -> None:
        """Do nothing: what became of a task is known as soon as its round ends."""

    def terminate_task(self, task_id: int) -> None:
        """Begin no more rounds of a task."""
        self.tasks_[task_id].is_terminated = True

    def tune(
        self, tasks: Sequence[TuneContext], task_weights: Sequence[float], max_trials_global: int,
        max_trials_per_task: int, num_trials_per_iter: int = 64, builder: Builder | str = "local",
        runner: Runner | str = "local", measure_callbacks: Sequence[MeasureCallback] | None = None,
        database: Database | None = None, cost_model: CostModel | None = None,
    ) -> None:  # fmt: skip
        """Measure so many schedules of tasks together, and of each, at most.

        Without ``measure_callbacks``, only what is certainly fastest is noted in the database.
        """
        self._reset()
        self.database_, self.cost_model_, self.measure_callbacks_ = database, cost_model, list(measure_callbacks or ())
        learned = cost_model.learned if isinstance(cost_model, XGBModel) else LearnedModel()
        log = self.log if self.log is not None else Log()
        for context, weight in zip(tasks, task_weights, strict=True):
            context.weight = weight
            measuring = measuring_by(builder, runner, context.target)
            self.tasks_.append(
                TaskRecord(
                    context,
                    weight,
                    self._tuning(context, log, learned, measuring, max_trials_per_task, num_trials_per_iter),
                )
            )
        learn(learned, log)
        self._turns = Turns(len(self.tasks_), self.strategy)
        self._rounds(max_trials_global, max_trials_per_task, num_trials_per_iter)
        for task in self.tasks_:
            if database is not None and (measure_callbacks is None or self._has(AddToDatabase)):
                task.note(database)
            profile(task.tuning.search.ledger)

    def _has(self, kind: type[MeasureCallback]) -> bool:
        return any(isinstance(each, kind) for each in self.measure_callbacks_)

    def _rounds(self, left: int, most: int, per_round: int) -> None:
        while left > 0 and (at := self.next_task_id()) >= 0:
            task = self.tasks_[at]
            if task.is_terminated:
                raise ArgumentError(f"{type(self).__name__}.next_task_id: task {at} has ended; -1 ends the search")
            before, seconds = task.trials, task.seconds
            goes_on = task.search(min(per_round, left, most - before), bool(self.measure_callbacks_))
            task.is_terminated |= not goes_on or task.trials >= most
            self._turns.ended(at, seconds, task.seconds, not task.is_terminated)
            left -= task.trials - before
            for callback in self.measure_callbacks_ if goes_on else ():
                callback.apply(self, at, task.measure_candidates or (), task.builder_results or (), task.runner_results)

    def _tuning(
        self, context: TuneContext, log: Log, learned: LearnedModel, measuring: MeasuringBy | None, most: int,
        per_round: int,
    ) -> Tuning | ChosenTuning:  # fmt: skip
        """Return the search of a task: by its own generator and strategy, and a program's own model if there is one."""
        strategy, generator = context.search_strategy, context.space_generator or PostOrderApply()
        default = partial(build, context.default or context.func, target=context.target)
        if strategy and type(strategy).generate_measure_candidates is not SearchStrategy.generate_measure_candidates:
            return ChosenTuning(
                context, strategy, default, measuring, (most, per_round, self.database_, self.cost_model_)
            )
        model = None if isinstance(self.cost_model_, XGBModel) else self.cost_model_
        learns = not self.measure_callbacks_ or self._has(UpdateCostModel)
        made: list[Asked] = []

        def space(func: PrimFunc, machine: Machine) -> ScheduleSpace:
            generated = GeneratedSpace(func, machine, generator)
            made.extend([Asked(context, generated, model)] if model is not None else ())
            return generated

        return Tuning(
            context.func, context.target, log, seed=None if context.rand_state == -1 else context.rand_state,
            threads=context.num_threads, model=learned if learns else _Still(learned), measuring=measuring,
            default=default, evolution=None if strategy is None else strategy.evolution,
            space=space if model is not None or not generator.is_default else None,
            expect=None if model is None else lambda candidates: made[0].expect(candidates),
            told=lambda trials: made[0].told(trials) if made and learns else None,
        )  # fmt: skip

    @staticmethod
    def create(kind: str = "gradient", *args: Any, **options: Any) -> TaskScheduler:
        """Return a scheduler: ``gradient`` or ``round-robin``."""
        kinds: dict[str, Callable[..., TaskScheduler]] = {"gradient": GradientBased, "round-robin": RoundRobin}
        return created("TaskScheduler.create", kinds, kind, *args, **options)


PyTaskScheduler = TaskScheduler
create = TaskScheduler.create


class GradientBased(TaskScheduler):
    """The task that takes most time and still gets faster is next; the search has its own measure of that."""

    def __init__(self, *, alpha: float = 0.2, window_size: int = 3, seed: int = -1) -> None:
        super().__init__()
        self.alpha, self.window_size, self.seed = alpha, window_size, seed


class RoundRobin(TaskScheduler):
    """Each task is next in turn."""

    strategy = "round-robin"
