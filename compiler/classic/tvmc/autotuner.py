"""``tvmc.tune``: tunes a model with AutoTVM or the auto-scheduler."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any

from compiler.classic import auto_scheduler
from compiler.classic.autotvm.callback import log_to_file, progress_bar
from compiler.classic.autotvm.extraction import extract_from_program
from compiler.classic.autotvm.measure_methods import LocalBuilder, LocalRunner, measure_option
from compiler.classic.autotvm.model_based_tuner import XGBTuner
from compiler.classic.autotvm.task import Task
from compiler.classic.autotvm.task.record import load_from_file
from compiler.classic.autotvm.tuner import GATuner, GridSearchTuner, RandomTuner, Tuner
from compiler.classic.tvmc.errors import TVMCException
from compiler.classic.tvmc.model import TVMCModel
from compiler.classic.tvmc.transform import apply_graph_transforms
from compiler.ir.module import IRModule
from compiler.ir.passes.context import PassContext
from compiler.runtime.arrays.ndarray import NDArray
from compiler.runtime.log_lines import append_lines
from compiler.search import Database
from compiler.search.models import KernelTask, ModelTuning
from compiler.target.target import Target, TargetLike

TUNERS: dict[str, type[Tuner]] = {"ga": GATuner, "gridsearch": GridSearchTuner, "random": RandomTuner, "xgb": XGBTuner}
"""The tuners of AutoTVM templates, by the names of the command line."""


def tune_model(
    tvmc_model: TVMCModel,
    target: TargetLike = "llvm",
    tuning_records: str | os.PathLike[str] | None = None,
    prior_records: str | os.PathLike[str] | None = None,
    enable_autoscheduler: bool = False,
    trials: int = 10000,
    tuner: str = "xgb",
    min_repeat_ms: int | None = None,
    early_stopping: int | None = None,
    repeat: int = 1,
    number: int = 10,
    include_simple_tasks: bool = False,
    hardware_params: auto_scheduler.HardwareParams | None = None,
    tasks_filter: str = "all",
    seconds: float | None = None,
    scheduler: str = "gradient",
    **options: object,
) -> str | None:
    """Tune the kernels of a model and write the measurements to a file of tuning records, whose path is returned.

    Operators with AutoTVM templates, such as convolutions and matrix products, are tuned by AutoTVM.  The
    auto-scheduler is used if the model has none, or if it is requested.  Raises TVMCException if options are wrong.

    Parameters
    ----------
    trials : int
        The number of measurements: per task for AutoTVM, in total for the auto-scheduler.
    min_repeat_ms : int, optional
        The minimum duration of one measurement, in milliseconds.
    repeat, number : int
        The number of measurements of each schedule, and the number of calls that each one averages.
    tasks_filter : str
        The tasks to tune, as :func:`filter_tasks` reads them; ``list`` prints the tasks and tunes none.
    seconds : float, optional
        Let :mod:`compiler.search.models` search all kernels for so long, most of it where most is gained, and print
        what is gained; of the other options only the records, the layout and the precision count then.
    scheduler : str
        Whose round is next in these seconds: ``gradient``, the kernel's of which most is expected, or ``round-robin``.
    **options
        Layout and precision options of :func:`apply_graph_transforms`; ``timeout`` and ``parallel`` are ignored.  TVM's
        options for remote tuning must be unset.
    """
    _check_options(tuner, options)
    records = os.fspath(tuning_records) if tuning_records is not None else tempfile.mkstemp(suffix=".json")[1]
    if prior_records is not None and not os.path.isfile(prior_records):
        raise TVMCException(f"tvmc.tune: there is no file {os.fspath(prior_records)!r} of tuning records")
    mod, params = tvmc_model.mod, tvmc_model.params
    if seconds is not None:
        _search_model(apply_graph_transforms(mod, options), params, target, seconds, records, prior_records, scheduler)
        return records
    duration = min_repeat_ms or 0

    templates = [] if enable_autoscheduler else autotvm_get_tuning_tasks(mod, params, target, None, options)
    if templates:
        templates, list_only = filter_tasks(templates, tasks_filter)
        if not list_only:
            measuring = LocalRunner(number=number, repeat=repeat, min_repeat_ms=duration)
            _tune_templates(templates, TUNERS[tuner], trials, early_stopping, measuring, records, prior_records)
            return records
        print(gen_task_list(templates, enable_autoscheduler))
        return None

    tasks, weights = autoscheduler_get_tuning_tasks(
        mod, params, target, None, options, hardware_params, include_simple_tasks
    )
    weighted, list_only = filter_tasks(list(zip(tasks, weights, strict=True)), tasks_filter)
    if not list_only:
        runner = auto_scheduler.LocalRunner(number=number, repeat=repeat, min_repeat_ms=duration)
        _search_schedules(weighted, trials, early_stopping, runner, records, prior_records)
        return records
    print(gen_task_list([task for task, _ in weighted], True))
    return None


def _search_model(
    mod: IRModule,
    params: Mapping[str, NDArray],
    target: TargetLike,
    seconds: float,
    records: str,
    prior_records: str | os.PathLike[str] | None,
    scheduler: str,
) -> None:
    """Search the kernels of a model, and print what is gained as it goes on."""
    append_lines(records, ())  # fails before anything is measured where it cannot be written
    log = Database(records)
    if prior_records is not None:
        log.add(list(Database(prior_records)))
    began = time.monotonic()

    def told(task: KernelTask) -> None:
        print(f"{time.monotonic() - began:6.0f} s  {task.line()}", flush=True)

    with PassContext(opt_level=3):
        tuning = ModelTuning(mod, Target(target), params, log=log, seconds=seconds)
        found = tuning.run(told=told, scheduler=scheduler)
    print(found.table())


def _check_options(tuner: str, options: Mapping[str, object]) -> None:
    for name in ("hostname", "port", "rpc_key", "rpc_tracker"):
        if options.get(name):
            raise TVMCException(f"tvmc.tune: {name}: measured is on this machine; autotvm has an RPCRunner")
    if tuner not in TUNERS:
        raise TVMCException(f"tvmc.tune: tuner must be of {', '.join(TUNERS)}, got {tuner!r}")


def _tune_templates(
    tasks: Sequence[Task],
    tuner: type[Tuner],
    trials: int,
    early_stopping: int | None,
    runner: LocalRunner,
    records: str,
    prior_records: str | os.PathLike[str] | None,
) -> None:
    append_lines(records, ())  # fails before anything is measured where it cannot be written
    known = [] if prior_records is None else list(load_from_file(prior_records))
    for task in tasks:
        tuning = tuner(task)
        tuning.load_history(known)
        callbacks = [progress_bar(trials, task.name), log_to_file(records)]
        tuning.tune(trials, measure_option(LocalBuilder(), runner), early_stopping, callbacks)


def _search_schedules(
    weighted: Sequence[tuple[auto_scheduler.SearchTask, int]],
    trials: int,
    early_stopping: int | None,
    runner: auto_scheduler.LocalRunner,
    records: str,
    prior_records: str | os.PathLike[str] | None,
) -> None:
    """Tune tasks with the auto-scheduler, each weighted by how often it occurs in the model."""
    append_lines(records, ())  # fails before anything is measured where it cannot be written
    tuning = auto_scheduler.TuningOptions(
        num_measure_trials=trials,
        early_stopping=early_stopping,
        runner=runner,
        measure_callbacks=[auto_scheduler.RecordToFile(records)],
    )
    tasks, weights = [task for task, _ in weighted], [weight for _, weight in weighted]
    auto_scheduler.TaskScheduler(tasks, weights, load_log_file=prior_records).tune(tuning)


def autotvm_get_tuning_tasks(
    mod: IRModule,
    params: Mapping[str, NDArray],
    target: TargetLike,
    target_host: object = None,
    transform_args: Mapping[str, object] | None = None,
) -> list[Task]:
    """Extract the tasks of a model that AutoTVM has templates for."""
    return extract_from_program(apply_graph_transforms(mod, transform_args), params, target)


def autoscheduler_get_tuning_tasks(
    mod: IRModule,
    params: Mapping[str, NDArray],
    target: TargetLike,
    target_host: object = None,
    transform_args: Mapping[str, object] | None = None,
    hardware_params: auto_scheduler.HardwareParams | None = None,
    include_simple_tasks: bool = False,
) -> tuple[list[auto_scheduler.SearchTask], list[int]]:
    """Extract the auto-scheduler's tasks from a model."""
    changed = apply_graph_transforms(mod, transform_args)
    return auto_scheduler.extract_tasks(changed, params, target, None, hardware_params, include_simple_tasks)


