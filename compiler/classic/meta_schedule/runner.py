"""``tvm.meta_schedule.runner``: where schedules are measured."""

from __future__ import annotations

import math
import shutil
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from compiler.classic.meta_schedule.builder import Builder, BuilderInput, BuilderResult, LocalBuilder
from compiler.classic.meta_schedule.part import created
from compiler.classic.rpc.devices import request_remote
from compiler.ir.error import ArgumentError, expected, undefined
from compiler.ir.module import IRModule
from compiler.runtime.device import cpu
from compiler.runtime.modules.library import load_module
from compiler.runtime.numpy_types import NumPyArray
from compiler.runtime.rpc.client import RPCSession
from compiler.runtime.timing.time_evaluator import require_measurements
from compiler.search.measurer import Build, Limits, Measurement, Measurer, Measuring, apart, program_of
from compiler.search.pairing import Pairing, Patience
from compiler.search.parts import results_of, wrong_times
from compiler.search.remote import RemoteMeasurer
from compiler.search.tuning import timed
from compiler.target.target import Target
from compiler.tir.statements.function import PrimFunc

_TURNS = 12
"""As many turns last together what one measurement lasts at least in TVM."""


class RPCConfig(NamedTuple):
    """The tracker, the key of the machines that it lends, and how many seconds a session takes at most."""

    tracker_host: str | None = None
    tracker_port: int | None = None
    tracker_key: str | None = None
    session_priority: int = 1
    session_timeout_sec: int = 10


class EvaluatorConfig(NamedTuple):
    """How long schedules take turns, and whether caches are flushed; turns end when they are certain."""

    number: int = 3
    repeat: int = 1
    min_repeat_ms: int = 100
    enable_cpu_cache_flush: bool = False


config = SimpleNamespace(EvaluatorConfig=EvaluatorConfig, RPCConfig=RPCConfig)
"""The module that these classes have in TVM."""


class TensorInfo(NamedTuple):
    """An argument that is an array."""

    dtype: str
    shape: Sequence[int]


def args_info(func: PrimFunc | IRModule) -> list[TensorInfo]:
    """Return what the arguments of the only function of a program are."""
    if isinstance(func, IRModule):
        (only,) = func.functions.values()
        assert isinstance(only, PrimFunc)
        func = only
    buffers = [func.buffer_map[param] for param in func.params]
    return [TensorInfo(b.dtype, [int(getattr(dim, "value", -1)) for dim in b.shape]) for b in buffers]


class ArgInfo:
    """Says what the arguments of a function are."""

    from_prim_func = staticmethod(args_info)

    @staticmethod
    def from_entry_func(mod: IRModule, remove_preproc: bool = True) -> list[TensorInfo]:
        """Return what the arguments of the only function of a program are."""
        return args_info(mod)


class RunnerInput(NamedTuple):
    """An artifact to be measured."""

    artifact_path: str
    device_type: str
    args_info: Sequence[TensorInfo]


class RunnerResult(NamedTuple):
    """Seconds of each measurement, or why there are none."""

    run_secs: Sequence[float] | None
    error_msg: str | None


class RunnerFuture:
    """A measurement that may not have ended; a program's own derives from it, or from ``PyRunnerFuture``."""

    def __init__(self, f_done: Callable[[], bool] | None = None, f_result: Callable[[], RunnerResult] | None = None):
        self._done, self._result = f_done, f_result

    def done(self) -> bool:
        """Return whether it has ended."""
        return self._done is None or self._done()

    def result(self) -> RunnerResult:
        """Return what came of it, as soon as it has ended.

        Raises UndefinedMethodError if neither a function was given nor a class says what comes of it.
        """
        if self._result is None:
            undefined(self, "result")
        return self._result()


class LocalRunnerFuture(RunnerFuture):
    """A measurement that has ended: its seconds, or why there are none."""

    def __init__(self, res: Sequence[float] | None = None, error_message: str | None = None) -> None:
        super().__init__(f_result=lambda: RunnerResult(res, error_message))


class Runner:
    """Measures artifacts; a program's own one derives from this class, or from its other name ``PyRunner``."""

    def run(self, runner_inputs: Sequence[RunnerInput]) -> Sequence[RunnerFuture]:
        """Begin to measure artifacts."""
        undefined(self, "run")


PyRunner = Runner
PyRunnerFuture = RunnerFuture


def _checked(runner: Runner, config: EvaluatorConfig) -> EvaluatorConfig:
    name = type(runner).__name__
    if not isinstance(config, EvaluatorConfig):
        expected(name, "evaluator_config", "an EvaluatorConfig", config)
    require_measurements(name, config.number, config.repeat, config.min_repeat_ms)
    return config


class LocalRunner(Runner):
    """Measures on this machine, in processes of their own that have so many seconds."""

    def __init__(self, timeout_sec: float = 30.0, evaluator_config: EvaluatorConfig | None = None) -> None:
        self.timeout_sec = timeout_sec
        self.evaluator_config = _checked(self, evaluator_config or EvaluatorConfig())

    def run(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerFuture]:
        """Measure artifacts, one after another."""
        made = apart([partial(_seconds, given, self.evaluator_config) for given in runner_inputs], self.timeout_sec)
        return [
            LocalRunnerFuture(None, f"LocalRunner: {each.kind}: {each.message}")
            if isinstance(each, Measurement)
            else LocalRunnerFuture(each)
            for each in made
        ]

    def measuring(self, arrays: Sequence[NumPyArray], threads: int) -> Measurer:
        """Return what measures with some arguments of a function."""
        config = self.evaluator_config
        patience = Patience(turn=config.min_repeat_ms / 1e3 / _TURNS)
        limits = Limits(run=self.timeout_sec)
        return Measurer(arrays, threads, 2, limits, patience, config.enable_cpu_cache_flush)


