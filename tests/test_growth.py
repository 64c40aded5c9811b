"""The measure of growth tells linear work from quadratic."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.growth import assert_linear, calls_of


def test_calls_are_counted() -> None:
    assert calls_of(lambda: [abs(value) for value in range(100)]) - calls_of(list) >= 100


def test_linear_work_passes_and_quadratic_does_not() -> None:
    def power(exponent: int) -> Callable[[int], Callable[[], object]]:
        return lambda size: lambda: [abs(value) for value in range(size**exponent)]

    assert_linear(power(1), 100)
    with pytest.raises(AssertionError, match=r"100 take \d+ calls, 200 take \d+"):
        assert_linear(power(2), 100)
