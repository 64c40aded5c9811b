"""Tuning functions of TensorIR: ``tune_tir`` and ``tune_te``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from compiler.classic.meta_schedule.database import Database, JSONDatabase, MemoryDatabase, TuningRecord
from compiler.classic.meta_schedule.runner import RPCRunner
from compiler.ir.error import ArgumentError, expected
from compiler.ir.module import IRModule
from compiler.ir.passes.context import PassContext
from compiler.runtime.machine import available_cores
from compiler.search import tune
from compiler.target.target import Target, TargetLike
from compiler.te.definition.tensor import Tensor
from compiler.te.lowering.create_prim_func import create_prim_func
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.statements.function import PrimFunc

_LOG = "search.jsonl"
"""The log of the search in the working directory: all that was measured, of which the database has the best."""


def is_meta_schedule_enabled() -> bool:
    """Return whether the current pass context asks for schedules that were searched."""
    return bool(PassContext.current().config.get("relay.backend.use_meta_schedule", False))


def tune_tir(
    mod: IRModule | PrimFunc,
    target: TargetLike,
    work_dir: str | os.PathLike[str],
    max_trials_global: int,
    *,
    max_trials_per_task: int | None = None,
    num_trials_per_iter: int = 64,
    builder: object = "local",
    runner: RPCRunner | str = "local",
    database: Database | str = "json",
    cost_model: object = "xgb",
    measure_callbacks: object = "default",
    task_scheduler: object = "gradient",
    space: object = "post-order-apply",
    strategy: object = "evolutionary",
    num_tuning_cores: int | str = "physical",
    seed: int | None = None,
) -> Database:
    """Search for the fastest schedules of a program's functions, and return a database that has them.

    A schedule is noted if it is faster than the function as it stands; otherwise that is what the database has. The
    search is the one of :mod:`compiler.search`: of ``builder``, ``cost_model`` and the like only the values that are
    given here have a meaning.

    Parameters
    ----------
    work_dir : str
        Where the log is kept, from which the next search goes on, and the database called ``json``.
    max_trials_global, max_trials_per_task : int
        Schedules to measure at most: of all functions, and of each.
    num_trials_per_iter : int
        Schedules that are measured before the model learns from them.
    runner : RPCRunner or str
        Where they are measured: ``local`` is this machine.
    num_tuning_cores : int or str
        Threads of parallel loops; ``physical`` and ``logical`` are the cores that this process may use.
    """
    given = {
        "builder": (builder, ("local",)),
        "runner": ("local" if isinstance(runner, RPCRunner) else runner, ("local",)),
        "cost_model": (cost_model, ("xgb",)),
        "measure_callbacks": (measure_callbacks, ("default",)),
        "task_scheduler": (task_scheduler, ("gradient", "round-robin")),
        "space": (space, ("post-order-apply",)),
        "strategy": (strategy, ("evolutionary",)),
    }
    for name, (value, known) in given.items():
        if value not in known:
            expected("tune_tir", name, " or ".join(map(repr, known)), value)
    made_for = Target.target_or_current(target)
    folder = Path(work_dir)
    folder.mkdir(parents=True, exist_ok=True)
    kept = _database(database, folder)
    functions = [mod] if isinstance(mod, PrimFunc) else [f for f in mod.functions.values() if isinstance(f, PrimFunc)]
    threads = available_cores() if isinstance(num_tuning_cores, str) else num_tuning_cores
    left = max_trials_global
    for at, func in enumerate(functions):
        share = min(left // (len(functions) - at), max_trials_per_task or left)
        found = tune(
            func, made_for, trials=share, seed=seed, threads=threads, log=folder / _LOG, per_round=num_trials_per_iter,
            measuring=runner.measuring if isinstance(runner, RPCRunner) else None,
        )  # fmt: skip
        left -= len(found.trials)
        schedule = found.schedule or Schedule(func)
        assert schedule.trace is not None
        workload = kept.commit_workload(func)
        kept.commit_tuning_record(TuningRecord(schedule.trace, workload, [found.seconds], made_for))
    return kept


def tune_te(
    tensors: Sequence[Tensor],
    target: TargetLike,
    work_dir: str | os.PathLike[str],
    max_trials_global: int,
    *,
    num_trials_per_iter: int = 64,
    runner: RPCRunner | str = "local",
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
