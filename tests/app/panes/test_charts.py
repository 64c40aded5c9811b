"""The chart's geometry: to scale, inside its frame, readable without seeing it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.artifacts import Measurement
from app.panes.charts import (
    LABEL_DISTANCE,
    PLOT_HEIGHT,
    TOP,
    VALUE_ABOVE,
    VALUE_HEIGHT,
    BarComparisons,
    chart,
    climb,
    number,
    predictions_met,
    speedups,
)


def rung(name: str, gflops: float | None, seconds: float = 0.01, **fields: object) -> Measurement:
    return Measurement(name=name, kind="prefix", seconds=seconds, gflops=gflops, **fields)  # type: ignore[arg-type]


PEAK = Measurement(name="peak", kind="peak", seconds=0.0, gflops=300.0)
NUMPY = Measurement(name="NumPy", kind="numpy", seconds=0.01, gflops=228.0)


def test_nothing_measured_draws_nothing() -> None:
    assert chart([]) is None


@given(st.lists(st.floats(1e-3, 1e5), min_size=1, max_size=12))
def test_bars_are_to_scale_and_inside(rates: list[float]) -> None:
    drawn = chart([rung(f"r{n}", rate) for n, rate in enumerate(rates)], scale="linear")
    assert drawn is not None
    tallest = max(drawn.bars, key=lambda bar: bar.height)
    for bar, rate in zip(drawn.bars, rates, strict=True):
        assert TOP - 0.01 <= bar.y <= drawn.base
        assert bar.y + bar.height == pytest.approx(drawn.base)
        assert bar.x >= drawn.left
        assert bar.x + bar.width <= drawn.right
        if bar.height > 1.5:
            assert bar.height / tallest.height == pytest.approx(rate / max(rates), abs=0.01)


def test_lines_are_on_the_bars_scale_and_their_labels_apart() -> None:
    drawn = chart([rung("default", 3.1), rung("C.vectorize(ji)", 101.5), NUMPY, PEAK], scale="linear")
    assert drawn is not None
    peak, numpy = drawn.rules
    assert (peak.label, numpy.label) == ("peak 300", "NumPy 228")
    assert peak.y == TOP
    assert numpy.y == pytest.approx(drawn.base - PLOT_HEIGHT * 228 / 300, abs=0.01)
    assert numpy.label_y - peak.label_y >= LABEL_DISTANCE
    assert [bar.label for bar in drawn.bars] == ["default", "vectorize"]
    assert drawn.bars[-1].factor == "32.7×"
    assert "C.vectorize(ji): 102 GFLOP/s" in drawn.summary


@given(st.floats(1.0, 300.0), st.floats(1.0, 300.0))
def test_no_line_goes_through_a_value(rate: float, numpy: float) -> None:
    line = Measurement(name="NumPy", kind="numpy", seconds=0.01, gflops=numpy)
    drawn = chart([rung("default", rate), line, PEAK], scale="linear")
    assert drawn is not None
    (bar,) = drawn.bars
    assert bar.value_y <= bar.y - VALUE_ABOVE
    assert bar.value_y - VALUE_HEIGHT > 0, "inside the chart"
    assert not [rule for rule in drawn.rules if bar.value_y - VALUE_HEIGHT < rule.y < bar.value_y]


def test_a_peak_that_something_exceeds_is_called_noisy() -> None:
    for rate, name in ((310.0, "peak 300"), (340.0, "noisy peak 300")):
        drawn = chart([rung("default", rate), NUMPY, PEAK])
        assert drawn is not None
        assert sorted(rule.label for rule in drawn.rules) == ["NumPy 228", name]


def test_without_a_count_of_operations_calls_a_second_are_drawn() -> None:
    drawn = chart([rung("default", None, seconds=0.5), rung("split", None, seconds=0.25), PEAK])
    assert drawn is not None
    assert drawn.unit == "calls/s"
    assert drawn.rules == []
    assert drawn.bars[1].factor == "2×"


def test_a_rung_that_would_not_be_seen_is_drawn_to_a_logarithmic_scale() -> None:
    rungs = [rung("default", 0.2), rung("split", 2.0), rung("vectorize", 20.0), PEAK]
    drawn = chart(rungs)
    assert drawn is not None
    assert drawn.logarithmic
    heights = [bar.height for bar in drawn.bars]
    assert heights[1] - heights[0] == pytest.approx(heights[2] - heights[1], abs=0.02)  # ten times each
    assert heights[0] > 5
    assert [tick.label for tick in drawn.ticks] == ["1", "10", "100"]
    linear = chart(rungs, scale="linear")
    assert linear is not None
    assert not linear.logarithmic


def test_factors_are_told_to_the_step_before_and_to_the_first() -> None:
    rungs = [rung("default", 1.0, 0.8, step=0), rung("split", 2.0, 0.4, step=1), rung("vectorize", 8.0, 0.1, step=2)]
    drawn = chart(rungs)
    assert drawn is not None
    assert [bar.factor for bar in drawn.bars] == ["", "2×", "4×"]
    assert "4× the previous step, 8× the first" in drawn.bars[2].title
    assert [bar.step for bar in drawn.bars] == [0, 1, 2]
    assert climb([NUMPY, *rungs]) == [None, None, (2.0, 2.0), (4.0, 8.0)]
    assert climb([NUMPY, rungs[0]]) == []


def test_what_has_no_speed_is_passed_over() -> None:
    assert speedups([1.0, 0.0, 3.0]) == (3.0, 3.0)
    assert speedups([1.0, 0.0]) is None


def test_a_wrong_result_has_no_speed() -> None:
    drawn = chart([rung("default", 3.0), rung("split", None, seconds=0.0, checked="wrong")])
    assert drawn is not None
    assert drawn.bars[1].wrong
    assert drawn.bars[1].value == "✗"


def test_room_is_kept_for_bars_to_come() -> None:
    few, many = chart([rung("default", 1.0)]), chart([rung("default", 1.0)], pending=9)
    assert few is not None
    assert many is not None
    assert many.width > few.width


def test_many_bars_fit_into_the_room_with_slanted_labels() -> None:
    drawn = chart([rung(f"C.reorder({n})", 10.0 + n) for n in range(16)], room=720)
    assert drawn is not None
    assert drawn.width <= 720
    assert all(bar.slanted and bar.label == "reorder" and not bar.factor for bar in drawn.bars)
    assert "×" in drawn.bars[-1].title


def test_steps_of_one_primitive_are_told_apart_by_axis_or_number() -> None:
    names = ["C.split(j, 8)", "C.split(i, 4)", "C.reorder(j.outer, i)", "C.reorder(i.outer, i)"]
    drawn = chart([rung(name, 10.0, step=step) for step, name in enumerate(names, 1)], room=700)
    assert drawn is not None
    assert [bar.label for bar in drawn.bars] == ["split j", "split i", "3: reorder", "4: reorder"]


def test_values_of_narrow_bars_have_two_digits() -> None:
    drawn = chart([rung(f"C.reorder({n})", rate) for n, rate in enumerate([0.0989, 0.105, 23.8, 1240.0] * 4)], room=720)
    assert drawn is not None
    assert [bar.value for bar in drawn.bars[:4]] == ["0.099", "0.1", "24", "1,240"]


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (0.314, "0.314"), (3.1, "3.1"), (48.64, "48.6"), (101.5, "102"), (1240, "1,240")]
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize("rate", [5e-324, 1e-300, 1e308, -1.0, 10.0**300, float("inf"), float("nan")])
@pytest.mark.parametrize("seconds", [5e-324, 0.0, -1.0, 1e308, 0.01])
def test_rates_that_no_machine_has_are_not_drawn(rate: float, seconds: float) -> None:
    for gflops in (rate, None):
        line = Measurement(name="NumPy", kind="numpy", seconds=seconds, gflops=gflops)
        drawn = chart([rung("a", gflops, seconds), rung("b", 2.0, 0.5), line])
        assert drawn is not None
        assert all(0 <= bar.height <= PLOT_HEIGHT for bar in drawn.bars)
        assert len(drawn.summary) < 200


@given(st.floats())
def test_any_number_is_written_short(value: float) -> None:
    assert len(number(value)) < 30


def prefix(step: int, seconds: float, threads: int = 1) -> Measurement:
    return Measurement(name=f"s{step}", kind="prefix", step=step, seconds=seconds, threads=threads)


def test_what_bars_are_compared_with_stands_at_their_places_and_on_their_scale() -> None:
    ladder = [prefix(0, 1.0), prefix(1, 0.5), prefix(2, 0.25, 2), prefix(2, 0.4)]
    made = chart(ladder, others=BarComparisons([prefix(1, 0.1)], {1: 4.0, 2: 2.0}))
    assert made is not None
    assert [bar.step for bar in made.bars] == [0, 1, 2]
    assert [ghost.kind for ghost in made.ghosts] == ["reference", "predicted", "single", "predicted"]
    reference, predicted, single, _ = made.ghosts
    heights = {bar.step: bar.height for bar in made.bars}
    assert reference.height == pytest.approx(5 * heights[1], abs=0.05)
    assert predicted.height == pytest.approx(2 * heights[1], abs=0.05)
    assert single.height == pytest.approx(heights[2] * 0.25 / 0.4, abs=0.05)
    assert all(ghost.x < made.bars[2].x + made.bars[2].width for ghost in made.ghosts)


def test_a_longer_ladder_goes_on_beside_the_bars_of_a_shorter_one() -> None:
    longer = [prefix(0, 1.0), prefix(1, 0.5), prefix(2, 0.1), prefix(3, 0.0), prefix(4, 1e300)]
    made = chart([prefix(0, 1.0)], others=BarComparisons(longer))
    assert made is not None
    assert [(ghost.kind, ghost.title.partition(":")[0]) for ghost in made.ghosts] == [
        ("reference", "s0"),
        ("reference", "s1"),
        ("reference", "s2"),
    ]
    assert [one.x for one in made.ghosts] == sorted(one.x for one in made.ghosts)
    assert made.ghosts[1].x > made.bars[0].x + made.bars[0].width
    assert made.ghosts[-1].x + made.ghosts[-1].width <= made.right


def test_predictions_are_met_within_a_factor_of_two() -> None:
    ladder = [prefix(0, 1.0), prefix(1, 0.5), prefix(2, 0.1)]
    assert predictions_met(ladder, {1: 1.0, 2: 4.9}) == (1, 2)
    assert predictions_met(ladder, {1: 4.0, 2: 20.0, 7: 1.0}) == (2, 2)
    assert predictions_met(ladder, {}) is None


def test_steps_of_one_primitive_are_told_apart_by_their_axes() -> None:
    names = ["default", "C.split(i, factor=32)", "C.split(k.outer, 4)", "C.vectorize(j)"]
    drawn = chart([rung(name, 1.0, step=step) for step, name in enumerate(names)])
    assert drawn is not None
    assert [bar.label for bar in drawn.bars] == ["default", "split i", "split k.outer", "vectorize"]
