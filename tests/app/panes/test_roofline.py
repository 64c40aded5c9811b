"""The roofline: labels can be read where points are near each other."""

from __future__ import annotations

from itertools import pairwise

from app.artifacts import Measurement
from app.panes.roofline import LABEL_HEIGHT, Point, _labelled, roofline


def test_labels_of_points_at_one_place_stand_below_each_other() -> None:
    points = [Point(100.0, y, str(step), "") for step, y in enumerate((50.0, 51.0, 52.0, 90.0))]
    labels = sorted(point.label_y for point in _labelled(points))
    assert all(b - a >= LABEL_HEIGHT for a, b in pairwise(labels))
    assert [point.label_y for point in _labelled([Point(100.0, 50.0, "0", ""), Point(200.0, 50.0, "1", "")])] == [
        50.0
    ] * 2


def test_a_bandwidth_that_took_no_time_is_none() -> None:
    measured = [
        Measurement(name="matmul", kind="kernel", seconds=1e-3, flops=1e6, traffic=1e5, gflops=1.0),
        Measurement(name="peak", kind="peak", seconds=1.0, gflops=50.0),
        Measurement(name="memory bandwidth", kind="bandwidth", seconds=0.0, traffic=1.0),
    ]
    assert roofline(measured, 600) is None


def test_points_above_the_roof_are_marked() -> None:
    measured = [
        Measurement(name="default", kind="prefix", step=0, seconds=1e-3, flops=1e6, traffic=1e5, gflops=1.0),
        Measurement(name="split", kind="prefix", step=1, seconds=1e-3, flops=1e6, traffic=1e5, gflops=60.0),
        Measurement(name="peak", kind="peak", seconds=0.0, gflops=50.0),
        Measurement(name="memory bandwidth", kind="bandwidth", seconds=1.0, traffic=1e11),
    ]
    drawn = roofline(measured, 600)
    assert drawn is not None
    assert (drawn.above, [(point.label, point.above) for point in drawn.points]) == (1, [("1 !", True), ("0", False)])
