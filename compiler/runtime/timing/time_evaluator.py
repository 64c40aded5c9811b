"""``time_evaluator``: benchmarks functions of modules, executors and the virtual machine."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from compiler.ir.deprecation import renamed_parameter
from compiler.ir.error import expected, require_int
from compiler.runtime.device import Device
from compiler.runtime.modules.packed_func import get_global_func, register_func
from compiler.runtime.timing.measurement import BenchmarkResult


class Timed(Protocol):
    """What has functions that can be measured."""

    @abstractmethod
    def evaluator(self, func_name: str, number: int, repeat: int, min_seconds: float) -> Callable[..., BenchmarkResult]:
        """Return what measures a function, given the function's arguments.

        Each of ``repeat`` measurements averages over ``number`` calls, or more until it lasts ``min_seconds``. Raises
        ArgumentError if there is no such function.
        """


def require_measurements(operation: str, number: object, repeat: object, min_repeat_ms: object) -> None:
    """Refuse what does not say how often to measure, and for how long.  Raises ArgumentError."""
    for name, value, least in (("number", number, 1), ("repeat", repeat, 1), ("min_repeat_ms", min_repeat_ms, 0)):
        require_int(operation, name, value, least)


@renamed_parameter("ctx", "dev")
def time_evaluator(
    self: Timed,
    func_name: str,
    dev: Device,
    number: int = 10,
    repeat: int = 1,
    min_repeat_ms: int = 0,
    limit_zero_time_iterations: int = 100,
    cooldown_interval_ms: int = 0,
    repeats_to_cooldown: int = 1,
    cache_flush_bytes: int = 0,
    f_preproc: str = "",
) -> Callable[..., BenchmarkResult]:
    """Return a function of the kernel's arguments that measures it, in seconds a call.

    Parameters
    ----------
    number : int
        Calls that each of ``repeat`` measurements averages over.
    min_repeat_ms : int
        A measurement lasts at least this many milliseconds: ``number`` grows until it does.
    limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown : int
        No effect.
    cache_flush_bytes : int
        Before each measurement, as many bytes are written, so that the arguments are not in the caches any more.
    f_preproc : str
        Name of a registered function that is called with the kernel's arguments before each measurement.
    """
    require_measurements("time_evaluator", number, repeat, min_repeat_ms)
    require_int("time_evaluator", "cache_flush_bytes", cache_flush_bytes, 0)
    if not isinstance(dev, Device):
        expected("time_evaluator", "dev", "a device such as tvm.cpu(0)", type(dev).__name__)
    dev.require("time_evaluator")
    preparations: list[Callable[..., object]] = []
    if f_preproc:
        prepare = get_global_func(f_preproc)
        assert prepare is not None
        preparations.append(prepare)
    if cache_flush_bytes:
        preparations.append(_cache_flush(cache_flush_bytes))
    if not preparations:
        return self.evaluator(func_name, number, repeat, min_repeat_ms / 1e3)
    return _prepared(self.evaluator(func_name, number, 1, min_repeat_ms / 1e3), repeat, preparations)


def _cache_flush(size: int) -> Callable[..., None]:
    """Return what writes as many bytes."""
    flushed = np.zeros(size, "uint8")

    def flush(*args: object) -> None:
        np.add(flushed, 1, out=flushed)

    return flush


def _flush_arguments(*args: object) -> None:
    """Write more bytes than the caches of processors hold, so that no argument is in them any more."""
    _cache_flush(_MORE_THAN_CACHES)()


_MORE_THAN_CACHES = 1 << 27

register_func("cache_flush_cpu_non_first_arg", _flush_arguments)


def _prepared(
    evaluate: Callable[..., BenchmarkResult], repeat: int, preparations: Sequence[Callable[..., object]]
) -> Callable[..., BenchmarkResult]:
    """Return what measures several times, each after the preparations have been made."""

    def measure(*args: object) -> BenchmarkResult:
        seconds: list[float] = []
        for _ in range(repeat):
            for prepare in preparations:
                prepare(*args)
            seconds += evaluate(*args).results
        return BenchmarkResult(seconds)

    return measure
