"""Measurement of candidate schedules: builders, runners, options and results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from compiler.classic.autotvm.measure import MeasureErrorNo
from compiler.classic.rpc.devices import request_remote
from compiler.ir.error import expected
from compiler.runtime.rpc.client import RPCSession
from compiler.runtime.timing.time_evaluator import require_measurements

if TYPE_CHECKING:
    from compiler.classic.auto_scheduler.search_policy import SketchPolicy
    from compiler.classic.auto_scheduler.search_task import SearchTask
    from compiler.classic.auto_scheduler.sketch import State
    from compiler.classic.auto_scheduler.transform_steps import StepState

__all__ = [
    "LocalBuilder", "LocalRPCMeasureContext", "LocalRunner", "MeasureCallback", "MeasureErrorNo", "MeasureInput",
    "MeasureResult", "PythonBasedMeasureCallback", "RPCRunner", "TuningOptions",
]  # fmt: skip


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
    """What is called after each round of measurements; a program's own derives from it by its other name."""

    def callback(self, policy: SketchPolicy, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        """Take notice of measurements."""


PythonBasedMeasureCallback = MeasureCallback


@dataclass(frozen=True)
class LocalBuilder:
    """Builds schedules in processes of their own, ``n_parallel`` at a time, each within ``timeout`` seconds."""

    timeout: int = 15
    n_parallel: int | None = None
    build_func: str = "default"


@dataclass(frozen=True)
class LocalRunner:
    """Runs schedules in processes of their own on random numbers, in turns with what is known to be fast.

    A schedule has ``timeout`` seconds of processor time, and its turns last ``min_repeat_ms`` milliseconds together;
    ``repeat`` is how many times a result has. Turns are ended when they are certain, whatever ``number`` says, and
    there is no pause (``cooldown_interval``).
    """

    timeout: int = 10
    number: int = 3
    repeat: int = 1
    min_repeat_ms: int = 100
    cooldown_interval: float = 0.0
    enable_cpu_cache_flush: bool = False
    device: int = 0

    def __post_init__(self) -> None:
        require_measurements("LocalRunner", self.number, self.repeat, self.min_repeat_ms)


@dataclass(frozen=True)
class RPCRunner:
    """Runs schedules on machines of a key that a tracker lends, in turns with what is known to be fast.

    Each has a session of its own, which ends after ``timeout`` seconds; the rest is as of :class:`LocalRunner`.
    Schedules are measured one after another, whatever ``n_parallel`` says.
    """

    key: str
    host: str
    port: int
    priority: int = 1
    n_parallel: int = 1
    timeout: int = 10
    number: int = 3
    repeat: int = 1
    min_repeat_ms: int = 100
    cooldown_interval: float = 0.0
    enable_cpu_cache_flush: bool = False
    device: int = 0

    def __post_init__(self) -> None:
        require_measurements("RPCRunner", self.number, self.repeat, self.min_repeat_ms)

    def session(self) -> RPCSession:
        """Return a session on one of the machines."""
        return request_remote(self.key, self.host, self.port, self.priority, self.timeout)


class LocalRPCMeasureContext:
    """Measures on this machine, by its ``runner``; in TVM the process that measures is reached by RPC.

    Schedules are measured one after another, whatever ``priority`` and ``n_parallel`` say; the other parameters are
    those of :class:`LocalRunner`.
    """

    def __init__(
        self, priority: int = 1, n_parallel: int = 1, timeout: int = 10, number: int = 3, repeat: int = 1,
        min_repeat_ms: int = 0, cooldown_interval: float = 0.0, enable_cpu_cache_flush: bool = False, device: int = 0,
    ) -> None:  # fmt: skip
        self.runner = LocalRunner(
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
    builder, runner : LocalBuilder, LocalRunner, RPCRunner or str
        ``local`` is one of these classes.
    measure_callbacks : sequence of MeasureCallback, optional
        E.g. a :class:`~compiler.classic.auto_scheduler.record.RecordToFile`.
    """

    num_measure_trials: int = 0
    early_stopping: int | None = None
    num_measures_per_round: int = 64
    verbose: int = 1
    builder: LocalBuilder | str = "local"
    runner: LocalRunner | RPCRunner | str = "local"
    measure_callbacks: Sequence[MeasureCallback] | None = None

    def __post_init__(self) -> None:
        self.builder = LocalBuilder() if self.builder == "local" else self.builder
        self.runner = LocalRunner() if self.runner == "local" else self.runner
        if not isinstance(self.builder, LocalBuilder):
            expected("TuningOptions", "builder", "a LocalBuilder or 'local'", self.builder)
        if not isinstance(self.runner, (LocalRunner, RPCRunner)):
            expected("TuningOptions", "runner", "a LocalRunner, an RPCRunner or 'local'", self.runner)

    @property
    def made_runner(self) -> LocalRunner | RPCRunner:
        """The runner."""
        assert isinstance(self.runner, (LocalRunner, RPCRunner))
        return self.runner
