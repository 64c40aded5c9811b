"""Loops written out, on request or because they are short."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.ir.error import ArgumentError, LoweringError
from compiler.tir.statements.stmt import DeclBuffer, For
from compiler.tir.transform import UnrollLoop
from tests.compiler.tir.transform.programs import apply, assert_pass, nodes, program

NEST = """
for i, j in T.grid(2, 3):
    C[j] = A[i]
"""
INNER_WRITTEN_OUT = """
for i in range(2):
    C[0] = A[i]
    C[1] = A[i]
    C[2] = A[i]
"""
WRITTEN_OUT = """
C[0] = A[0]
C[1] = A[0]
C[2] = A[0]
C[0] = A[1]
C[1] = A[1]
C[2] = A[1]
"""
MARKED = """
for i in T.unroll(2):
    for j in T.unroll(3):
        C[j] = A[i]
"""
INNER_MARKED = """
for i in range(2):
    for j in T.unroll(3):
        C[j] = A[i]
"""


def test_marked_loops_are_written_out() -> None:
    assert_pass(UnrollLoop(), INNER_MARKED, INNER_WRITTEN_OUT)
    assert_pass(UnrollLoop(), MARKED, WRITTEN_OUT)


def test_nothing_to_unroll_returns_the_function_as_it_is() -> None:
    assert_pass(UnrollLoop(), NEST)


@pytest.mark.parametrize(
    ("limit", "expected"), [(2, NEST), (3, INNER_WRITTEN_OUT), (5, INNER_WRITTEN_OUT), (6, WRITTEN_OUT)]
)
def test_serial_loops_are_written_out_up_to_a_number_of_steps(limit: int, expected: str) -> None:
    assert_pass(UnrollLoop(auto_max_step=limit), NEST, expected)
    assert_pass(UnrollLoop(), NEST, expected, config={"tir.UnrollLoop": {"auto_max_step": limit}})
    assert_pass(UnrollLoop(), f'T.attr("", "pragma_auto_unroll_max_step", {limit}){NEST}', expected)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"auto_max_extent": 3}, WRITTEN_OUT),
        ({"auto_max_extent": 2}, NEST),
        ({"auto_max_step": 64, "auto_max_depth": 0}, INNER_WRITTEN_OUT),
        ({"auto_max_step": 64, "auto_max_depth": 1}, WRITTEN_OUT),
        ({"auto_max_step": 64, "explicit_unroll": False}, MARKED),
    ],
)
def test_options_limit_what_happens_by_itself(options: dict[str, Any], expected: str) -> None:
    assert_pass(UnrollLoop(**options), NEST, expected)


def test_without_explicit_unrolling_loops_are_only_marked() -> None:
    assert_pass(UnrollLoop(explicit_unroll=False), INNER_MARKED, INNER_MARKED)
    pragmas = 'T.attr("", "pragma_auto_unroll_max_step", 64)\nT.attr("", "pragma_unroll_explicit", 0)'
    assert_pass(UnrollLoop(), pragmas + NEST, MARKED)


def test_a_loop_that_does_not_begin_at_zero() -> None:
    assert_pass(
        UnrollLoop(),
        """
        for i in T.unroll(3, 5):
            C[i] = i
        for j in range(4):
            for i in T.unroll(j, j + 2):
                C[i] = i
        """,
        """
        C[3] = 3
        C[4] = 4
        for j in range(4):
            C[T.Add(j, 0)] = T.Add(j, 0)
            C[j + 1] = j + 1
        """,
    )


def test_loops_of_no_iteration_disappear() -> None:
    assert_pass(UnrollLoop(), "for i in T.unroll(0):\n    C[i] = i", "T.evaluate(0)")


def test_parallel_and_vectorized_loops_are_never_written_out_by_themselves() -> None:
    for kind in ("parallel", "vectorized"):
        loops = f"for i in T.{kind}(2):\n    C[i] = i"
        assert_pass(UnrollLoop(auto_max_step=64), loops, loops)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("for i in T.unroll(n):\n    C[i] = i", r"extent of an unrolled loop must be constant, got n \(loop 'i'\)"),
        (
            'T.attr("", "pragma_auto_unroll_max_step", n)' + NEST,
            "pragma: auto_unroll_max_step must be a constant int, got n",
        ),
    ],
)
def test_what_must_be_constant(text: str, message: str) -> None:
    with pytest.raises(LoweringError, match=message):
        apply(program(text), UnrollLoop())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"auto_max_steps": 3}, "no option 'auto_max_steps'; did you mean 'auto_max_step'"),
        ({"auto_max_step": "many"}, "UnrollLoop: auto_max_step must be of type int, got 'many'"),
    ],
)
def test_a_context_with_a_wrong_option(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        apply(program(NEST), UnrollLoop(), config={"tir.UnrollLoop": options})


def test_loops_that_index_registers_are_unrolled() -> None:
    text = """
        b = T.allocate([2], "int32", "{scope}")
        B = T.Buffer((2,), "int32", data=b, scope="{scope}")
        for i in range(2):
            B[i] = i
        for i in range(2):
            C[i] = B[0]
        """
    config = {"tir.UnrollLoop": {"unroll_local_access": True}}
    for scope, loops in (("local", 1), ("warp", 1), ("shared", 2)):
        func = program(text.format(scope=scope))
        assert len(nodes(apply(func, UnrollLoop(), config=config), For)) == loops
        assert len(nodes(apply(func, UnrollLoop()), For)) == 2


def test_each_iteration_has_memory_of_its_own() -> None:
    func = program("for i in T.unroll(3):\n    L = T.decl_buffer((4,), 'int32')\n    L[0] = A[i]\n    C[i] = L[0]")
    declared = [n.buffer for n in nodes(apply(func, UnrollLoop()), DeclBuffer)]
    assert len({buffer.data for buffer in declared}) == len(set(declared)) == 3
