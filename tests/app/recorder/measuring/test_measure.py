"""A wrong result is never called right, and a right one is not called wrong for rounding."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from app.recorder.measuring import measure
from app.recorder.measuring.measure import MAX_REPEATS, RUNG_SECONDS, SETTLED_REPEATS, Timing, compare, time_calls
from app.recorder.measuring.random_inputs import random_arrays
from compiler.runtime.timing.clock import Duration


def test_rounding_of_another_summation_order_is_accepted() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.uniform(size=(64, 512)).astype("float32"), rng.uniform(size=(512, 64)).astype("float32")
    in_order = np.zeros((64, 64), dtype="float32")
    for k in range(512):
        in_order += a[:, k : k + 1] * b[k]
    check = compare([in_order], [a @ b])
    assert check.ok
    assert check.largest_error > 0


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "uint8", "bool"])
def test_one_wrong_element_is_found(dtype: str) -> None:
    wanted = np.ones((40, 40), dtype=dtype)
    actual = wanted.copy()
    assert compare([actual], [wanted]).ok
    actual[17, 3] = 0
    check = compare([actual], [wanted])
    assert not check.ok
    assert check.largest_error == 1


def test_nan_equals_only_nan() -> None:
    wanted = np.array([1.0, np.nan], dtype="float32")
    assert compare([wanted.copy()], [wanted]).ok
    assert not compare([np.array([1.0, 2.0], dtype="float32")], [wanted]).ok
    assert not compare([np.array([np.nan, np.nan], dtype="float32")], [wanted]).ok


def test_infinities_agree_by_sign() -> None:
    wanted = np.array([np.inf, -np.inf, 1.0], dtype="float32")
    assert compare([wanted.copy()], [wanted]).ok
    assert not compare([-wanted], [wanted]).ok


def test_arrays_are_the_same_for_the_same_seed_and_inside_the_type() -> None:
    first = random_arrays([(5, 3), (4,)], ["float32", "int8"])
    again = random_arrays([(5, 3), (4,)], ["float32", "int8"])
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert [a.dtype.name for a in first] == ["float32", "int8"]


def test_timing_says_how_it_was_taken() -> None:
    calls = 0

    def call() -> None:
        nonlocal calls
        calls += 1

    timing = time_calls(call)
    assert calls == 1 + timing.number * len(timing.seconds)
    assert len(timing.seconds) >= 2
    assert timing.spread >= 0


def test_timing_says_that_it_was_disturbed() -> None:
    busy, quiet = Duration(3.0, 1.0), Duration(1.0)
    assert Timing([busy, quiet, busy], 1).is_disturbed
    assert not Timing([busy, quiet, quiet], 1).is_disturbed
    assert type(Timing([busy], 1).median) is float, "messages have no other numbers"


def test_one_sample_has_no_spread() -> None:
    assert Timing([0.5], 1).spread == 0.0


@pytest.mark.parametrize(("share", "most"), [(1.0, SETTLED_REPEATS), (0.1, MAX_REPEATS)])
@pytest.mark.parametrize(("seconds", "repeats"), [(4.0, 1), (0.4, 1), (0.3, 2), (0.1, 9), (0.03, 20), (1e-5, 20)])
def test_a_rung_has_a_bounded_time_however_slow_its_kernel_or_busy_the_machine(
    monkeypatch: pytest.MonkeyPatch, seconds: float, repeats: int, share: float, most: int
) -> None:
    now = 0.0

    def call() -> None:
        nonlocal now
        now += seconds

    def since(began: float) -> Duration:
        return Duration(now - began, share * (now - began))

    monkeypatch.setattr(measure, "stopwatch", lambda: partial(since, now))
    timing = time_calls(call)
    assert len(timing.seconds) == min(repeats, most)
    assert timing.median == pytest.approx(share * seconds)
    assert now <= max(RUNG_SECONDS, seconds) + 1e-6


@pytest.mark.parametrize(("apart", "repeats"), [(0.02, SETTLED_REPEATS), (0.06, MAX_REPEATS)])
def test_repeats_go_on_until_they_agree(monkeypatch: pytest.MonkeyPatch, apart: float, repeats: int) -> None:
    taken = iter([0.02, *(0.02 * (1 + apart * (turn % 2)) for turn in range(MAX_REPEATS))])
    monkeypatch.setattr(measure, "_time", lambda call, number: Duration(next(taken)))
    assert len(time_calls(lambda: None).seconds) == repeats


def test_the_spread_of_two_times_is_half_of_what_lies_between_them() -> None:
    assert [Timing(seconds, 1).spread for seconds in ([2.0], [1.0, 3.0], [1.0, 2.0, 4.0])] == [0.0, 1.0, 1.5]
