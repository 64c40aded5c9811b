"""Searching for the schedules of a model: ``tvmc.tune``."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from compiler.autotvm.task import ApplyHistoryBest, Task
from compiler.driver import auto_scheduler
from compiler.driver.autotvm.callback import log_to_file, progress_bar
from compiler.driver.autotvm.extraction import extract_from_program
from compiler.driver.autotvm.measure_methods import LocalBuilder, LocalRunner, measure_option
from compiler.driver.autotvm.model_based_tuner import XGBTuner
from compiler.driver.autotvm.tuner import GATuner, GridSearchTuner, RandomTuner, Tuner
from compiler.driver.tvmc.errors import TVMCException
from compiler.driver.tvmc.model import TVMCModel
from compiler.target.target import Target, TargetLike

__all__ = ["TUNERS", "applied_records", "tune_model"]

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
    **options: object,
) -> str:
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
    **options
        What TVM takes for other machines, which must be false or None; ``timeout`` and ``parallel`` are accepted.

    Returns
    -------
    str
        The file of records.

    Raises
    ------
    TVMCException
        If something is asked for that does not exist here.
    """
    for name in ("hostname", "port", "rpc_key", "rpc_tracker"):
        if options.get(name):
            raise TVMCException(f"tvmc.tune: {name}: other machines are not reached from here")
    if tuner not in TUNERS:
        raise TVMCException(f"tvmc.tune: tuner must be of {', '.join(TUNERS)}, got {tuner!r}")
    records = os.fspath(tuning_records) if tuning_records is not None else tempfile.mkstemp(suffix=".json")[1]
    tasks = [] if enable_autoscheduler else extract_from_program(tvmc_model.mod, tvmc_model.params, target)
    if tasks:
        runner = LocalRunner(number=number, repeat=repeat, min_repeat_ms=min_repeat_ms or 0)
        for task in tasks:
            _tune_template(task, TUNERS[tuner], trials, early_stopping, runner, records)
        return records
    searched, weights = auto_scheduler.extract_tasks(
        tvmc_model.mod, tvmc_model.params, target, None, hardware_params, include_simple_tasks
    )
    tuning = auto_scheduler.TuningOptions(
        num_measure_trials=trials,
        early_stopping=early_stopping,
        runner=auto_scheduler.LocalRunner(number=number, repeat=repeat, min_repeat_ms=min_repeat_ms or 0),
        measure_callbacks=[auto_scheduler.RecordToFile(records)],
    )
    auto_scheduler.TaskScheduler(searched, weights, load_log_file=prior_records).tune(tuning)
    return records


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
