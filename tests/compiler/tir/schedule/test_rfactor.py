"""Reductions factored by a loop: partial results, and the block that combines them."""

from __future__ import annotations

import pytest

from compiler.ir.structural import assert_structural_equal
from compiler.tir.schedule import Schedule
from compiler.tir.script import from_source
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


def test_partial_results_of_long_extents_have_an_offset_of_their_type() -> None:
    func = from_source("""
@T.prim_func
def main(A: T.Buffer((T.int64(6),)), C: T.Buffer(())):
    for k in range(T.int64(6)):
        with T.block("C"):
            vk = T.axis.reduce(T.int64(6), k)
            with T.init():
                C[()] = 0.0
            C[()] = C[()] + A[vk]
""")
    sch = Schedule(func)
    sch.rfactor(sch.get_loops("C")[0], 0)
    (partial,) = sch.get(sch.get_block("root")).alloc_buffers
    assert partial.elem_offset.dtype == "int64"
    assert_structural_equal(from_source(sch.mod.script()), sch.mod)
