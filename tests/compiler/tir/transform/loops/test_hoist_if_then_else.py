"""Branches leave the loops that their conditions do not depend on."""

from __future__ import annotations

import pytest

from compiler.ir.error import ArgumentError
from compiler.tir.transform import HoistIfThenElse, InsertHoistIfThenElse
from tests.compiler.tir.transform.programs import assert_pass


def test_a_branch_leaves_loops_that_it_does_not_depend_on() -> None:
    assert_pass(
        HoistIfThenElse(),
        """
        for i in range(4):
            for j in range(4):
                if i < n:
                    C[i * 4 + j] = i + j
        for i in range(4):
            if n < 5:
                C[i] = i
        """,
        """
        for i in range(4):
            if i < n:
                for j in range(4):
                    C[i * 4 + j] = i + j
        if n < 5:
            for i in range(4):
                C[i] = i
        """,
    )


def test_an_inner_branch_leaves_through_an_outer_one() -> None:
    assert_pass(
        HoistIfThenElse(),
        """
        for i in range(4):
            if i < n:
                if n < 5:
                    C[i] = i
        """,
        """
        if n < 5:
            for i in range(4):
                if i < n:
                    C[i] = i
        """,
    )


def test_a_branch_with_an_else_doubles_the_loop() -> None:
    assert_pass(
        HoistIfThenElse(),
        """
        for i in range(4):
            if n < 5:
                C[i] = i
            else:
                C[i] = i + 1
        """,
        """
        if n < 5:
            for i in range(4):
                C[i] = i
        else:
            for i in range(4):
                C[i] = i + 1
        """,
    )


def test_what_stays_inside_of_the_loop_is_in_both_copies() -> None:
    assert_pass(
        HoistIfThenElse(),
        """
        for i in range(4):
            if i < 2:
                if n < 5:
                    C[i] = i
                else:
                    C[i] = n
        """,
        """
        if n < 5:
            for i in range(4):
                if i < 2:
                    C[i] = i
        else:
            for i in range(4):
                if i < 2:
                    C[i] = n
        """,
    )


def test_a_branch_leaves_an_allocation() -> None:
    assert_pass(
        HoistIfThenElse(),
        """
        for i in range(4):
            L = T.allocate([4], "int32")
            if n < 5:
                L_1 = T.Buffer((4,), "int32", data=L)
                L_1[0] = i
                C[i] = L_1[0]
        """,
        """
        if n < 5:
            for i in range(4):
                L = T.allocate([4], "int32")
                L_1 = T.Buffer((4,), "int32", data=L)
                L_1[0] = i
                C[i] = L_1[0]
        """,
    )


@pytest.mark.parametrize(
    "body",
    [
        "if A[n] < 5:\n        C[i] = i",
        "if 7 // n < 5:\n        C[i] = i",
        "C[i] = i\n    if n < 5:\n        C[i + 4] = i",
    ],
)
def test_branches_that_read_or_could_fail_or_stand_beside_others_stay(body: str) -> None:
    assert_pass(HoistIfThenElse(), f"for i in range(4):\n    {body}")


def test_the_variants_have_their_names() -> None:
    assert HoistIfThenElse().info.name == "tir.HoistIfThenElse"
    assert HoistIfThenElse("basic").info.name == "tir.HoistIfThenElseBasic"
    assert InsertHoistIfThenElse().info.name == "tir.InsertHoistIfThenElse"
    with pytest.raises(ArgumentError, match="variant must be None or 'basic', got 'fast'"):
        HoistIfThenElse("fast")  # type: ignore[arg-type]
