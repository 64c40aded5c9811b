"""Weights in figures, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from app.artifacts import HEIGHTS
from app.recorder.measuring.weights import BARS, MAX_SAMPLE, Weights, summarised
from compiler.relay.expr import const


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint8", "int64", "bool"])
def test_figures_are_those_of_numpy(dtype: str) -> None:
    values = (np.random.default_rng(3).normal(size=(50, 40)) * 20).clip(0, 100).astype(dtype)
    weight = summarised(values, "t")
    assert weight is not None
    assert (weight.minimum, weight.maximum) == (float(values.min()), float(values.max()))
    assert weight.zeros == pytest.approx(np.mean(values == 0))
    assert not weight.sampled
    counts, _ = np.histogram(values.astype("float64"), BARS, (float(values.min()), float(values.max())))
    heights = [HEIGHTS.index(digit) for digit in weight.histogram]
    np.testing.assert_allclose(np.array(heights) / 63, counts / counts.max(), atol=1 / 63)
    assert all(height > 0 for height, count in zip(heights, counts, strict=True) if count)


def test_what_is_no_number_is_told_and_left_out() -> None:
    values = np.array([1.0, np.nan, -2.0, np.inf], "float32")
    weight = summarised(values, "t")
    assert weight is not None
    assert (weight.minimum, weight.maximum, weight.unusual) == (-2.0, 1.0, 0.5)
    nothing = summarised(np.full(5, np.nan), "t")
    assert nothing is not None
    assert (nothing.unusual, nothing.histogram) == (1.0, "")


def test_equal_values_are_one_bar() -> None:
    weight = summarised(np.full(9, 2.5), "t")
    assert weight is not None
    assert (weight.minimum, weight.maximum, weight.zeros) == (2.5, 2.5, 0.0)
    assert sum(digit != "0" for digit in weight.histogram) == 1


def test_large_weights_are_sampled_but_for_their_range() -> None:
    values = np.zeros(5 * MAX_SAMPLE, "float32")
    values[12345], values[54321] = -7.0, 9.0
    weight = summarised(values, "t")
    assert weight is not None
    assert weight.sampled
    assert (weight.minimum, weight.maximum) == (-7.0, 9.0)
    assert weight.zeros == pytest.approx(1.0, abs=1e-3)


def test_scalars_are_no_weights_and_a_weight_is_summed_up_once() -> None:
    assert summarised(np.array(3.0), "t") is None
    assert summarised(np.array(["a", "b"]), "t") is None
    weights, values = Weights(), const(np.arange(4, dtype="float32")).data
    first, second = weights.of(values, "weight", "t"), weights.of(values, "bias", "t")
    assert first is not None
    assert second is not None
    assert (first.name, second.name, first.histogram) == ("weight", "bias", second.histogram)


def test_the_highest_bar_has_the_last_height_whatever_its_count() -> None:
    for count in range(1, 300):
        weight = summarised(np.array([0.0] * count + [1.0]), "t")
        assert weight is not None
        assert max(HEIGHTS.index(digit) for digit in weight.histogram) == 63
