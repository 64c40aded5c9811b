"""LowerOpaqueBlock: blocks become branches and allocations, annotations that begin with ``pragma_`` attributes."""

from __future__ import annotations

import numpy as np

from compiler.driver.build import build
from compiler.driver.lower import lower
from compiler.ir.module import IRModule
from compiler.tir.interpreter import interpret
from compiler.tir.schedule import Schedule
from compiler.tir.script import from_source
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, AttrStmt, For
from compiler.tir.transform import FlattenBuffer, LowerOpaqueBlock
from tests.compiler.tir.transform.programs import apply, nodes


def program(body: str) -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    return from_source(f"@T.prim_func\ndef main(A: T.Buffer((4, 16), 'float32')):\n{lines}")


def test_pragmas_of_loops_and_blocks_are_attributes_in_the_order_of_their_names() -> None:
    func = apply(
        program("""
for i in T.serial(4, annotations={"pragma_b": 2, "pragma_a": "one", "mine": 3}):
    with T.block():
        T.block_attr({"pragma_c": 0.5})
        A[i, 0] = 1.0
"""),
        LowerOpaqueBlock(),
    )
    first, second = func.body, func.body.body
    loop = second.body
    assert isinstance(loop, For)
    assert [first.attr_key, second.attr_key] == ["pragma_a", "pragma_b"]
    assert first.node is second.node is loop.loop_var
    assert dict(loop.annotations) == {"mine": 3}
    assert (loop.body.attr_key, loop.body.value.value) == ("pragma_c", 0.5)


def test_a_loop_of_one_iteration_stays_where_something_is_stated_of_it() -> None:
    func = apply(program('for i in T.serial(1, annotations={"pragma_a": 1}):\n    A[i, 0] = 1.0'), LowerOpaqueBlock())
    assert isinstance(func.body, AttrStmt)
    assert isinstance(func.body.body, For)
    assert not func.body.body.annotations


def test_unrolling_hears_of_pragmas_in_schedules() -> None:
    sch = Schedule(program("for i, j in T.grid(4, 16):\n    with T.block('A'):\n        A[i, j] = 1.0"))
    i, j = sch.get_loops(sch.get_block("A"))
    sch.annotate(j, "pragma_auto_unroll_max_step", 32)
    sch.annotate(j, "pragma_unroll_explicit", 1)
    assert [loop.loop_var.name for loop in nodes(lower(sch.mod)["main"], For)] == [sch.get(i).loop_var.name]


def test_rows_with_gaps_are_allocated_as_long_as_their_strides_say() -> None:
    func = program("""
with T.block():
    B = T.alloc_buffer((4, 16), strides=(17, 1))
    for i, j in T.grid(4, 16):
        B[i, j] = A[i, 15 - j]
    for i, j in T.grid(4, 16):
        A[i, j] = B[i, j]
""")
    lowered = apply(func, LowerOpaqueBlock())
    (memory,) = nodes(lowered, Allocate)
    assert [int(extent) for extent in memory.extents] == [4, 17]
    a = np.random.default_rng(0).random((4, 16), dtype="float32")
    result = a.copy()
    interpret(FlattenBuffer()(IRModule({"main": lowered}))["main"], [result])
    np.testing.assert_array_equal(result, a[:, ::-1])


def test_memory_as_long_as_a_loop_of_one_iteration_says_keeps_its_variable() -> None:
    func = program("""
for o in range(1):
    for i in range(4):
        with T.block():
            B = T.alloc_buffer((o * 4 + i + 1, 16))
            for k, j in T.grid(o * 4 + i + 1, 16):
                B[k, j] = A[k, j] + 1.0
            for j in range(16):
                A[i, j] = B[i, 15 - j]
""")
    a = np.random.default_rng(0).random((4, 16), dtype="float32")
    result = a.copy()
    build(func, target="llvm")(result)
    np.testing.assert_array_equal(result, a[:, ::-1] + 1)
