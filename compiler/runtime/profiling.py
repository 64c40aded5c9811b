"""What was measured while something ran, call by call: ``tvm.runtime.profiling``."""

from __future__ import annotations

import csv
import io
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from compiler.ir.error import ArgumentError
from compiler.runtime.device import Device
from compiler.runtime.module import Module
from compiler.runtime.ndarray import NDArray
from compiler.runtime.threads import num_threads

__all__ = [
    "Count", "DeviceWrapper", "Duration", "Metric", "MetricCollector", "Percent", "Profiler", "Ratio", "Report",
    "profile_function",
]  # fmt: skip

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Metric:
    """A number with its meaning, which the class says."""

    field: ClassVar[str]
    form: ClassVar[str]
    is_sum: ClassVar[bool] = True

    @property
    def value(self) -> float:
        """The number."""
        number: float = getattr(self, self.field)
        return number

    def __str__(self) -> str:
        return format(self.value, self.form)


@dataclass(frozen=True, slots=True)
class Duration(Metric):
    """How long something took.

    Parameters
    ----------
    microseconds : float
    """

    field: ClassVar[str] = "microseconds"
    form: ClassVar[str] = ",.2f"

    microseconds: float


@dataclass(frozen=True, slots=True)
class Percent(Metric):
    """A share of the whole.

    Parameters
    ----------
    percent : float
        Between 0 and 100.
    """

    field: ClassVar[str] = "percent"
    form: ClassVar[str] = ".2f"

    percent: float


@dataclass(frozen=True, slots=True)
class Count(Metric):
    """How often something happened.

    Parameters
    ----------
    count : int
    """

    field: ClassVar[str] = "count"
    form: ClassVar[str] = ",.0f"

    count: int


@dataclass(frozen=True, slots=True)
class Ratio(Metric):
    """A quotient; those of several calls are averaged.

    Parameters
    ----------
    ratio : float
    """

    field: ClassVar[str] = "ratio"
    form: ClassVar[str] = ",.2f"
    is_sum: ClassVar[bool] = False

    ratio: float


Value = Metric | str
"""What a row has in a column."""
Row = Mapping[str, Value]

_METRICS: dict[str, type[Metric]] = {cls.field: cls for cls in (Duration, Percent, Count, Ratio)}
_FIRST = ("Name", "Duration (us)", "Percent", "Device", "Count", "Argument Shapes", "Hash")
_RULE = "----------"


class Report:
    """The calls of one run.

    Parameters
    ----------
    calls : sequence of mapping of str to Metric or str
        In order: each by the names of columns, such as ``Name`` and ``Duration (us)``.
    device_metrics : mapping of str to mapping of str to Metric or str
        Of the whole run, by device.
    configuration : mapping of str to Metric or str
        What ran it.
    """

    def __init__(
        self,
        calls: Sequence[Row],
        device_metrics: Mapping[str, Row] | None = None,
        configuration: Row | None = None,
    ) -> None:
        self.calls = tuple(dict(call) for call in calls)
        self.device_metrics = {device: dict(row) for device, row in (device_metrics or {}).items()}
        self.configuration = dict(configuration or {})

    def table(self, sort: bool = True, aggregate: bool = True, col_sums: bool = True) -> str:
        """Return the calls as text.

        Parameters
        ----------
        sort : bool
            Whether the longest comes first; else in order.
        aggregate : bool
            Whether calls of one function with arguments of the same shapes are one row.
        col_sums : bool
            Whether a row with the sums of the columns follows.

        Returns
        -------
        str
        """
        rows = _aggregated(self.calls) if aggregate else list(self.calls)
        if sort:
            rows.sort(key=lambda row: -_number(row.get("Duration (us)")))
        shown = [*rows]
        if col_sums:
            shown += [{"Name": _RULE}, {"Name": "Sum", **_sums(rows)}]
        text = _aligned([*shown, *self.device_metrics.values()])
        if self.configuration:
            text += "\nConfiguration\n-------------\n"
            text += "".join(f"{name}: {value}\n" for name, value in self.configuration.items())
        return text

    def csv(self) -> str:
        """Return the calls as comma-separated values, in order.

        Returns
        -------
        str
            The first line has the names of the columns.
        """
        columns = sorted({column for call in self.calls for column in call})
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_plain(call.get(column, "")) for column in columns] for call in self.calls)
        return out.getvalue()

    def json(self) -> str:
        """Return the report as JSON.

        Returns
        -------
        str
            Each value says what it is: ``{"microseconds": 3.5}``, ``{"count": 1}``, ``{"string": "cpu0"}``.
        """
        return json.dumps(
            {
                "calls": [_as_json(call) for call in self.calls],
                "device_metrics": {device: _as_json(row) for device, row in self.device_metrics.items()},
                "configuration": _as_json(self.configuration),
            }
        )

    @classmethod
    def from_json(cls, s: str) -> Report:
        """Return the report that JSON describes.

        Parameters
        ----------
        s : str
            What :meth:`json` returned.

        Returns
        -------
        Report

        Raises
        ------
        ArgumentError
            If it is no report.
        """
        try:
            read = json.loads(s)
            devices = {device: _from_json(row) for device, row in read["device_metrics"].items()}
            return cls([_from_json(call) for call in read["calls"]], devices, _from_json(read["configuration"]))
        except (ValueError, KeyError, TypeError, AttributeError) as exc:
            raise ArgumentError(f"Report.from_json: not a report: {type(exc).__name__}: {exc}") from None

    def __str__(self) -> str:
        return self.table()


