"""Accesses that may be outside of a buffer are checked at run time."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.tir.interpreter import AssertionFailed, interpret
from compiler.tir.transform import InstrumentBoundCheckers
from tests.compiler.tir.transform.programs import apply, assert_pass, program


def arrays() -> list[np.ndarray]:
    return [np.zeros(64, "int32"), np.zeros(64, "int32")]


def test_an_assertion_stands_before_what_cannot_be_proved() -> None:
    before = """
    for i in range(8):
        C[i] = A[i + n]
    """
    after = """
    for i in range(8):
        assert i + n >= 0 and i + n < 64, "OUT OF THE BOUNDS"
        C[i] = A[i + n]
    """
    assert_pass(InstrumentBoundCheckers(), before, after, values=(0, 56))
    for outside in (57, -1):
        with pytest.raises(AssertionFailed, match="OUT OF THE BOUNDS"):
            interpret(program(after), [*arrays(), outside])


@pytest.mark.parametrize(("stride", "first", "last"), [(1, "n", "n + 7"), (-2, "n + -14", "n")])
def test_a_vector_access_is_checked_at_both_ends(stride: int, first: str, last: str) -> None:
    text = f"C[0:8] = A[T.Ramp(n, {stride}, 8)]"
    check = f'assert {first} >= 0 and {last} < 64, "OUT OF THE BOUNDS"\n'
    assert_pass(InstrumentBoundCheckers(), text, check + text, values=(20,))
    for outside in (-1, 64):
        with pytest.raises(AssertionFailed):
            interpret(apply(program(text), InstrumentBoundCheckers()), [*arrays(), outside])


def test_what_is_not_read_is_not_checked() -> None:
    assert_pass(
        InstrumentBoundCheckers(),
        """
        if A[n] < 1000:
            C[0] = T.if_then_else(n < 4, A[n + 60], 0)
        """,
        """
        assert n >= 0 and n < 64, "OUT OF THE BOUNDS"
        if A[n] < 1000:
            assert T.if_then_else(n < 4, n + 60 >= 0, T.bool(True)), "OUT OF THE BOUNDS"
            C[0] = T.if_then_else(n < 4, A[n + 60], 0)
        """,
    )
