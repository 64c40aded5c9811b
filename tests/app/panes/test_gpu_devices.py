"""The roofline of a GPU with a kernel on it."""

from __future__ import annotations

import pytest

from app.kernel_reports import KernelLaunch
from app.panes.gpu_devices import DeviceRow
from compiler.target.gpu_devices import GPU_DEVICES


def row(key: str = "a100", **fields: float) -> DeviceRow:
    given = {"blocks": 108 * 8, "threads": 256, "flops": 1e9, "moved": 1e9, "least": 1e8, **fields}
    return DeviceRow(key, GPU_DEVICES[key], KernelLaunch(name="k", **given))  # type: ignore[arg-type]


def test_points_lie_on_the_roof_where_blocks_fill_the_device() -> None:
    chart = row().chart
    assert chart is not None
    points = {point.label: point for point in chart.points}
    (left, low), (ridge, top), _ = chart.roof
    asked, least = points["asked"], points["least"]
    share = (asked.x - left) / (ridge - left)
    assert asked.y == pytest.approx(low + share * (top - low), abs=0.1)
    assert (points["filled"].x, points["filled"].y) == (asked.x, asked.y)
    assert least.x > asked.x
    assert least.y >= top


def test_a_last_wave_costs_its_idle_places() -> None:
    full, tail = row(), row(blocks=108 * 8 + 1)
    assert full.chart is not None
    assert tail.chart is not None
    assert next(p.y for p in tail.chart.points if p.label == "filled") > full.chart.points[1].y
    assert "1 waves, 100% of their places used." in full.sentences[1]
    assert "50% of their places used" in tail.sentences[1]


def test_few_blocks_leave_processors_idle() -> None:
    assert "107 processors idle" in row(blocks=1).sentences[1]
    assert "1 processor idle" in row(blocks=107).sentences[1]


def test_what_was_compiled_says_how_many_blocks_a_processor_holds() -> None:
    assert row(resident_blocks=2).sentences[2] == "Occupancy 25%: 2 blocks of a processor at once, as it was compiled."


def test_without_operations_there_is_no_chart() -> None:
    assert row(flops=0.0).chart is None
