"""Gradients are compared with differences."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.classic import testing


def test_right_gradients_pass_and_wrong_ones_do_not() -> None:
    x, y = np.array([[0.5, -1.0], [2.0, 3.0]]), np.array([1.0, 2.0])

    def function(a: np.ndarray, b: np.ndarray) -> float:
        return float((a**2 @ b).sum())

    right = [2 * x * y, (x**2).sum(0)]
    testing.check_numerical_grads(function, [x, y], right)
    testing.check_numerical_grads(lambda p, q: function(p, q), {"p": x, "q": y}, {"p": right[0], "q": right[1]})
    with pytest.raises(AssertionError, match="with respect to 1 is"):
        testing.check_numerical_grads(function, [x, y], [right[0], right[1] * 1.5])
    with pytest.raises(AssertionError, match="has shape"):
        testing.check_numerical_grads(function, [x, y], [right[1], right[0]])


def test_gradients_near_a_pole_are_compared_with_values_close_by() -> None:
    x = np.array([np.pi / 2 - 2.4e-3, 0.5])
    gradient = 1 / np.cos(x) ** 2
    testing.check_numerical_grads(lambda a: float(np.tan(a).sum()), [x], [gradient])
    with pytest.raises(AssertionError, match="with respect to 0 is"):
        testing.check_numerical_grads(lambda a: float(np.tan(a).sum()), [x], [gradient * 1.5])
