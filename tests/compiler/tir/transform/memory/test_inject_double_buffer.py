"""The buffer of the next iteration is filled while the current one is in use."""

from __future__ import annotations

import re

import pytest

from compiler.ir.expr.primexpr import Call
from compiler.ir.transform import Sequential
from compiler.tir.analysis import verify_ssa
from compiler.tir.expressions.builtin import STORAGE_SYNC
from compiler.tir.statements.stmt import Allocate, DeclBuffer, For
from compiler.tir.transform import FlattenBuffer, InjectDoubleBuffer, Simplify, StorageRewrite, ThreadSync
from tests.compiler.tir.transform.programs import apply, assert_pass, assert_same, nodes, program

PARAMS = "A: T.Buffer((80,), 'int32'), C: T.Buffer((80,), 'int32')"
INJECT = Sequential([InjectDoubleBuffer(), Simplify()])


def test_the_next_iteration_is_filled_ahead() -> None:
    assert_pass(
        INJECT,
        """
        for i in range(8):
            B = T.allocate([4], "int32")
            B_1 = T.Buffer((4,), "int32", data=B)
            with T.attr(B, "double_buffer_scope", 1):
                for j in range(4):
                    B_1[j] = A[i * 4 + j]
            for k in range(4):
                C[i * 4 + k] = B_1[k] + B_1[3 - k]
        """,
        """
        B = T.allocate([8], "int32", "global")
        B_1 = T.Buffer((8,), "int32", data=B)
        for j in range(4):
            B_1[j] = A[j]
        for i_outer in range(7):
            with T.attr(B, "double_buffer_write", 1):
                for j in range(4):
                    B_1[(i_outer + 1) % 2 * 4 + j] = A[i_outer * 4 + j + 4]
            for k in range(4):
                C[i_outer * 4 + k] = B_1[i_outer % 2 * 4 + k] + B_1[i_outer % 2 * 4 + 3 - k]
        for k in range(4):
            C[k + 28] = B_1[k + 4] + B_1[7 - k]
        """,
        params=PARAMS,
    )


def test_one_loop_with_a_guard_fills_the_next_iteration_ahead() -> None:
    assert_pass(
        Sequential([InjectDoubleBuffer(split_loop=0), Simplify()]),
        """
        for i in range(8):
            B = T.allocate([4], "int32")
            B_1 = T.Buffer((4,), "int32", data=B)
            with T.attr(B, "double_buffer_scope", 1):
                for j in range(4):
                    B_1[j] = A[i * 4 + j]
            for k in range(4):
                C[i * 4 + k] = B_1[k] + B_1[3 - k]
        """,
        """
        B = T.allocate([8], "int32", "global")
        B_1 = T.Buffer((8,), "int32", data=B)
        for j in range(4):
            B_1[j] = A[j]
        for i in range(8):
            if i < 7:
                T.attr(B, "double_buffer_write", 1)
                for j in range(4):
                    B_1[(i + 1) % 2 * 4 + j] = A[i * 4 + j + 4]
            for k in range(4):
                C[i * 4 + k] = B_1[i % 2 * 4 + k] + B_1[i % 2 * 4 + 3 - k]
        """,
        params=PARAMS,
    )


def test_what_depends_on_the_same_iteration_is_not_filled_ahead() -> None:
    assert_pass(
        INJECT,
        """
        for i in range(8):
            B = T.allocate([4], "int32")
            B_1 = T.Buffer((4,), "int32", data=B)
            with T.attr(B, "double_buffer_scope", 1):
                for j in range(4):
                    B_1[j] = C[i * 4 + j]
            for k in range(4):
                C[i * 4 + k] = B_1[k] + B_1[3 - k]
        """,
        """
        for i in range(8):
            B = T.allocate([4], "int32", "global")
            B_1 = T.Buffer((4,), "int32", data=B)
            for j in range(4):
                B_1[j] = C[i * 4 + j]
            for k in range(4):
                C[i * 4 + k] = B_1[k] + B_1[3 - k]
        """,
        params=PARAMS,
    )


def buffered(loop: str) -> str:
    """Return a loop that fills a marked buffer and uses it, in each iteration."""
    return f"""
for i in {loop}:
    B = T.allocate([4], "int32")
    B_1 = T.Buffer((4,), "int32", data=B)
    with T.attr(B, "double_buffer_scope", 1):
        for j in range(4):
            B_1[j] = A[i * 4 + j] + 1
    for k in range(4):
        C[i * 4 + k] = B_1[k] * 2 + B_1[3 - k]
"""


@pytest.mark.parametrize("split", [0, 1, 2, 3])
@pytest.mark.parametrize("loop", ["range(1)", "range(2)", "range(5)", "range(8)", "range(2, 6)"])
def test_constant_loops_compute_the_same(loop: str, split: int) -> None:
    func = program(buffered(loop))
    after = apply(func, InjectDoubleBuffer(), config={"tir.InjectDoubleBuffer": {"split_loop": split}})
    assert after is not func
    for result in (after, apply(after, StorageRewrite())):
        assert_same(func, result, scalars={"n": 0})


@pytest.mark.parametrize("n", [0, 1, 4])
def test_a_symbolic_loop_computes_the_same(n: int) -> None:
    func = program(buffered("range(n)"))
    assert_same(func, apply(func, InjectDoubleBuffer()), scalars={"n": n})


