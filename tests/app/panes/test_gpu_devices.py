"""The roofline of a GPU with a kernel on it."""

from __future__ import annotations

import math

import pytest

from app.kernel_reports import KernelLaunch
from app.panes.gpu_devices import DeviceRow
from compiler.target.gpu_devices import GPU_DEVICES


def row(key: str = "a100", **fields: float | str) -> DeviceRow:
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
    assert "1 wave, 100% of their slots used." in full.sentences[1]
    assert "50% of their slots used" in tail.sentences[1]


def test_few_blocks_leave_processors_idle() -> None:
    assert "107 processors idle" in row(blocks=1).sentences[1]
    assert "1 processor idle" in row(blocks=107).sentences[1]


def test_what_was_compiled_says_how_many_blocks_a_processor_holds() -> None:
    assert row(resident_blocks=2).sentences[2] == "Occupancy 25%: 2 blocks per processor at once, as it was compiled."


def test_without_operations_there_is_no_chart() -> None:
    moves = row(flops=0.0, moved=9e9, least=2.039e9)
    assert moves.chart is None
    assert moves.sentences[0] == "At least 1 ms, to move its bytes at 2,039 GB/s."


@pytest.mark.parametrize("flops", [5e-324, 1e-200, -1e9, 1e300, math.inf])
@pytest.mark.parametrize("least", [1e-200, 1e300])
def test_counts_that_no_kernel_has_have_no_chart(flops: float, least: float) -> None:
    assert row(flops=flops, least=least).chart is None


def test_tensor_cores_have_a_roof_of_their_own_beside_that_of_float32() -> None:
    """The peaks of NVIDIA's whitepapers: 312 and 19.5 TFLOP/s, 624 TOP/s."""
    busy = {"flops": 1e15, "moved": 1e9}
    half, lanes = row(matrix_types="float16 to float32", **busy), row(**busy)
    assert half.sentences[0] == (
        "At most 312 of 312 TFLOP/s, limited by arithmetic. The peak is that of its tensor cores, float16 to float32; "
        "float32's is 19.5."
    )
    assert lanes.sentences[0] == "At most 19.5 of 19.5 TFLOP/s, limited by arithmetic."
    assert "624 TOP/s" in row(matrix_types="int8 to int32", **busy).sentences[0]
    chart, plain = half.chart, lanes.chart
    assert chart is not None
    assert plain is not None
    assert (chart.peak, plain.peak) == ("312 TFLOP/s of tensor cores, float16 to float32", "19.5 TFLOP/s of float32")
    (_, ridge, right), (leaves, ends) = chart.roof, chart.lower
    assert leaves[0] < ridge[0]
    assert leaves[1] == ends[1] > ridge[1]
    assert ends[0] == right[0]
    assert plain.lower == []


def test_caches_may_serve_what_warps_request_again() -> None:
    """A kernel on a GPU is faster than its requests let memory be: what bounds it is each byte once."""
    told = row(flops=1e12, moved=1e12, least=1e10).sentences[0]
    assert told == "At most 19.5 of 19.5 TFLOP/s, limited by arithmetic. Without caches 2.04, limited by memory."
    assert row(flops=1e9, moved=1e9, least=1e9).sentences[0] == "At most 2.04 of 19.5 TFLOP/s, limited by memory."


def test_a_device_without_tensor_cores_keeps_the_roof_of_float32() -> None:
    told = row("m3", matrix_types="float16 to float32", flops=1e15).sentences[0]
    assert told.endswith("No peak of tensor cores is published for float16 to float32: this is float32's.")


def test_memory_limits_tensor_cores_as_it_limits_float32() -> None:
    fields = {"flops": 1e9, "moved": 1e9, "least": 1e9}
    one, other = (row(matrix_types=types, **fields).sentences[0].split()[2] for types in ("", "float16 to float32"))
    assert one == other
