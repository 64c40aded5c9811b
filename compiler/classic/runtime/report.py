"""``tvm.runtime.profiling.Report``: profiles as tables and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from compiler.ir.error import ArgumentError

__all__ = ["Count", "Duration", "Metric", "Percent", "Ratio", "Report"]


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
    """How long something took."""

    field: ClassVar[str] = "microseconds"
    form: ClassVar[str] = ",.2f"

    microseconds: float


@dataclass(frozen=True, slots=True)
class Percent(Metric):
    """A share of the whole, between 0 and 100."""

    field: ClassVar[str] = "percent"
    form: ClassVar[str] = ".2f"

    percent: float


@dataclass(frozen=True, slots=True)
class Count(Metric):
    """How often something happened."""

    field: ClassVar[str] = "count"
    form: ClassVar[str] = ",.0f"

    count: int


@dataclass(frozen=True, slots=True)
class Ratio(Metric):
    """A quotient; those of several calls are averaged."""

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
    """The calls of one run, in order: each by the names of columns, such as ``Name`` and ``Duration (us)``."""

    def __init__(
        self, calls: Sequence[Row], device_metrics: Mapping[str, Row] | None = None, configuration: Row | None = None
    ) -> None:
        self.calls = tuple(dict(call) for call in calls)
        self.device_metrics = {device: dict(row) for device, row in (device_metrics or {}).items()}
        self.configuration = dict(configuration or {})

    def table(self, sort: bool = True, aggregate: bool = True, col_sums: bool = True) -> str:
        """Return the calls as text, the longest first (``sort``) or in order.

        With ``aggregate``, calls of one function with arguments of the same shapes are one row; with ``col_sums``, a
        row with the sums of the columns follows.
        """
        rows = _aggregated(self.calls) if aggregate else list(self.calls)
        if sort:
            rows.sort(key=lambda row: -number_of(row.get("Duration (us)")))
        shown = [*rows]
        if col_sums:
            shown += [{"Name": _RULE}, {"Name": "Sum", **_sums(rows)}]
        text = _aligned([*shown, *self.device_metrics.values()])
        if self.configuration:
            text += "\nConfiguration\n-------------\n"
            text += "".join(f"{name}: {value}\n" for name, value in self.configuration.items())
        return text

    def csv(self) -> str:
        """Return the calls as comma-separated values, in order."""
        columns = sorted({column for call in self.calls for column in call})
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_plain(call.get(column, "")) for column in columns] for call in self.calls)
        return out.getvalue()

    def json(self) -> str:
        """Return JSON with what each value is: ``{"microseconds": 3.5}``, ``{"count": 1}``, ``{"string": "cpu"}``."""
        return json.dumps(
            {
                "calls": [_as_json(call) for call in self.calls],
                "device_metrics": {device: _as_json(row) for device, row in self.device_metrics.items()},
                "configuration": _as_json(self.configuration),
            }
        )

    @classmethod
    def from_json(cls, s: str) -> Report:
        """Return the report that :meth:`json` wrote.

        Raises ArgumentError if it is not a report.
        """
        try:
            read = json.loads(s)
            devices = {device: _from_json(row) for device, row in read["device_metrics"].items()}
            return cls([_from_json(call) for call in read["calls"]], devices, _from_json(read["configuration"]))
        except (ValueError, KeyError, TypeError, AttributeError) as exc:
            raise ArgumentError(f"Report.from_json: not a report: {type(exc).__name__}: {exc}") from None

    def __str__(self) -> str:
        return self.table()


def number_of(value: Value | None) -> float:
    """Return the number in a column; 0 if there is none."""
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
                sums[column] = type(value)(value.value + number_of(sums.get(column)))  # type: ignore[call-arg]
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


def _from_json(row: Mapping[str, Mapping[str, object]]) -> dict[str, Value]:
    read: dict[str, Value] = {}
    for column, tagged in row.items():
        ((kind, value),) = tagged.items()
        read[column] = str(value) if kind == "string" else _METRICS[kind](value)  # type: ignore[call-arg]
    return read