def _seconds(given: RunnerInput, config: EvaluatorConfig) -> list[float]:
    info = [(each.shape, each.dtype) for each in given.args_info]
    return timed(load_module(given.artifact_path), info, cpu(0), *config)


@dataclass
class RunnerMeasurer:
    """Measures for a search by a builder and a runner of TVM's kind: times are as these say, results not compared."""

    builder: Builder
    runner: Runner
    target: Target
    arrays: Sequence[NumPyArray]
    threads: int = 1
    _reference: float = field(default=math.nan, init=False)

    def expect(self, build: Build) -> Measurement:
        """Take the default as the reference."""
        made = self._run([build])[0]
        if wrong := self._wrong(made):
            return Measurement("refused", wrong)
        self._reference = statistics.fmean(made.run_secs or ())
        return Measurement()

    def refer(self, build: Build) -> None:
        """Take another kernel as the reference."""
        if self.expect(build).kind != "ok":
            self._reference = math.nan

    def measure(self, builds: Sequence[Build], patience: Patience | None = None) -> Iterator[Measurement]:
        """Measure candidates, all of them together."""
        for made in self._run(builds):
            if wrong := self._wrong(made):
                yield Measurement("refused", wrong)
                continue
            times = tuple(made.run_secs or ())
            seconds, logs = statistics.fmean(times), [math.log(each / self._reference) for each in times]
            error = statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else 0.0
            yield Measurement(pairing=Pairing(seconds / self._reference, error, seconds, self._reference, times))

    def _wrong(self, made: RunnerResult) -> str:
        """Return why a result has no times that can be compared; empty if it has."""
        if not made.run_secs:
            return made.error_msg or "the runner returned no times"
        return wrong_times(self.runner, made.run_secs)

    def _run(self, builds: Sequence[Build]) -> list[RunnerResult]:
        """Return what runs of programs take; their artifacts are removed."""
        given = [BuilderInput(program_of(build), self.target) for build in builds]
        built = results_of(self.builder, "build", self.builder.build(given), BuilderResult, len(given))
        info = [TensorInfo(str(a.dtype), a.shape) for a in self.arrays]
        device = "cpu" if self.target.kind == "llvm" else self.target.kind
        inputs = [RunnerInput(one.artifact_path, device, info) for one in built if one.artifact_path is not None]
        try:
            begun = results_of(self.runner, "run", self.runner.run(inputs) if inputs else [], RunnerFuture, len(inputs))
            ended = [future.result() for future in begun]
            results = iter(results_of(begun[0] if begun else None, "result", ended, RunnerResult, len(inputs)))
            return [RunnerResult(None, one.error_msg) if one.artifact_path is None else next(results) for one in built]
        finally:
            if isinstance(self.builder, LocalBuilder):
                for each in inputs:
                    shutil.rmtree(Path(each.artifact_path).parent)


class RPCRunner(Runner):
    """Measures schedules on machines that a tracker lends, one after another, each in a session of its own."""

    def __init__(self, rpc_config: RPCConfig | None = None, evaluator_config: EvaluatorConfig | None = None) -> None:
        self.rpc_config = rpc_config or RPCConfig()
        self.evaluator_config = _checked(self, evaluator_config or EvaluatorConfig())

    def measuring(self, arrays: Sequence[NumPyArray], threads: int) -> RemoteMeasurer:
        """Return what measures with some arguments of a function."""
        config = self.evaluator_config
        patience = Patience(turn=config.min_repeat_ms / 1e3 / _TURNS)
        return RemoteMeasurer(arrays, self._session, threads, patience, config.enable_cpu_cache_flush)

    def _session(self) -> RPCSession:
        host, port, key, priority, seconds = self.rpc_config
        return request_remote(key or "", host, port, priority, seconds)


def create(kind: str = "local", *args: Any, **options: Any) -> Runner:
    """Return a runner on this machine, ``local``, or by a tracker, ``rpc``."""
    kinds: dict[str, Callable[..., Runner]] = {"local": LocalRunner, "rpc": RPCRunner}
    return created("runner.create", kinds, kind, *args, **options)


MeasuringBy = Callable[[Sequence[NumPyArray], int], Measuring]


def measuring_by(builder: Builder | str, runner: Runner | str, target: Target) -> MeasuringBy | None:
    """Return what a search measures with, of which ``local`` are its own; None if both are.

    Raises ArgumentError if a program's own builder is to serve an RPCRunner.
    """
    is_own_builder = isinstance(builder, str) or (type(builder) is LocalBuilder and builder.f_build is None)
    if isinstance(runner, str) and is_own_builder:
        return None
    if isinstance(runner, (LocalRunner, RPCRunner)) and is_own_builder:
        return runner.measuring
    if isinstance(runner, RPCRunner):
        raise ArgumentError("tune_tir: what an RPCRunner measures, builder='local' builds")
    made_builder = LocalBuilder() if isinstance(builder, str) else builder
    made_runner = LocalRunner() if isinstance(runner, str) else runner
    return lambda arrays, threads: RunnerMeasurer(made_builder, made_runner, target, arrays, threads)
