"""Reductions factored by a loop: partial results, and the block that combines them."""

from __future__ import annotations

import pytest

from compiler.ir.structural import assert_structural_equal
from compiler.tir.schedule import Schedule
from tests.compiler.tir.transform.programs import assert_same, program

PARAMS = "A: T.Buffer((6, 8), 'int32'), C: T.Buffer((6,), 'int32')"
SUM = """
for i, j in T.grid(6, 8):
    with T.block("C"):
        v, w = T.axis.remap("SR", [i, j])
        with T.init():
            C[v] = 0
        C[v] = C[v] + A[v, w]
"""


def test_each_partial_result_of_one_iteration_is_stored_once() -> None:
    before = program(SUM, params=PARAMS)
    sch = Schedule(before)
    sch.rfactor(sch.get_loops("C")[1], 0)
    expected = program(
        """
P = T.alloc_buffer((8, 6), "int32")
for i, j in T.grid(6, 8):
    with T.block("C_rf"):
        w, v = T.axis.remap("SS", [j, i])
        P[w, v] = A[v, w]
for i, j in T.grid(6, 8):
    with T.block("C"):
        w, v = T.axis.remap("RS", [j, i])
        with T.init():
            C[v] = 0
        C[v] = C[v] + P[w, v]
    """,
        params=PARAMS,
    )
    assert_structural_equal(sch.mod["main"], expected)
    assert_same(before, sch.mod["main"])


@pytest.mark.parametrize("inner", [0, 1])
def test_partial_results_of_several_iterations_are_accumulated(inner: int) -> None:
    before = program(SUM, params=PARAMS)
    sch = Schedule(before)
    sch.rfactor(sch.split(sch.get_loops("C")[1], [None, 4])[inner], 1)
    assert sch.get(sch.get_block("C_rf")).init is not None
    assert_same(before, sch.mod["main"])