def _number(value: Value | None) -> float:
    return value.value if isinstance(value, Metric) else 0


def _plain(value: Value) -> float | str:
    return value.value if isinstance(value, Metric) else value


def _aggregated(calls: Sequence[Row]) -> list[dict[str, Value]]:
    """Return one row for the calls whose texts are the same."""
    groups: dict[frozenset[tuple[str, str]], list[Row]] = {}
    for call in calls:
        texts = frozenset((column, value) for column, value in call.items() if isinstance(value, str))
        groups.setdefault(texts, []).append(call)
    return [{**rows[0], **_sums(rows), **_averages(rows)} for rows in groups.values()]


def _sums(rows: Sequence[Row]) -> dict[str, Value]:
    """Return the sums of the columns that can be added up."""
    sums: dict[str, Value] = {}
    for row in rows:
        for column, value in row.items():
            if isinstance(value, Metric) and value.is_sum:
                sums[column] = type(value)(value.value + _number(sums.get(column)))  # type: ignore[call-arg]
    return sums


def _averages(rows: Sequence[Row]) -> dict[str, Value]:
    """Return the averages of the columns that cannot be added up."""
    ratios: dict[str, list[float]] = {}
    for row in rows:
        for column, value in row.items():
            if isinstance(value, Ratio):
                ratios.setdefault(column, []).append(value.ratio)
    return {column: Ratio(sum(values) / len(values)) for column, values in ratios.items()}