FILLED_TOGETHER = """
for i in range(8):
    B = T.allocate([4], "int32")
    D = T.allocate([2], "int32")
    B_1 = T.Buffer((4,), "int32", data=B)
    D_1 = T.Buffer((2,), "int32", data=D)
    with T.attr(D, "double_buffer_scope", 1):
        with T.attr(B, "double_buffer_scope", 1):
            for j in range(4):
                B_1[j] = A[i * 4 + j] + 1
                D_1[j // 2] = A[i * 4 + j] * 3
    for k in range(4):
        C[i * 4 + k] = B_1[k] * 2 + D_1[k % 2]
"""
FILLED_WITHIN = """
for i in range(8):
    B = T.allocate([4], "int32")
    B_1 = T.Buffer((4,), "int32", data=B)
    with T.attr(B, "double_buffer_scope", 1):
        D = T.allocate([5], "int32")
        D_1 = T.Buffer((5,), "int32", data=D)
        with T.attr(D, "double_buffer_scope", 1):
            for j in range(5):
                D_1[j] = A[i * 4 + j] + 1
        for j in range(4):
            B_1[j] = D_1[j] + D_1[j + 1]
    for k in range(4):
        C[i * 4 + k] = B_1[k] * 2 + B_1[3 - k]
"""
WRITES_BESIDE = """
D = T.allocate([1], "int32")
D_1 = T.Buffer((1,), "int32", data=D)
for i in range(8):
    B = T.allocate([4], "int32")
    B_1 = T.Buffer((4,), "int32", data=B)
    with T.attr(B, "double_buffer_scope", 1):
        D_1[0] = A[i * 4]
        for j in range(4):
            B_1[j] = A[i * 4 + j]
    for k in range(4):
        C[i * 4 + k] = B_1[k] + D_1[0]
"""
UNDER_A_CONDITION = """
for i in range(8):
    if i % 2 == 0:
        B = T.allocate([4], "int32")
        B_1 = T.Buffer((4,), "int32", data=B)
        with T.attr(B, "double_buffer_scope", 1):
            for j in range(4):
                B_1[j] = A[i * 4 + j]
        for k in range(4):
            C[i * 4 + k] = B_1[3 - k]
"""


@pytest.mark.parametrize("split", [0, 1, 2])
@pytest.mark.parametrize(
    ("source", "doubled"),
    [(FILLED_TOGETHER, True), (FILLED_WITHIN, True), (WRITES_BESIDE, False), (UNDER_A_CONDITION, False)],
    ids=["filled together", "filled within another filling", "writes other memory", "under a condition"],
)
def test_what_is_filled_ahead_computes_the_same(source: str, doubled: bool, split: int) -> None:
    func = program(source, params=PARAMS)
    after = apply(func, InjectDoubleBuffer(split_loop=split))
    assert verify_ssa(after)
    assert ("double_buffer_write" in str(after)) == doubled
    for result in (after, apply(after, StorageRewrite())):
        assert_same(func, result)


def test_within_a_filling_nothing_is_doubled_again() -> None:
    sizes = re.findall(r"T.allocate\(\[(\d+)\]", str(apply(program(FILLED_WITHIN, params=PARAMS), INJECT)))
    assert set(sizes) == {"8", "5"}


def test_threads_wait_for_each_half_where_turns_hold_two_iterations() -> None:
    func = program(
        """
        with T.launch_thread("threadIdx.x", 4) as tx:
            for i in range(12):
                p = T.allocate([4], "int32", "shared")
                B = T.decl_buffer((4,), "int32", data=p, scope="shared")
                with T.attr(p, "double_buffer_scope", 1):
                    B[tx] = A[i * 4 + tx]
                C[i * 4 + tx] = B[3 - tx]
        """
    )
    config = {"tir.InjectDoubleBuffer": {"split_loop": 2}}
    passes = (FlattenBuffer(), InjectDoubleBuffer(), Simplify(), ThreadSync("shared"))
    waiting = apply(func, *passes, config=config)
    # Before each half is filled in the loop; behind it, before the last half is filled and before it is read.
    assert [call.op for call in nodes(waiting, Call)].count(STORAGE_SYNC) == 4


@pytest.mark.parametrize(
    "declaration",
    ["B = T.decl_buffer((4,), 'int32')", "P = T.allocate([4], 'int32')\n    B = T.Buffer((4,), 'int32', data=P)"],
)
def test_a_marker_around_the_whole_iteration(declaration: str) -> None:
    """The iterations stay in order, so that it may do anything: the halves of the buffer take turns."""
    before = program(
        f"""
for i in range(8):
    {declaration}
    T.attr(B.data, "double_buffer_scope", 1)
    for j in range(4):
        B[j] = A[i * 4 + j] + C[0]
    C[0] = B[1] - B[2]
        """,
        params=PARAMS,
    )
    after = apply(before, INJECT)
    (alloc,) = nodes(after, Allocate)
    assert int(alloc.extents[0]) == 8
    declared = {int(node.buffer.shape[0]) for node in nodes(after, DeclBuffer)}
    assert declared == ({8} if "decl" in declaration else set())
    loops = [int(loop.extent) for loop in nodes(after, For) if "i" in loop.loop_var.name]
    assert loops == [7]
    assert_same(before, after)
