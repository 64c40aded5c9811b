"""The benchmark pane: measurements as a table and a chart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.artifacts import Measurement
from app.panes.charts import Chart, chart
from app.panes.pane import Pane
from app.panes.selection import Selection


@dataclass(frozen=True)
class Benchmark:
    """The content of the benchmark pane."""

    measurements: Sequence[Measurement]
    chart: Chart | None


def produce_benchmark(pane: Pane, selection: Selection) -> Benchmark | None:
    """Return the measurements of an answer, or None if it has none."""
    measurements = selection.answer.measurements
    return Benchmark(measurements, chart(measurements)) if measurements else None
