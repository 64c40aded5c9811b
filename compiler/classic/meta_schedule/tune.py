"""Tuning functions of TensorIR: ``tune_tir`` and ``tune_te``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from compiler.classic.meta_schedule.builder import Builder
from compiler.classic.meta_schedule.database import Database, JSONDatabase, MemoryDatabase, TuningRecord
from compiler.classic.meta_schedule.runner import Runner, measuring_by
from compiler.classic.meta_schedule.space_generator import FunctionSpace, Made, ScheduleFn
from compiler.driver.build import build
from compiler.ir.error import ArgumentError, TVMError, expected
from compiler.ir.module import IRModule
from compiler.runtime.machine import available_cores
from compiler.search import Database as Log
from compiler.search import LearnedModel, Machine, ScheduleSpace
from compiler.search.tuning import Tuning, learn
from compiler.search.turns import STRATEGIES, Turns
from compiler.target.target import Target, TargetLike
from compiler.te.definition.tensor import Tensor
from compiler.te.lowering.create_prim_func import create_prim_func
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.statements.function import PrimFunc

_LOG = "search.jsonl"
"""The log of the search in the working directory: all that was measured, of which the database has the best."""


@dataclass
class ExtractedTask:
    """A kernel of a model, or a function of a program: ``weight`` is how often it is called.

    The ``default`` is what it is built of if nothing faster is found; the function as it stands if it is None.
    """

    task_name: str
    mod: IRModule
    target: Target
    weight: int = 0
    default: IRModule | None = None

    @property
    def dispatched(self) -> list[IRModule]:
        """What of it is searched."""
        return [self.mod]

    @property
    def func(self) -> PrimFunc:
        """The only function."""
        (func,) = self.mod.functions.values()
        assert isinstance(func, PrimFunc)
        return func


@dataclass
class _Searched:
    """A task that is searched."""

    task: ExtractedTask
    tuning: Tuning
    is_begun: bool = False

    @property
    def trials(self) -> int:
        return len(self.tuning.search.trials)

    @property
    def seconds(self) -> float:
        best = self.tuning.search.best
        return best.seconds if best else self.tuning.search.default_seconds

    def search(self, count: int) -> bool:
        """Measure so many schedules at most; return whether there are others."""
        try:
            if not self.is_begun:
                self.is_begun = True
                self.tuning.begin()
            return bool(self.tuning.round(count))
        except TVMError:
            if self.task.default is None:
                raise
            return False


def tune_tir(
    mod: IRModule | PrimFunc | Sequence[ExtractedTask],
    target: TargetLike,
    work_dir: str | os.PathLike[str],
    max_trials_global: int,
    *,
    max_trials_per_task: int | None = None,
    num_trials_per_iter: int = 64,
    builder: Builder | str = "local",
    runner: Runner | str = "local",
    database: Database | str = "json",
    cost_model: object = "xgb",
    measure_callbacks: object = "default",
    task_scheduler: object = "gradient",
    space: ScheduleFn | Callable[[Schedule], Made] | str = "post-order-apply",
    strategy: object = "evolutionary",
    num_tuning_cores: int | str = "physical",
    seed: int | None = None,
) -> Database:
    """Search for the fastest schedules of a program's functions, and return a database that has them.

    A schedule is noted if it is faster than the function as it stands; otherwise that is what the database has. The
    search is the one of :mod:`compiler.search`: of ``cost_model``, ``space`` and the like only the values that are
    given here have a meaning.

    Parameters
    ----------
    mod : IRModule, PrimFunc or sequence of ExtractedTask
        Of the kernels of a model, which have a default of their own, only what is faster is noted.
    work_dir : str
        Where the log is kept, from which the next search goes on, and the database called ``json``.
    max_trials_global, max_trials_per_task : int
        Schedules to measure at most: of all functions, and of each.
    num_trials_per_iter : int
        Schedules that are measured before the model learns from them.
    builder, runner : Builder, Runner or str
        What builds and measures them. The times of a program's own classes are taken as they are, and results not
        compared; ``local`` measures in turns with the fastest so far.
    space : ScheduleFn, callable or str
        The schedules that a function makes by random decisions, or those that the rules of the search derive.
    task_scheduler : str
        Whose round is next: ``gradient``, the function that takes most time and still gets faster, or ``round-robin``.
    num_tuning_cores : int or str
        Threads of parallel loops; ``physical`` and ``logical`` are the cores that this process may use.
    """
    given = {
        "builder": ("local" if isinstance(builder, Builder) else builder, ("local",)),
        "runner": ("local" if isinstance(runner, Runner) else runner, ("local",)),
        "cost_model": (cost_model, ("xgb",)),
        "measure_callbacks": (measure_callbacks, ("default",)),
        "task_scheduler": (task_scheduler, STRATEGIES),
        "space": (space if isinstance(space, str) else "post-order-apply", ("post-order-apply",)),
        "strategy": (strategy, ("evolutionary", "replay-trace")),
    }
    _require_known(given)
    made_for = Target.target_or_current(target)
    folder = Path(work_dir)
    folder.mkdir(parents=True, exist_ok=True)
    kept = _database(database, folder)
    threads = available_cores() if isinstance(num_tuning_cores, str) else num_tuning_cores
    log, model = Log(str(folder / _LOG)), LearnedModel()
    searched = [
        _Searched(
            task,
            Tuning(
                task.func, made_for, log, seed=seed, threads=threads, model=model,
                default=partial(build, task.default or task.func, target=made_for),
                measuring=measuring_by(builder, runner, made_for), space=_space(space),
            ),
        )
        for task in _tasks(mod, made_for)
    ]  # fmt: skip
    learn(model, log)
    per_round = min(num_trials_per_iter, max(max_trials_global // max(len(searched), 1), 1))
    _search(searched, max_trials_global, max_trials_per_task or max_trials_global, per_round, str(task_scheduler))
    for each in searched:
        _note(kept, each, made_for)
    return kept


def _require_known(given: Mapping[str, tuple[object, Sequence[str]]]) -> None:
    """Refuse options with another value than those that are known."""
    for name, (value, known) in given.items():
        if value not in known:
            expected("tune_tir", name, " or ".join(map(repr, known)), value)


def _space(given: ScheduleFn | Callable[[Schedule], Made] | str) -> Callable[[PrimFunc, Machine], ScheduleSpace] | None:
    if isinstance(given, str):
        return None
    return partial(FunctionSpace, generator=given if isinstance(given, ScheduleFn) else ScheduleFn(given))


def _tasks(mod: IRModule | PrimFunc | Sequence[ExtractedTask], target: Target) -> Sequence[ExtractedTask]:
    if isinstance(mod, PrimFunc):
        mod = IRModule({"main": mod})
    if not isinstance(mod, IRModule):
        return mod
    named = {var.name_hint: func for var, func in mod.functions.items() if isinstance(func, PrimFunc)}
    return [ExtractedTask(name, IRModule({"main": func}), target, 1) for name, func in named.items()]


def _search(searched: Sequence[_Searched], trials: int, most: int, per_round: int, scheduler: str) -> None:
    """Measure so many schedules together, at most some of each task."""
    left, turns = trials, Turns(len(searched), scheduler)
    while left > 0:
        at = turns.next(lambda at: searched[at].task.weight * searched[at].seconds)
        if at is None:
            return
        chosen = searched[at]
        before, seconds = chosen.trials, chosen.seconds
        goes_on = chosen.search(min(per_round, left, most - before))
        turns.ended(at, seconds, chosen.seconds, goes_on and chosen.trials < most)
        left -= chosen.trials - before


def _note(kept: Database, searched: _Searched, target: Target) -> None:
    task = searched.task
    if not searched.trials and task.default is not None:
        return
    found = searched.tuning.outcome()
    if found.schedule is None and task.default is not None:
        return
    schedule = found.schedule or Schedule(task.func)
    assert schedule.trace is not None
    workload = kept.commit_workload(task.mod)
    kept.commit_tuning_record(TuningRecord(schedule.trace, workload, [found.seconds], target))


def tune_te(
    tensors: Sequence[Tensor],
    target: TargetLike,
    work_dir: str | os.PathLike[str],
    max_trials_global: int,
    *,
    num_trials_per_iter: int = 64,
    runner: Runner | str = "local",
    database: Database | str = "json",
    num_tuning_cores: int | str = "physical",
    seed: int | None = None,
) -> Schedule | None:
    """Search for the fastest schedule of what is defined by tensors, inputs and outputs, and return it."""
    func = create_prim_func(tensors)
    found = tune_tir(
        func, target, work_dir, max_trials_global, num_trials_per_iter=num_trials_per_iter, runner=runner,
        database=database, num_tuning_cores=num_tuning_cores, seed=seed,
    )  # fmt: skip
    return found.query_schedule(func, target)


def _database(database: Database | str, folder: Path) -> Database:
    if isinstance(database, Database):
        return database
    if database not in ("json", "memory"):
        raise ArgumentError(f"tune_tir: database must be a Database, 'json' or 'memory', got {database!r}")
    return JSONDatabase(work_dir=folder) if database == "json" else MemoryDatabase()
