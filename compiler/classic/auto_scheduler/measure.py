"""Measurement of candidate schedules: builders, runners, options and results."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, NamedTuple, Protocol

from compiler.classic.autotvm.measure import MeasureErrorNo
from compiler.classic.autotvm.measure_methods import LocalRunner as _Runner
from compiler.classic.contrib.popen_pool import PopenWorker
from compiler.classic.contrib.unavailable import UnavailableName
from compiler.driver.build import build
from compiler.ir.error import TVMError, expected
from compiler.ir.instrument import uninstrumented

if TYPE_CHECKING:
    from compiler.classic.auto_scheduler.search_task import SearchTask
    from compiler.classic.auto_scheduler.sketch import State
    from compiler.classic.auto_scheduler.transform_steps import StepState

__all__ = [
    "LocalBuilder",
    "LocalRPCMeasureContext",
    "LocalRunner",
    "MeasureCallback",
    "MeasureErrorNo",
    "MeasureInput",
    "MeasureResult",
    "ProcessRunner",
    "RPCRunner",
    "TuningOptions",
    "measure",
]

_ELSEWHERE = "there is no RPC to other machines; LocalRunner measures on this one"
RPCRunner = UnavailableName("tvm.auto_scheduler.RPCRunner", _ELSEWHERE)


class MeasureInput(NamedTuple):
    """A schedule of a task: chosen numbers of a sketch, or the steps of a record of classic TVM."""

    task: SearchTask
    state: State | StepState


class MeasureResult(NamedTuple):
    """The times of a schedule.

    Attributes
    ----------
    costs : sequence of float
        Seconds of each measurement.
    error_no : int
        Of :class:`MeasureErrorNo`.
    all_cost : float
        Seconds that building and running took together.
    timestamp : float
        When it was measured, in seconds since 1970.
    """

    costs: Sequence[float]
    error_no: int
    error_msg: str
    all_cost: float
    timestamp: float


class MeasureCallback(Protocol):
    """What is called after each round of measurements."""

    def callback(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        """Take notice of measurements."""


@dataclass(frozen=True)
class LocalBuilder:
    """Builds schedules in this process, where nothing is interrupted by a ``timeout``."""

    timeout: int = 15
    n_parallel: int | None = None
    build_func: str = "default"


@dataclass(frozen=True)
class LocalRunner:
    """Runs schedules in this process on random numbers; nothing is interrupted by a ``timeout``.

    A measurement lasts at least ``min_repeat_ms`` milliseconds; ``cooldown_interval`` seconds pass after each schedule.
    """

    timeout: int = 10
    number: int = 3
    repeat: int = 1
    min_repeat_ms: int = 100
    cooldown_interval: float = 0.0
    enable_cpu_cache_flush: bool = False
    device: int = 0


@dataclass(frozen=True)
class ProcessRunner(LocalRunner):
    """Builds and runs schedules in a process of their own, which may crash or hang without ending the search.

    A schedule that takes longer than ``timeout`` seconds, and its building, is interrupted; the other parameters are
    those of :class:`LocalRunner`.
    """

    worker: PopenWorker = field(default_factory=PopenWorker, repr=False, compare=False)

    def measured(self, inp: MeasureInput) -> MeasureResult:
        """Measure a schedule in the process, which is started again after it was interrupted."""
        started = time.time()
        plain = LocalRunner(**{f.name: getattr(self, f.name) for f in fields(LocalRunner)})
        error = MeasureErrorNo.RUN_TIMEOUT
        try:
            self.worker.send(measure, (inp, plain), timeout=self.timeout + LocalBuilder().timeout)
            result: MeasureResult = self.worker.recv()
        except TimeoutError as late:
            message = str(late)
        except ChildProcessError as crashed:
            message, error = str(crashed), MeasureErrorNo.RUNTIME_DEVICE
        else:
            return result
        return MeasureResult((), int(error), message, time.time() - started, time.time())


class LocalRPCMeasureContext:
    """Measures on this machine in another process, its ``runner``; in TVM that process is reached by RPC.

    Schedules are measured one after another, whatever ``priority`` and ``n_parallel`` say; the other parameters are
    those of :class:`LocalRunner`.
    """

    def __init__(
        self,
        priority: int = 1,
        n_parallel: int = 1,
        timeout: int = 10,
        number: int = 3,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        cooldown_interval: float = 0.0,
        enable_cpu_cache_flush: bool = False,
        device: int = 0,
    ) -> None:
        self.runner = ProcessRunner(
            timeout, number, repeat, min_repeat_ms, cooldown_interval, enable_cpu_cache_flush, device
        )


@dataclass
class TuningOptions:
    """How a task is searched.

    Parameters
    ----------
    num_measure_trials : int
        Schedules to measure at most; with 0 the first schedule of the sketch is taken.
    early_stopping : int, optional
        End when so many schedules in a row were no better.
    num_measures_per_round : int
        Schedules that are measured before the model learns from them.
    verbose : int
        0 prints nothing.
    builder, runner : LocalBuilder, LocalRunner or str
        ``local`` is one of these classes.
    measure_callbacks : sequence of MeasureCallback, optional
        E.g. a :class:`~compiler.classic.auto_scheduler.record.RecordToFile`.
    """

    num_measure_trials: int = 0
    early_stopping: int | None = None
    num_measures_per_round: int = 64
    verbose: int = 1
    builder: LocalBuilder | str = "local"
    runner: LocalRunner | str = "local"
    measure_callbacks: Sequence[MeasureCallback] | None = None

    def __post_init__(self) -> None:
        self.builder = LocalBuilder() if self.builder == "local" else self.builder
        self.runner = LocalRunner() if self.runner == "local" else self.runner
        if not isinstance(self.builder, LocalBuilder):
            expected("TuningOptions", "builder", "a LocalBuilder or 'local'", self.builder)
        if not isinstance(self.runner, LocalRunner):
            expected("TuningOptions", "runner", "a LocalRunner or 'local'", self.runner)

    @property
    def local_runner(self) -> LocalRunner:
        """The runner."""
        assert isinstance(self.runner, LocalRunner)
        return self.runner


def measure(inp: MeasureInput, runner: LocalRunner) -> MeasureResult:
    """Build a schedule and measure it; an error stands in place of times where that is not possible."""
    started = time.time()
    if isinstance(runner, ProcessRunner):
        return runner.measured(inp)
    stage = MeasureErrorNo.INSTANTIATION_ERROR
    run = _Runner(
        number=runner.number,
        repeat=runner.repeat,
        min_repeat_ms=runner.min_repeat_ms,
        cooldown_interval=runner.cooldown_interval,
    )
    costs: Sequence[float] = ()
    message, error = "", MeasureErrorNo.NO_ERROR
    with uninstrumented(), inp.task.target:
        try:
            schedule, args = inp.task.compute_dag.apply_steps_from_state(inp.state)
            stage = MeasureErrorNo.COMPILE_HOST
            module = build(schedule, args, inp.task.target)
            stage = MeasureErrorNo.RUNTIME_DEVICE
            costs = run.seconds(module, args)
        except TVMError as failed:
            message, error = str(failed), stage
    return MeasureResult(costs, int(error), message, time.time() - started, time.time())