def filter_tasks(tasks: Sequence[object], expr: str) -> tuple[list[Any], bool]:
    """Select tasks by ``all``, ``list`` or ``help``, or by indices and ranges, such as ``0,3-5``."""
    words = [word.strip() for word in expr.split(",") if word.strip()]
    listed = bool({"list", "help"} & set(words))
    chosen: set[int] = set()
    for word in words:
        first, _, last = word.partition("-")
        if word in ("all", "list", "help"):
            chosen |= set(range(len(tasks)))
        elif first.isdigit() and (last or first).isdigit():
            chosen |= set(range(int(first), int(last or first) + 1))
        else:
            raise TVMCException(f"tvmc.tune: tasks must be 'all', 'list', or numbers and ranges, got {word!r}")
    if any(number >= len(tasks) for number in chosen):
        raise TVMCException(f"tvmc.tune: Task index out of range: there are {len(tasks)} tasks, got {expr!r}")
    return [task for number, task in enumerate(tasks) if number in chosen], listed


def gen_task_list(tasks: Sequence[Any], enable_autoscheduler: bool) -> str:
    """Format a numbered list of tasks."""
    names = [task.desc if enable_autoscheduler else str(task) for task in tasks]
    return "\n".join(["Available Tasks for tuning:", *(f"  {i}. {name[:100]}" for i, name in enumerate(names))])
