"""Values that must not be evaluated in vain become choices."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.tir.interpreter import OutOfBounds, interpret
from compiler.tir.transform import RewriteUnsafeSelect
from tests.compiler.tir.transform.programs import apply, assert_pass, program


def test_a_select_that_loads_becomes_a_choice() -> None:
    assert_pass(
        RewriteUnsafeSelect(),
        """
        for i in range(8):
            C[i] = T.Select(i < 2, A[i], 0)
            C[i + 8] = T.Select(i < 2, i, 0)
            C[i + 16] = T.Select(i < 2, T.if_then_else(i < 1, A[i], 0), i)
        """,
        """
        for i in range(8):
            C[i] = T.if_then_else(i < 2, A[i], 0)
            C[i + 8] = T.Select(i < 2, i, 0)
            C[i + 16] = T.Select(i < 2, T.if_then_else(i < 1, A[i], 0), i)
        """,
    )


def test_a_guarded_load_out_of_bounds_is_made_safe() -> None:
    func = program("for i in range(8):\n    C[i] = T.Select(i < 4, A[i + 60], 0)")
    with pytest.raises(OutOfBounds):
        interpret(func, [np.zeros(64, "int32"), np.zeros(64, "int32"), 0])
    interpret(apply(func, RewriteUnsafeSelect()), [np.zeros(64, "int32"), np.zeros(64, "int32"), 0])


def test_a_vector_select_stays() -> None:
    lanes = "T.Ramp(0, 1, 4)"
    assert_pass(RewriteUnsafeSelect(), f"C[0:4] = T.Select({lanes} < T.Broadcast(n, 4), A[0:4], T.Broadcast(0, 4))")