def _aligned(rows: Sequence[Row]) -> str:
    """Return rows as a table, the names to the left and everything else to the right."""
    others = sorted({column for row in rows for column in row}.difference(_FIRST))
    columns = [*(column for column in _FIRST if any(column in row for row in rows)), *others]
    cells = [columns, *([str(row.get(column, "")) for column in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for name, *rest in cells:
        padded = [name.ljust(widths[0]), *(text.rjust(width) for text, width in zip(rest, widths[1:], strict=True))]
        lines.append("  ".join(padded) + "\n")
    return "".join(lines)


def _as_json(row: Row) -> dict[str, dict[str, float | str]]:
    return {
        column: {value.field: value.value} if isinstance(value, Metric) else {"string": value}
        for column, value in row.items()
    }


def _from_json(row: Mapping[str, Mapping[str, Any]]) -> dict[str, Value]:
    read: dict[str, Value] = {}
    for column, tagged in row.items():
        ((kind, value),) = tagged.items()
        read[column] = str(value) if kind == "string" else _METRICS[kind](value)  # type: ignore[call-arg]
    return read


@dataclass(frozen=True, slots=True)
class DeviceWrapper:
    """A device, as collectors get it.

    Parameters
    ----------
    device : Device
    """

    device: Device


class MetricCollector(ABC):
    """Measures something beside the time of each call; programs derive their own."""

    def init(self, devices: Sequence[DeviceWrapper]) -> None:  # noqa: B027  # most need none
        """Prepare for a run.

        Parameters
        ----------
        devices : sequence of DeviceWrapper
            Where it takes place.
        """

    @abstractmethod
    def start(self, device: Device) -> object:
        """Begin to measure a call.

        Parameters
        ----------
        device : Device
            Where it runs.

        Returns
        -------
        object
            What :meth:`stop` needs to know.
        """

    @abstractmethod
    def stop(self, started: object) -> Mapping[str, Value]:
        """End the measurement of a call.

        Parameters
        ----------
        started : object
            What :meth:`start` returned.

        Returns
        -------
        mapping of str to Metric or str
            By the names of columns.
        """


class Profiler:
    """Measures calls, one after another, and reports them.

    Parameters
    ----------
    device : Device
        Where they run.
    executor : str
        What makes the calls, for the report: ``Graph`` or ``VM``.
    collectors : sequence of MetricCollector, optional
        What measures beside the time.
    """

    def __init__(self, device: Device, executor: str, collectors: Sequence[MetricCollector] | None = None) -> None:
        self.device = device
        self.executor = executor
        self.collectors = _collectors(device, collectors)
        self._calls: list[dict[str, Value]] = []
        self._began = time.perf_counter()

    def measure(self, call: Callable[[], Result], **columns: str) -> Result:
        """Make a call and note how long it took.

        Parameters
        ----------
        call : callable
            What is measured.
        **columns : str
            What the report says of it: ``Name`` and others; those that are empty are left out.

        Returns
        -------
        object
            What the call returned.
        """
        started = [(collector, collector.start(self.device)) for collector in self.collectors]
        began = time.perf_counter()
        result = call()
        microseconds = (time.perf_counter() - began) * 1e6
        collected = [collector.stop(at_start) for collector, at_start in reversed(started)]
        row: dict[str, Value] = {column.replace("_", " "): text for column, text in columns.items() if text}
        row |= {"Duration (us)": Duration(microseconds), "Count": Count(1), "Device": _name(self.device)}
        for values in collected:
            row |= values
        self._calls.append(row)
        return result

    def report(self) -> Report:
        """Return what was measured since the profiler was made.

        Returns
        -------
        Report
        """
        total = (time.perf_counter() - self._began) * 1e6
        calls = [row | {"Percent": Percent(_number(row["Duration (us)"]) / total * 100)} for row in self._calls]
        device = _name(self.device)
        overall: Row = {"Name": "Total", "Duration (us)": Duration(total), "Count": Count(1), "Device": device}
        return Report(calls, {device: overall}, {"Number of threads": Count(num_threads()), "Executor": self.executor})


def _name(device: Device) -> str:
    return f"{device.kind}{device.device_id}"


def _collectors(device: Device, collectors: Sequence[MetricCollector] | None) -> list[MetricCollector]:
    for collector in collectors or ():
        if not isinstance(collector, MetricCollector):
            raise ArgumentError(f"profiling: a collector is a MetricCollector, got {type(collector).__name__}")
        collector.init([DeviceWrapper(device)])
    return list(collectors or ())


def argument_shapes(arrays: Sequence[object]) -> str:
    """Return types and shapes of arguments as a report has them.

    Parameters
    ----------
    arrays : sequence of object
        What is no array is left out.

    Returns
    -------
    str
        E.g. ``float32[1, 784], float32[784]``.
    """
    return ", ".join(f"{a.dtype}[{', '.join(map(str, a.shape))}]" for a in arrays if isinstance(a, NDArray))


def profile_function(
    mod: Module,
    dev: Device,
    collectors: Sequence[MetricCollector],
    func_name: str | None = None,
    warmup_iters: int = 10,
) -> Callable[..., dict[str, Value]]:
    """Return what measures one call of a function with collectors.

    Parameters
    ----------
    mod : Module
        Has the function.
    dev : Device
        Where it runs.
    collectors : sequence of MetricCollector
        What measures.
    func_name : str, optional
        The entry function when left out.
    warmup_iters : int
        Calls before the measured one.

    Returns
    -------
    callable
        Takes the function's arguments and returns what the collectors measured, by the names of columns.
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
