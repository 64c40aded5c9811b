"""Measurement of candidates: builders, runners and batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from compiler.classic.autotvm.measure import (
    ArgInfo,
    Builder,
    BuildResult,
    MeasureErrorNo,
    MeasureInput,
    MeasureResult,
    Runner,
)
from compiler.classic.autotvm.task import Task
from compiler.classic.autotvm.task.space import InstantiationError
from compiler.classic.rpc.devices import check_remote, request_remote
from compiler.driver.build import build
from compiler.ir.error import RPCError, RPCSessionTimeoutError, TVMError, expected, require_seconds
from compiler.ir.expr.scalars import int_value
from compiler.ir.instrument import uninstrumented
from compiler.runtime.device import Device, cpu
from compiler.runtime.modules.library import load_module
from compiler.runtime.modules.module import Module
from compiler.runtime.timing.time_evaluator import require_measurements
from compiler.search.measurer import Measurement, apart
from compiler.search.parts import results_of, wrong_times
from compiler.search.tuning import timed

__all__ = [
    "BuildResult", "LocalBuilder", "LocalRunner", "MeasureBatch", "RPCRunner", "check_remote", "create_measure_batch",
    "measure_option", "request_remote",
]  # fmt: skip

Costs = tuple[Sequence[float | Exception], MeasureErrorNo]
MeasureBatch = Callable[[Sequence[MeasureInput]], list[MeasureResult]]


class LocalBuilder(Builder):
    """Builds candidates, ``n_parallel`` at a time, in processes of their own that ``timeout`` seconds by the clock end.

    The libraries are there until the next ones are built. A function ``build_func`` makes a library by its name, with
    the ending ``build_func.output_format``, of object files.
    """

    def __init__(
        self, timeout: float = 10, n_parallel: int | None = None, build_kwargs: Mapping[str, object] | None = None,
        build_func: Callable[[str, Sequence[str]], object] | str = "default", do_fork: bool = False,
        runtime: object = None,
    ) -> None:  # fmt: skip
        super().__init__(timeout, n_parallel, build_kwargs)
        if build_func != "default" and not callable(build_func):
            expected("LocalBuilder", "build_func", "a function or 'default'", build_func)
        self.build_func = build_func

    def build(self, measure_inputs: Sequence[MeasureInput]) -> list[BuildResult]:
        """Build candidates; one that fails, or that its template refuses, has what is to be recorded of it."""
        self._folder = TemporaryDirectory(prefix="autotvm_")
        calls = [partial(self._built, at, inp) for at, inp in enumerate(measure_inputs)]
        made = apart(calls, self.timeout, self.n_parallel)
        return [_ended(each) if isinstance(each, Measurement) else each for each in made]

    def _built(self, at: int, inp: MeasureInput) -> BuildResult:
        started = time.time()
        try:
            with inp.target:
                schedule, args = inp.task.instantiate(inp.config)
                path = self._library(build(schedule, list(args), inp.target), f"{self._folder.name}/{at}")
            info = tuple((tuple(map(int_value, arg.shape)), str(arg.dtype)) for arg in args)
            return BuildResult(path, info, None, time.time() - started)
        except InstantiationError as refused:
            return _failed(MeasureErrorNo.INSTANTIATION_ERROR, str(refused), time.time() - started)

    def _library(self, module: Module, path: str) -> str:
        if isinstance(self.build_func, str):
            module.export_library(f"{path}.tar")
            return f"{path}.tar"
        module.export_library(f"{path}.o")
        name = f"{path}.{getattr(self.build_func, 'output_format', 'so')}"
        self.build_func(name, [f"{path}.o"])
        return name


def _ended(made: Measurement) -> BuildResult:
    error = MeasureErrorNo.BUILD_TIMEOUT if made.kind == "hung" else MeasureErrorNo.COMPILE_HOST
    return _failed(error, f"LocalBuilder: {made.kind}: {made.message}", made.seconds)


def _failed(error: MeasureErrorNo, message: str, seconds: float) -> BuildResult:
    result = MeasureResult((RuntimeError(message),), int(error), seconds, time.time())
    return BuildResult(None, (), result, seconds)


class LocalRunner(Runner):
    """Runs candidates on random numbers, each in a process of its own, which ``timeout`` seconds by the clock end.

    A measurement lasts at least ``min_repeat_ms`` milliseconds; ``cooldown_interval`` seconds pass after each
    candidate.
    """

    def __init__(
        self, timeout: float = 10, number: int = 4, repeat: int = 3, min_repeat_ms: int = 0,
        cooldown_interval: float = 0.0, enable_cpu_cache_flush: bool = False, module_loader: object = None,
    ) -> None:  # fmt: skip
        super().__init__(timeout, 1)
        require_measurements(type(self).__name__, number, repeat, min_repeat_ms)
        require_seconds(type(self).__name__, "cooldown_interval", cooldown_interval)
        self.number = number
        self.repeat = repeat
        self.min_repeat_ms = min_repeat_ms
        self.cooldown_interval = cooldown_interval
        self.enable_cpu_cache_flush = enable_cpu_cache_flush
        self.module_loader = module_loader

    def run(self, measure_inputs: Sequence[MeasureInput], build_results: Sequence[BuildResult]) -> list[MeasureResult]:
        """Measure candidates: seconds of a call, one for each measurement."""
        with uninstrumented():
            return [self._measured(built) for built in build_results]

    def _measured(self, built: BuildResult) -> MeasureResult:
        if built.filename is None:
            assert built.error is not None
            return built.error
        started = time.time()
        costs, error = self._costs(partial(self.seconds, built.filename, built.arg_info))
        time.sleep(self.cooldown_interval)
        return MeasureResult(costs, int(error), built.time_cost + time.time() - started, time.time())

    def _costs(self, measure: Callable[[], tuple[float, ...]]) -> Costs:
        """Measure in a child; return the seconds, or why there are none."""
        (made,) = apart([measure], self.timeout)
        if not isinstance(made, Measurement):
            return made, MeasureErrorNo.NO_ERROR
        is_late = made.kind == "hung"
        return (RuntimeError(made.message),), MeasureErrorNo.RUN_TIMEOUT if is_late else MeasureErrorNo.RUNTIME_DEVICE

    def seconds(self, filename: str, arg_info: ArgInfo) -> tuple[float, ...]:
        """Measure one library."""
        return self._timed(load_module(filename), arg_info, cpu())

    def _timed(self, module: Module, arg_info: ArgInfo, device: Device) -> tuple[float, ...]:
        flushing = self.enable_cpu_cache_flush
        return tuple(timed(module, arg_info, device, self.number, self.repeat, self.min_repeat_ms, flushing))


class RPCRunner(LocalRunner):
    """Runs candidates on machines of a key that a tracker lends, ``n_parallel`` at a time.

    Each has a session of its own, which ends after ``timeout`` seconds.
    """

    def __init__(
        self, key: str, host: str | None, port: int | None, priority: int = 1, timeout: float = 10,
        n_parallel: int | None = None, number: int = 4, repeat: int = 3, min_repeat_ms: int = 0,
        cooldown_interval: float = 0.1, enable_cpu_cache_flush: bool = False, module_loader: object = None,
    ) -> None:  # fmt: skip
        super().__init__(timeout, number, repeat, min_repeat_ms, cooldown_interval, enable_cpu_cache_flush)
        self.key, self.host, self.port, self.priority = key, host, port, priority
        self.n_parallel = n_parallel or 1

    def set_task(self, task: Task) -> None:
        """Take notice of the task whose candidates are run.

        Raises RPCError if no machine of the key is free within ten seconds.
        """
        super().set_task(task)
        if not check_remote(task.target, self.key, self.host, self.port):
            raise RPCError(f"RPCRunner: the tracker at {self.host}:{self.port} lends no free machine {self.key!r}")

    def run(self, measure_inputs: Sequence[MeasureInput], build_results: Sequence[BuildResult]) -> list[MeasureResult]:
        """Measure candidates: seconds of a call, one for each measurement."""
        with ThreadPoolExecutor(self.n_parallel) as threads:
            return list(threads.map(lambda built: super(RPCRunner, self).run((), [built])[0], build_results))

    def _costs(self, measure: Callable[[], tuple[float, ...]]) -> Costs:
        """Measure in a session, which is in a process of its own; return the seconds, or why there are none."""
        try:
            return measure(), MeasureErrorNo.NO_ERROR
        except TVMError as failed:
            is_late = isinstance(failed, RPCSessionTimeoutError)
            return (failed,), MeasureErrorNo.RUN_TIMEOUT if is_late else MeasureErrorNo.RUNTIME_DEVICE

    def seconds(self, filename: str, arg_info: ArgInfo) -> tuple[float, ...]:
        """Measure one library."""
        with request_remote(self.key, self.host, self.port, self.priority, self.timeout) as remote:
            remote.upload(filename)
            return self._timed(remote.load_module(Path(filename).name), arg_info, remote.cpu())


def measure_option(builder: Builder | str, runner: Runner | str) -> dict[str, object]:
    """Return how candidates are measured; ``local`` is a :class:`LocalBuilder` and a :class:`LocalRunner`."""
    builder = LocalBuilder() if builder == "local" else builder
    runner = LocalRunner() if runner == "local" else runner
    if not isinstance(builder, Builder):
        expected("measure_option", "builder", "a Builder or 'local'", builder)
    if not isinstance(runner, Runner):
        expected("measure_option", "runner", "a Runner or 'local'", runner)
    return {"builder": builder, "runner": runner}


def create_measure_batch(task: Task, option: Mapping[str, Any]) -> MeasureBatch:
    """Return what measures candidates."""
    if not isinstance(option, Mapping) or not {"builder", "runner"} <= set(option):
        expected("autotvm", "measure_option", "what autotvm.measure_option returned", option)
    builder: Builder = option["builder"]
    runner: Runner = option["runner"]
    runner.set_task(task)
    builder.set_task(task, runner.get_build_kwargs())

    def measure(inputs: Sequence[MeasureInput]) -> list[MeasureResult]:
        built = results_of(builder, "build", builder.build(inputs), BuildResult, len(inputs))
        made = results_of(runner, "run", runner.run(inputs, built), MeasureResult, len(inputs))
        return [_checked(runner, result) for result in made]

    return measure


def _checked(runner: Runner, result: MeasureResult) -> MeasureResult:
    """Return a result, as a failure if it has costs that no time is."""
    if result.error_no or not (wrong := wrong_times(runner, result.costs)):
        return result
    return result._replace(costs=(RuntimeError(wrong),), error_no=int(MeasureErrorNo.UNKNOWN_ERROR))
