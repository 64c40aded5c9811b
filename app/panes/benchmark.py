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
    """What the benchmark pane draws."""

    measurements: Sequence[Measurement]
    chart: Chart | None


def produce_benchmark(pane: Pane, selection: Selection) -> Benchmark | None:
    """Return the measurements of an answer, where it has any."""
    measurements = selection.answer.measurements
    return Benchmark(measurements, chart(measurements)) if measurements else None
