"""``time_evaluator``: benchmarks functions of modules, executors and the virtual machine."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Protocol

import numpy as np

from compiler.ir.deprecation import renamed_parameter
from compiler.ir.error import expected
from compiler.runtime.device import Device
from compiler.runtime.measurement import BenchmarkResult

__all__ = ["Timed", "time_evaluator"]


class Timed(Protocol):
    """What has functions that can be measured."""

    @abstractmethod
    def evaluator(self, func_name: str, number: int, repeat: int, min_seconds: float) -> Callable[..., BenchmarkResult]:
        """Return what measures a function, given the function's arguments.

        Parameters
        ----------
        func_name : str
        number : int
            Calls that one measurement averages over.
        repeat : int
            Measurements.
        min_seconds : float
            A measurement lasts at least this long.

        Returns
        -------
        callable
            Of the function's arguments.

        Raises
        ------
        ArgumentError
            If there is no such function.
        """


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
    """Return a function of the kernel's arguments that measures it.

    Parameters
    ----------
    func_name : str
        The kernel.
    dev : Device
        Where it runs.
    number : int
        Calls that one measurement averages over.
    repeat : int
        Measurements.
    min_repeat_ms : int
        A measurement lasts at least this many milliseconds: ``number`` grows until it does.
    limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown : int
        Accepted for compatibility.
    cache_flush_bytes : int
        Before each measurement, as many bytes are written, so that the arguments are not in the caches any more.
    f_preproc : str
        Accepted for compatibility.

    Returns
    -------
    callable
        Returns a :class:`BenchmarkResult` in seconds a call.
    """
    counts = (("number", number, 1), ("repeat", repeat, 1), ("min_repeat_ms", min_repeat_ms, 0))
    for name, value, least in (*counts, ("cache_flush_bytes", cache_flush_bytes, 0)):
        if not isinstance(value, int) or value < least:
            expected("time_evaluator", name, f"an int of at least {least}", value)
    if not isinstance(dev, Device):
        expected("time_evaluator", "dev", "a device such as tvm.cpu(0)", type(dev).__name__)
    dev.require("time_evaluator")
    if not cache_flush_bytes:
        return self.evaluator(func_name, number, repeat, min_repeat_ms / 1e3)
    return _from_cold_caches(self.evaluator(func_name, number, 1, min_repeat_ms / 1e3), repeat, cache_flush_bytes)


def _from_cold_caches(
    evaluate: Callable[..., BenchmarkResult], repeat: int, size: int
) -> Callable[..., BenchmarkResult]:
    """Return what measures several times, each after as many bytes have been written."""
    flushed = np.zeros(size, "uint8")

    def measure(*args: object) -> BenchmarkResult:
        seconds: list[float] = []
        for _ in range(repeat):
            flushed[:] = flushed[0] + 1
            seconds += evaluate(*args).results
        return BenchmarkResult(seconds)

    return measure
