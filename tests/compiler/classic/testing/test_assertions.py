"""Helpers for tests say what differs."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import compiler
from compiler.classic import testing


def test_arrays_of_either_kind_are_compared() -> None:
    values = np.arange(4, dtype="float32")
    testing.assert_allclose(compiler.nd.array(values), values)
    testing.assert_allclose(values, [0, 1, 2, 3])


@pytest.mark.parametrize(
    ("actual", "message"), [([0.0, 1.5], "Mismatched elements: 1 / 2"), ([0.0, 1.0, 2.0], "not equal")]
)
def test_differences_are_shown(actual: list[float], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        testing.assert_allclose(np.array(actual), np.array([0.0, 1.0]))


def test_arrays_are_compared_without_pytest_and_fixtures_say_that_they_need_it() -> None:
    program = """\
import sys
sys.modules["pytest"] = None
from compiler.classic.alias import install
install()
import tvm.testing
tvm.testing.assert_allclose([1.0], [1.0])
try:
    tvm.testing.parameter(1)
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "pytest" in done.stdout, done.stderr
