"""``tvm.runtime.profiling``: profiles a model call by call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from compiler.classic.runtime.report import Count, Duration, Metric, Percent, Ratio, Report, Row, Value, number_of
from compiler.ir.error import ArgumentError
from compiler.ir.extension import public_module
from compiler.runtime.arrays.ndarray import NDArray
from compiler.runtime.device import Device
from compiler.runtime.modules.module import Module
from compiler.runtime.parallel.threads import num_threads
from compiler.runtime.timing.clock import disturbed_words, stopwatch

__all__ = [
    "Count", "DeviceWrapper", "Duration", "Metric", "MetricCollector", "Percent", "Profiler", "Ratio", "Report",
    "profile_function",
]  # fmt: skip

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class DeviceWrapper:
    """A device, as collectors get it."""

    device: Device


class MetricCollector(ABC):
    """Measures something beside the time of each call; programs derive their own."""

    def init(self, devices: Sequence[DeviceWrapper]) -> None:  # noqa: B027  # most need none
        """Prepare for a run."""

    @abstractmethod
    def start(self, device: Device) -> object:
        """Begin to measure a call."""

    @abstractmethod
    def stop(self, started: object) -> Mapping[str, Value]:
        """End the measurement of a call, given what :meth:`start` returned."""


class Profiler:
    """Measures calls of an executor (``Graph`` or ``VM`` for the report), one after another, and reports them."""

    def __init__(self, device: Device, executor: str, collectors: Sequence[MetricCollector] | None = None) -> None:
        self.device = device
        self.executor = executor
        self.collectors = _collectors(device, collectors)
        self._calls: list[dict[str, Value]] = []
        self._elapsed = stopwatch()

    def measure(self, call: Callable[[], Result], **columns: str) -> Result:
        """Make a call and note how long it took, with columns such as ``Name``; empty ones are left out."""
        started = [(collector, collector.start(self.device)) for collector in self.collectors]
        elapsed = stopwatch()
        result = call()
        microseconds = float(elapsed()) * 1e6
        collected = [collector.stop(at_start) for collector, at_start in reversed(started)]
        row: dict[str, Value] = {column.replace("_", " "): text for column, text in columns.items() if text}
        row |= {"Duration (us)": Duration(microseconds), "Count": Count(1), "Device": _name(self.device)}
        for values in collected:
            row |= values
        self._calls.append(row)
        return result

    def report(self) -> Report:
        """Return what was measured since the profiler was made."""
        taken = self._elapsed()
        total = float(taken) * 1e6
        calls = [row | {"Percent": Percent(number_of(row["Duration (us)"]) / total * 100)} for row in self._calls]
        device = _name(self.device)
        overall: Row = {"Name": "Total", "Duration (us)": Duration(total), "Count": Count(1), "Device": device}
        how: dict[str, Value] = {"Number of threads": Count(num_threads()), "Executor": self.executor}
        if words := disturbed_words([taken]):
            how["Times"] = words
        return Report(calls, {device: overall}, how)


def _name(device: Device) -> str:
    return f"{device.kind}{device.device_id}"


def _collectors(device: Device, collectors: Sequence[MetricCollector] | None) -> list[MetricCollector]:
    for collector in collectors or ():
        if not isinstance(collector, MetricCollector):
            raise ArgumentError(f"profiling: collectors must be MetricCollectors, got {type(collector).__name__}")
        collector.init([DeviceWrapper(device)])
    return list(collectors or ())


def argument_shapes(arrays: Sequence[object]) -> str:
    """Return types and shapes of arguments as a report has them."""
    return ", ".join(f"{a.dtype}[{', '.join(map(str, a.shape))}]" for a in arrays if isinstance(a, NDArray))


def profile_function(
    mod: Module,
    dev: Device,
    collectors: Sequence[MetricCollector],
    func_name: str | None = None,
    warmup_iters: int = 10,
) -> Callable[..., dict[str, Value]]:
    """Return what measures one call of a function, the entry function by default, with collectors.

    It takes the function's arguments and returns what the collectors measured, by the names of columns.
    """
    function = mod.get_function(mod.entry_name if func_name is None else func_name)

    def profile(*args: object) -> dict[str, Value]:
        each = _collectors(dev, collectors)
        for _ in range(warmup_iters):
            function(*args)
        started = [(collector, collector.start(dev)) for collector in each]
        function(*args)
        measured: dict[str, Value] = {}
        for collector, at_start in reversed(started):
            measured |= collector.stop(at_start)
        return measured

    return profile


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.runtime.profiling", __all__)
