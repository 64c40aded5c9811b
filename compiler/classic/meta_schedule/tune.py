"""Tuning functions of TensorIR: ``tune_tir``, ``tune_te`` and ``tune_tasks``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from inspect import signature
from pathlib import Path
from typing import Any

from compiler.classic.meta_schedule.builder import Builder
from compiler.classic.meta_schedule.cost_model import CostModel
from compiler.classic.meta_schedule.database import Database, JSONDatabase, MemoryDatabase
from compiler.classic.meta_schedule.measure_callback import MeasureCallback
from compiler.classic.meta_schedule.part import created
from compiler.classic.meta_schedule.runner import Runner
from compiler.classic.meta_schedule.search_strategy import SearchStrategy
from compiler.classic.meta_schedule.task_scheduler import TaskScheduler
from compiler.classic.meta_schedule.tune_context import TuneContext
from compiler.ir.error import expected, require_int, require_options
from compiler.ir.module import IRModule
from compiler.search import Database as Log
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


@dataclass
class TuneConfig:
    """Options of a search as releases 0.9 and 0.10 put them together."""

    max_trials_global: int
    num_trials_per_iter: int = 64
    max_trials_per_task: int | None = None
    strategy: SearchStrategy | str = "evolutionary"


def _takes_config(tune: Callable[..., Database]) -> Callable[..., Any]:
    """Let a search take a TuneConfig, third or as ``config``, and then return its best schedule, or None."""

    @wraps(tune)
    def run(mod: IRModule | PrimFunc, target: TargetLike, *given: Any, **options: Any) -> Database | Schedule | None:
        config, *rest = given if given and isinstance(given[0], TuneConfig) else (options.pop("config", None), *given)
        if config is None:
            return tune(mod, target, *rest, **options)
        if not isinstance(config, TuneConfig):
            expected("tune_tir", "config", "a TuneConfig", config)
        return tune(mod, target, *rest, **vars(config), **options).query_schedule(mod, target)

    return run


@_takes_config
def tune_tir(
    mod: IRModule | PrimFunc, target: TargetLike, work_dir: str | os.PathLike[str], max_trials_global: int, *,
    space: Any = "post-order-apply", strategy: SearchStrategy | str = "evolutionary",
    num_tuning_cores: int | str = "physical", seed: int | None = None, special_space: Mapping[str, Any] | None = None,
    task_name: str = "main", **options: Any,
) -> Database:  # fmt: skip
    """Search for the fastest schedules of a program's functions, and return a database that has them.

    The other options are those of :func:`tune_tasks`.

    Parameters
    ----------
    space
        What is searched: a SpaceGenerator, a function that makes schedules by random decisions, or
        ``post-order-apply``, what the rules of the search derive.
    strategy : SearchStrategy or str
        How candidates are chosen: ``evolutionary``, ``replay-trace`` or ``replay-func``.
    num_tuning_cores : int or str
        Threads of parallel loops; ``physical`` and ``logical`` are the cores that this process may use.
    special_space : dict of str to such a space
        Of functions with these names.
    task_name : str
        What a PrimFunc is called in what is told of the search; functions of a module have names.
    """
    if not isinstance(mod, (IRModule, PrimFunc)):
        expected("tune_tir", "mod", "an IRModule or a PrimFunc", mod)
    if not isinstance(task_name, str):
        expected("tune_tir", "task_name", "a str", task_name)
    mod, made_for = IRModule({task_name: mod}) if isinstance(mod, PrimFunc) else mod, Target.target_or_current(target)
    named = {var.name_hint: func for var, func in mod.functions.items() if isinstance(func, PrimFunc)}
    tasks = [ExtractedTask(name, IRModule({"main": func}), made_for, 1) for name, func in named.items()]
    own = {"space": space, "strategy": strategy, "num_tuning_cores": num_tuning_cores, "seed": seed}
    own |= {"special_space": special_space, **options}
    return tune_extracted("tune_tir", tasks, work_dir, max_trials_global, own)


def tune_extracted(
    operation: str, tasks: Sequence[ExtractedTask], work_dir: str | os.PathLike[str], max_trials_global: int,
    options: Mapping[str, Any],
) -> Database:  # fmt: skip
    """Search tasks by options of their contexts and of :func:`tune_tasks`; raises ArgumentError for other options."""
    of_contexts = options_of(contexts_of)
    require_options(operation, options, of_contexts | options_of(tune_tasks))
    own = {name: value for name, value in options.items() if name in of_contexts}
    others = {name: value for name, value in options.items() if name not in of_contexts}
    return tune_tasks(*contexts_of(tasks, **own), work_dir, max_trials_global, **others)


def options_of(function: Callable[..., Any]) -> set[str]:
    """Return the names of the parameters of a function that can be left out."""
    return {each.name for each in signature(function).parameters.values() if each.default is not each.empty}


def contexts_of(
    tasks: Sequence[ExtractedTask], space: Any = "post-order-apply", strategy: SearchStrategy | str = "evolutionary",
    num_tuning_cores: int | str = "physical", seed: int | None = None, special_space: Mapping[str, Any] | None = None,
) -> tuple[list[TuneContext], list[float]]:  # fmt: skip
    """Return contexts of tasks, each with clones of the space and the strategy, and their weights."""
    if not isinstance(special_space, Mapping | None):
        expected("tune_tir", "special_space", "a dict of a space by the function's name", special_space)
    contexts = []
    for task in tasks:
        given = (special_space or {}).get(task.task_name, space)
        made = TuneContext(
            task.mod, target=task.target, task_name=task.task_name, rand_state=-1 if seed is None else seed,
            num_threads=num_tuning_cores, space_generator=given, search_strategy=strategy,
        ).clone()  # fmt: skip
        made.default = task.default
        contexts.append(made)
    return contexts, [task.weight for task in tasks]


def tune_tasks(
    tasks: Sequence[TuneContext], task_weights: Sequence[float], work_dir: str | os.PathLike[str],
    max_trials_global: int, max_trials_per_task: int | None = None, num_trials_per_iter: int = 64,
    builder: Builder | str = "local", runner: Runner | str = "local", database: Database | str = "json",
    cost_model: CostModel | str = "xgb",
    measure_callbacks: MeasureCallback | Sequence[MeasureCallback] | str = "default",
    task_scheduler: TaskScheduler | str = "gradient", module_equality: str = "structural",
) -> Database:  # fmt: skip
    """Search for the fastest schedules of tasks, and return a database that has them.

    A schedule is noted if it is faster than the function as it stands; otherwise that is what the database has. The
    search is the one of :mod:`compiler.search`.

    Parameters
    ----------
    tasks : list of TuneContext
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
    cost_model : CostModel or str
        What is expected of candidates: ``xgb`` learns, ``random`` is chance.
    measure_callbacks : sequence of MeasureCallback or str
        What is told of each round; with ``AddToDatabase`` the database has all that is measured, too.
    task_scheduler : TaskScheduler or str
        Whose round is next: ``gradient``, the function that takes most time and still gets faster, or ``round-robin``.
    """
    require_int("tune_tasks", "max_trials_global", max_trials_global, 0)
    require_int("tune_tasks", "max_trials_per_task", max_trials_per_task or 0, 0)
    require_int("tune_tasks", "num_trials_per_iter", num_trials_per_iter, 1)
    if not all(isinstance(task, TuneContext) for task in tasks) or len(tasks) != len(task_weights):
        expected("tune_tasks", "tasks", f"as many TuneContexts as there are weights, {len(task_weights)}", tasks)
    given = {
        "builder": ("local" if isinstance(builder, Builder) else builder, ("local",)),
        "runner": ("local" if isinstance(runner, Runner) else runner, ("local",)),
        "measure_callbacks": ("default" if _are_callbacks(measure_callbacks) else measure_callbacks, ("default",)),
        "module_equality": (module_equality, ("structural",)),
    }
    for name, (value, known) in given.items():
        if value not in known:
            expected("tune_tasks", name, " or ".join(map(repr, known)), value)
    folder = _folder(work_dir)
    kinds = dict[str, Callable[[], Database]](json=partial(JSONDatabase, work_dir=folder), memory=MemoryDatabase)
    kept = database if isinstance(database, Database) else created("tune_tasks: database", kinds, database)
    scheduler = task_scheduler if isinstance(task_scheduler, TaskScheduler) else TaskScheduler.create(task_scheduler)
    scheduler.log = Log(str(folder / _LOG))
    callbacks = None if isinstance(measure_callbacks, str) else measure_callbacks
    scheduler.tune(
        tasks, task_weights, max_trials_global, max_trials_per_task or max_trials_global,
        min(num_trials_per_iter, max(max_trials_global // max(len(tasks), 1), 1)), builder, runner,
        [callbacks] if isinstance(callbacks, MeasureCallback) else callbacks, kept,
        cost_model if isinstance(cost_model, CostModel) else CostModel.create(cost_model),
    )  # fmt: skip
    return kept


def _folder(work_dir: str | os.PathLike[str]) -> Path:
    """Make the working directory unless it is there.  Raises ArgumentError if that cannot be."""
    try:
        Path(work_dir).mkdir(parents=True, exist_ok=True)
    except (OSError, TypeError) as failed:
        expected("tune_tasks", "work_dir", f"a folder that can be written ({failed})", work_dir)
    return Path(work_dir)


def _are_callbacks(given: object) -> bool:
    return all(isinstance(each, MeasureCallback) for each in (given if isinstance(given, list | tuple) else [given]))


def tune_te(tensors: Sequence[Tensor], target: TargetLike, *given: Any, **options: Any) -> Schedule | None:
    """Search for the fastest schedule of what is defined by tensors, inputs and outputs, and return it.

    The other arguments are those of :func:`tune_tir`.
    """
    found = tune_tir(func := create_prim_func(tensors), target, *given, **options)
    return found.query_schedule(func, target) if isinstance(found, Database) else found
