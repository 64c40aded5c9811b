"""What does nothing disappears."""

from __future__ import annotations

import textwrap

import pytest

from compiler.tir.transform import RemoveNoOp
from tests.compiler.tir.transform.programs import assert_pass


@pytest.mark.parametrize(
    "statement",
    [
        "for i in range(4):\n    T.evaluate(0)",
        "for i in range(0):\n    C[i] = i",
        "for i, j in T.grid(4, 0):\n    C[j] = i",
        "for i in range(4):\n    for j in range(i - 9):\n        C[j] = i",
        "if n < 3:\n    T.evaluate(0)",
        "if T.bool(False):\n    C[n] = n",
        "with T.LetStmt(n * 2) as i:\n    T.evaluate(i + 1)",
        "T.evaluate(n + 1)",
        "C[n] = C[n]",
        'with T.attr(C.data, "fact", 1):\n    T.evaluate(0)',
        'with T.allocate([4], "int32") as L:\n    T.evaluate(0)',
    ],
)
def test_what_does_nothing_disappears(statement: str) -> None:
    assert_pass(RemoveNoOp(), statement, "T.evaluate(0)", values=(2,))
    assert_pass(RemoveNoOp(), "C[0] = 1\n" + statement, "C[0] = 1", values=(2,))


@pytest.mark.parametrize(
    "statement",
    [
        'T.call_extern("int32", "f", 1)',
        'for i in range(4):\n    T.call_extern("int32", "f", 1)',
        "i = n\nC[0] = i",
        "C[n + 1] = C[n]",
        'C[T.Cast("int64", n) + T.int64(1)] = C[n]',
        "C[n] = A[n]",
        'if not n < 3:\n    T.call_extern("int32", "f", 1)',
    ],
)
def test_what_does_something_stays(statement: str) -> None:
    assert_pass(RemoveNoOp(), statement)


@pytest.mark.parametrize(
    "statement",
    [
        'x = T.call_extern("int32", "f", 1)\nT.evaluate(0)',
        'for i in range(T.call_extern("int32", "f", 1)):\n    T.evaluate(0)',
    ],
)
def test_a_value_with_an_effect_outlives_its_statement(statement: str) -> None:
    assert_pass(RemoveNoOp(), statement, 'T.call_extern("int32", "f", 1)', values=())


def test_an_effect_within_a_condition_outlives_the_branch() -> None:
    branch = 'if T.call_extern("int32", "f", 1) > 0:\n    T.evaluate(0)'
    assert_pass(RemoveNoOp(), branch, 'T.evaluate(T.call_extern("int32", "f", 1) > 0)', values=())


def test_empty_branches_and_nested_loops() -> None:
    before = """
    if n < 3:
        for i in range(4):
            C[n] = C[n]
    else:
        for i in range(4):
            for j in range(4):
                T.evaluate(i + j)
            C[i] = A[i]
    """
    after = """
    if not n < 3:
        for i in range(4):
            C[i] = A[i]
    """
    assert_pass(RemoveNoOp(), textwrap.dedent(before), textwrap.dedent(after))


def test_declared_buffers_stay_declared() -> None:
    text = "L = T.decl_buffer((4,), 'int32')\nL[0] = A[0]\nC[0] = L[0]"
    assert_pass(RemoveNoOp(), text, text, values=())
