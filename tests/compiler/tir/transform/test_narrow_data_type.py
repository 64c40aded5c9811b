"""Index arithmetic in fewer bits, where its values fit."""

from __future__ import annotations

import pytest

from compiler.ir.error import ArgumentError
from compiler.tir.transform import NarrowDataType
from tests.compiler.tir.transform.programs import assert_pass

SHAPE = "(T.int64(64),)"
PARAMS = f"A: T.Buffer({SHAPE}, 'int32'), C: T.Buffer({SHAPE}, 'int32'), n: T.int32"


def test_indices_that_fit_are_narrowed() -> None:
    assert_pass(
        NarrowDataType(32),
        """
        for i in range(T.int64(64)):
            C[i] = A[i * 3 % 64] + 1
        """,
        """
        for i in range(64):
            C[i] = A[i * 3 % 64] + 1
        """,
        params=PARAMS,
    )


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        (32, "for i in range(T.int64(64)):\n    C[i] = A[i * T.int64(1099511627776) % 64] + 1"),
        (8, "for i in range(T.int64(200)):\n    C[i % 64] = 1"),
    ],
)
def test_indices_whose_intermediate_results_do_not_fit_stay(bits: int, text: str) -> None:
    assert_pass(NarrowDataType(bits), text, params=PARAMS)  # type: ignore[arg-type]


def test_a_value_that_is_stored_keeps_its_type() -> None:
    assert_pass(
        NarrowDataType(32),
        """
        for i in range(T.int64(64)):
            C[i] = i * i
        """,
        """
        for i in range(64):
            C[i] = T.Cast("int64", i * i)
        """,
        params="C: T.Buffer((64,), 'int64'), n: T.int32",
    )


def test_narrow_indices_are_left_alone() -> None:
    assert_pass(NarrowDataType(32), "for i in range(4):\n    C[i] = i")


def test_the_width_must_be_one_of_an_integer() -> None:
    with pytest.raises(ArgumentError, match="target_bits must be 8, 16, 32 or 64, got 24"):
        NarrowDataType(24)  # type: ignore[arg-type]
