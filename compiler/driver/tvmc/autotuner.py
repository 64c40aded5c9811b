"""``tvmc.tune``: searches the schedules of a model."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from compiler.autotvm.task import ApplyHistoryBest, Task
from compiler.driver import auto_scheduler
from compiler.driver.autotvm.callback import log_to_file, progress_bar
from compiler.driver.autotvm.extraction import extract_from_program
from compiler.driver.autotvm.measure_methods import LocalBuilder, LocalRunner, measure_option
from compiler.driver.autotvm.model_based_tuner import XGBTuner
from compiler.driver.autotvm.tuner import GATuner, GridSearchTuner, RandomTuner, Tuner
from compiler.driver.tvmc.errors import TVMCException
from compiler.driver.tvmc.model import TVMCModel
from compiler.driver.tvmc.transform import apply_graph_transforms
from compiler.ir.module import IRModule
from compiler.runtime.ndarray import NDArray
from compiler.target.target import Target, TargetLike

__all__ = [
    "TUNERS",
    "applied_records",
    "autoscheduler_get_tuning_tasks",
    "autotvm_get_tuning_tasks",
    "filter_tasks",
    "gen_task_list",
    "tune_model",
]

TUNERS: dict[str, type[Tuner]] = {
    "ga": GATuner,
    "gridsearch": GridSearchTuner,
    "random": RandomTuner,
    "xgb": XGBTuner,
}
"""How the parameters of templates are searched."""


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
    **options: object,
) -> str | None:
    """Search for schedules of a model's kernels, and write what is measured.

    Operators that have templates of AutoTVM, such as convolutions and products of matrices, are tuned by these.  Where
    a model has none, or if it is asked for, the auto-scheduler searches.

    Parameters
    ----------
    tvmc_model : TVMCModel
    target : str or Target
    tuning_records : str or path, optional
        The file of records; a temporary one when left out.
    prior_records : str or path, optional
        Records to begin with.
    enable_autoscheduler : bool
        Whether the auto-scheduler searches, whatever templates there are.
    trials : int
        Schedules to measure: of each task of AutoTVM, or of all tasks of the auto-scheduler together.
    tuner : str
        Of AutoTVM: ``xgb``, ``ga``, ``random`` or ``gridsearch``.
    min_repeat_ms : int, optional
        A measurement lasts at least so long.
    early_stopping : int, optional
        End when so many schedules in a row were no better.
    repeat, number : int
        Measurements of a schedule, and the calls that each one averages over.
    include_simple_tasks : bool
        Whether kernels without reductions are searched by the auto-scheduler.
    hardware_params : HardwareParams, optional
    tasks_filter : str
        Which tasks, as :func:`filter_tasks` reads it; ``list`` prints them and searches nothing.
    **options
        Layouts and precision, as :func:`convert_graph_layout` and :func:`convert_to_mixed_precision` take them.
        What TVM takes for other machines, which must be false or None; ``timeout`` and ``parallel`` are accepted.

    Returns
    -------
    str or None
        The file of records; None when the tasks are listed.

    Raises
    ------
    TVMCException
        If something is asked for that does not exist here.
    """
    _check_options(tuner, options)
    records = os.fspath(tuning_records) if tuning_records is not None else tempfile.mkstemp(suffix=".json")[1]
    mod, params = tvmc_model.mod, tvmc_model.params
    tasks = [] if enable_autoscheduler else autotvm_get_tuning_tasks(mod, params, target, None, options)
    if tasks:
        tasks, listed = filter_tasks(tasks, tasks_filter)
        if listed:
            print(gen_task_list(tasks, enable_autoscheduler))
            return None
        runner = LocalRunner(number=number, repeat=repeat, min_repeat_ms=min_repeat_ms or 0)
        for task in tasks:
            _tune_template(task, TUNERS[tuner], trials, early_stopping, runner, records)
        return records
    extracted = (mod, params, target, None, options, hardware_params, include_simple_tasks)
    pairs, listed = filter_tasks(list(zip(*autoscheduler_get_tuning_tasks(*extracted), strict=True)), tasks_filter)
    if listed:
        print(gen_task_list([task for task, _ in pairs], True))
        return None
    measured = auto_scheduler.LocalRunner(number=number, repeat=repeat, min_repeat_ms=min_repeat_ms or 0)
    _search(pairs, trials, early_stopping, measured, records, prior_records)
    return records


def _check_options(tuner: str, options: Mapping[str, object]) -> None:
    for name in ("hostname", "port", "rpc_key", "rpc_tracker"):
        if options.get(name):
            raise TVMCException(f"tvmc.tune: {name}: there is no RPC to other machines")
    if tuner not in TUNERS:
        raise TVMCException(f"tvmc.tune: tuner must be of {', '.join(TUNERS)}, got {tuner!r}")


def _search(
    pairs: Sequence[tuple[auto_scheduler.SearchTask, int]],
    trials: int,
    early_stopping: int | None,
    runner: auto_scheduler.LocalRunner,
    records: str,
    prior_records: str | os.PathLike[str] | None,
) -> None:
    """Let the auto-scheduler search tasks, each as often as the model has it."""
    tuning = auto_scheduler.TuningOptions(
        num_measure_trials=trials,
        early_stopping=early_stopping,
        runner=runner,
        measure_callbacks=[auto_scheduler.RecordToFile(records)],
    )
    tasks, weights = [task for task, _ in pairs], [weight for _, weight in pairs]
    auto_scheduler.TaskScheduler(tasks, weights, load_log_file=prior_records).tune(tuning)


def autotvm_get_tuning_tasks(
    mod: IRModule,
    params: Mapping[str, NDArray],
    target: TargetLike,
    target_host: object = None,
    transform_args: Mapping[str, Any] | None = None,
) -> list[Task]:
    """Return the tasks of a model that have templates of AutoTVM.

    Parameters
    ----------
    mod : IRModule
    params : mapping of str to NDArray
    target : str or Target
    target_host : optional
        Accepted as TVM does.
    transform_args : mapping of str to object, optional
        Layouts and precision.

    Returns
    -------
    list of Task
    """
    return extract_from_program(apply_graph_transforms(mod, transform_args), params, target)


def autoscheduler_get_tuning_tasks(
    mod: IRModule,
    params: Mapping[str, NDArray],
    target: TargetLike,
    target_host: object = None,
    transform_args: Mapping[str, Any] | None = None,
    hardware_params: auto_scheduler.HardwareParams | None = None,
    include_simple_tasks: bool = False,
) -> tuple[list[auto_scheduler.SearchTask], list[int]]:
    """Return the tasks of a model that the auto-scheduler searches.

    Parameters
    ----------
    mod : IRModule
    params : mapping of str to NDArray
    target : str or Target
    target_host : optional
        Accepted as TVM does.
    transform_args : mapping of str to object, optional
        Layouts and precision.
    hardware_params : HardwareParams, optional
    include_simple_tasks : bool
        Whether kernels without reductions are tasks.

    Returns
    -------
    tasks : list of SearchTask
    weights : list of int
        How often the model has each.
    """
    changed = apply_graph_transforms(mod, transform_args)
    return auto_scheduler.extract_tasks(changed, params, target, None, hardware_params, include_simple_tasks)


def filter_tasks(tasks: Sequence[Any], expr: str) -> tuple[list[Any], bool]:
    """Return some of the tasks.

    Parameters
    ----------
    tasks : sequence of Task or SearchTask
    expr : str
        ``all``, ``list`` or ``help``, or numbers and ranges: ``0,3-5``.

    Returns
    -------
    tasks : list of Task or SearchTask
    listed : bool
        Whether they shall be listed, not searched.

    Raises
    ------
    TVMCException
        If the text is of another form, or there is no task of a number.
    """
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
    """Return a table of tasks.

    Parameters
    ----------
    tasks : sequence of Task or SearchTask
    enable_autoscheduler : bool
        Whether they are the auto-scheduler's.

    Returns
    -------
    str
    """
    names = [task.desc if enable_autoscheduler else str(task) for task in tasks]
    return "\n".join(["Available Tasks for tuning:", *(f"  {i}. {name[:100]}" for i, name in enumerate(names))])


def _tune_template(
    task: Task, tuner: type[Tuner], trials: int, early_stopping: int | None, runner: LocalRunner, records: str
) -> None:
    callbacks = [progress_bar(trials, task.name), log_to_file(records)]
    tuner(task).tune(trials, measure_option(LocalBuilder(), runner), early_stopping, callbacks)


@contextmanager
def applied_records(records: str | os.PathLike[str] | None, target: TargetLike) -> Iterator[None]:
    """Let models be built by the best schedules of a file, of AutoTVM or of the auto-scheduler.

    Parameters
    ----------
    records : str or path, optional
        Nothing happens without one.
    target : str or Target
        What the records are of.

    Yields
    ------
    None

    Raises
    ------
    TVMCException
        If the file cannot be read.
    """
    if records is None:
        yield
        return
    try:
        with open(records, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file if line.strip()]
    except (OSError, ValueError) as error:
        raise TVMCException(f"tvmc.compile: tuning_records: {records!r} is not a file of records: {error}") from None
    history = ApplyHistoryBest(records) if _are_of_templates(lines) else auto_scheduler.ApplyHistoryBest(records)
    with Target(target), history:
        yield


def _are_of_templates(lines: Sequence[dict[str, object]]) -> bool:
    return bool(lines) and "config" in lines[0]
