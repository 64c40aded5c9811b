"""One thread does the work of several, statement by statement."""

from __future__ import annotations

import textwrap

import pytest

from compiler.ir.error import LoweringError
from compiler.ir.module import IRModule
from compiler.ir.transform import Sequential
from compiler.tir.analysis import verify_ssa
from compiler.tir.transform import InjectVirtualThread, Simplify
from tests.compiler.tir.transform.programs import apply, assert_pass, assert_same, program

PARAMS = "A: T.Buffer((80,), 'int32'), C: T.Buffer((80,), 'int32')"
INJECT = Sequential([InjectVirtualThread(), Simplify()])
ARRAY = """
L = T.allocate([4], "int32")
L_1 = T.Buffer((4,), "int32", data=L)
"""


def test_each_thread_has_its_own_memory_and_statements_alternate() -> None:
    assert_pass(
        INJECT,
        """
        v = T.launch_thread("vthread", 2)
        L = T.allocate([4], "int32")
        L_1 = T.Buffer((4,), "int32", data=L)
        for i in range(4):
            L_1[i] = A[v * 4 + i]
        for i in range(4):
            C[v * 4 + i] = L_1[i] + 1
        """,
        """
        L = T.allocate([8], "int32", "global")
        L_1 = T.Buffer((8,), "int32", data=L)
        for i in range(4):
            L_1[i] = A[i]
            L_1[i + 4] = A[i + 4]
        for i in range(4):
            C[i] = L_1[i] + 1
            C[i + 4] = L_1[i + 4] + 1
        """,
        params=PARAMS,
        values=(),
    )


@pytest.mark.parametrize("value", ["A[i] * 3", "A[v + i]"])
def test_memory_whose_size_depends_on_the_thread_is_allocated_for_each(value: str) -> None:
    statements = f"""
    L = T.allocate([v + 3], "int32")
    L_1 = T.Buffer((v + 3,), "int32", data=L)
    for i in range(v + 3):
        L_1[i] = {value}
    for i in range(v + 3):
        C[v * 4 + i] = L_1[i]
"""
    threads = program('with T.launch_thread("vthread", 2) as v:' + statements, params=PARAMS)
    one_after_the_other = program("for v in range(2):" + statements, params=PARAMS)
    injected = apply(threads, INJECT)
    assert "v" not in str(injected.body)
    assert verify_ssa(injected)
    assert_same(one_after_the_other, injected)


def test_views_of_shared_memory_have_shapes_that_do_not_depend_on_the_thread() -> None:
    assert_pass(
        INJECT,
        """
        v = T.launch_thread("vthread", 2)
        L = T.allocate([4], "int32")
        L_1 = T.Buffer((v // 2 + 4,), "int32", data=L)
        for i in range(4):
            L_1[i] = A[i] * 3
            C[i] = L_1[i]
        """,
        """
        L = T.allocate([4], "int32")
        L_1 = T.Buffer((4,), "int32", data=L)
        for i in range(4):
            L_1[i] = A[i] * 3
            C[i] = L_1[i]
        """,
        params=PARAMS,
        values=(),
    )


def test_memory_that_does_not_depend_on_the_thread_is_shared() -> None:
    assert_pass(
        INJECT,
        """
        v = T.launch_thread("vthread", 2)
        L = T.allocate([4], "int32")
        L_1 = T.Buffer((4,), "int32", data=L)
        for i in range(4):
            L_1[i] = A[i] * 3
        for i in range(4):
            C[v * 4 + i] = L_1[i] + v
        """,
        """
        L = T.allocate([4], "int32", "global")
        L_1 = T.Buffer((4,), "int32", data=L)
        for i in range(4):
            L_1[i] = A[i] * 3
        for i in range(4):
            C[i] = L_1[i]
            C[i + 4] = L_1[i] + 1
        """,
        params=PARAMS,
        values=(),
    )


def test_dependence_spreads_through_memory() -> None:
    assert_pass(
        INJECT,
        """
        v = T.launch_thread("vthread", 3)
        L = T.allocate([1], "int32")
        L_1 = T.Buffer((1,), "int32", data=L)
        M = T.allocate([1], "int32")
        M_1 = T.Buffer((1,), "int32", data=M)
        L_1[0] = A[v]
        M_1[0] = L_1[0] + 1
        C[v] = M_1[0]
        """,
        """
        L = T.allocate([3], "int32", "global")
        M = T.allocate([3], "int32", "global")
        L_1 = T.Buffer((3,), "int32", data=L)
        L_1[0] = A[0]
        L_1[1] = A[1]
        L_1[2] = A[2]
        M_1 = T.Buffer((3,), "int32", data=M)
        M_1[0] = L_1[0] + 1
        M_1[1] = L_1[1] + 1
        M_1[2] = L_1[2] + 1
        C[0] = M_1[0]
        C[1] = M_1[1]
        C[2] = M_1[2]
        """,
        params=PARAMS,
        values=(),
    )


def test_many_threads_become_a_loop() -> None:
    assert_pass(
        INJECT,
        """
        v = T.launch_thread("vthread", 20)
        for i in range(4):
            C[v * 4 + i] = A[v * 4 + i]
        """,
        """
        for i, v_s in T.grid(4, 20):
            C[v_s * 4 + i] = A[v_s * 4 + i]
        """,
        params=PARAMS,
        values=(),
    )


def test_conditions_lets_and_extents_that_depend_on_the_thread() -> None:
    assert_pass(
        INJECT,
        """
        v = T.launch_thread("vthread", 2)
        if v < 1:
            C[v] = A[v]
        else:
            C[v] = A[v + 5]
        with T.LetStmt(v * 2) as t:
            C[t] = t
        for i in range(v + 1):
            C[v * 4 + i] = A[i] + v
        """,
        """
        C[0] = A[0]
        C[1] = A[6]
        C[0] = 0
        C[2] = 2
        for i in range(1):
            C[0] = A[0]
        for i in range(2):
            C[i + 4] = A[i] + 1
        """,
        params=PARAMS,
        values=(),
    )


def test_a_branch_on_the_thread_makes_the_memory_its_own() -> None:
    assert_pass(
        INJECT,
        """
        v = T.launch_thread("vthread", 2)
        L = T.allocate([1], "int32")
        L_1 = T.Buffer((1,), "int32", data=L)
        L_1[0] = 5
        if v < 1:
            L_1[0] = 9
        C[v] = L_1[0]
        """,
        """
        L = T.allocate([2], "int32", "global")
        L_1 = T.Buffer((2,), "int32", data=L)
        L_1[0] = 5
        L_1[1] = 5
        L_1[0] = 9
        C[0] = L_1[0]
        C[1] = L_1[1]
        """,
        params=PARAMS,
        values=(),
    )


def test_threads_within_threads() -> None:
    assert_pass(
        INJECT,
        """
        v = T.launch_thread("vthread", 2)
        u = T.launch_thread("vthread", 2)
        L = T.allocate([1], "int32")
        L_1 = T.Buffer((1,), "int32", data=L)
        L_1[0] = A[v * 2 + u]
        C[v * 2 + u] = L_1[0]
        """,
        """
        L = T.allocate([4], "int32", "global")
        L_1 = T.Buffer((4,), "int32", data=L)
        L_1[0] = A[0]
        L_1[2] = A[2]
        L_1[1] = A[1]
        L_1[3] = A[3]
        C[0] = L_1[0]
        C[2] = L_1[2]
        C[1] = L_1[1]
        C[3] = L_1[3]
        """,
        params=PARAMS,
        values=(),
    )


@pytest.mark.parametrize("threads", [2, 3, 20])
@pytest.mark.parametrize(
    "body",
    [
        ARRAY + "for i in range(4):\n    L_1[i] = A[v * 4 + i]\nfor i in range(4):\n    C[v * 4 + i] = L_1[i] + 1",
        ARRAY + "L_1[0] = A[v]\nL_1[1] = L_1[0] + 1\nC[v] = L_1[1]",
        ARRAY + "L_1[0] = 5\nif v < 1:\n    L_1[0] = 9\nC[v] = L_1[0]",
        "if v < 2:\n    C[v] = A[v]\nelse:\n    C[v] = A[v + 5]",
        "t = v * 2\nC[t] = t",
        "for i in range(v % 4 + 1):\n    C[v * 4 + i] = A[i] + v",
    ],
)
def test_threads_compute_what_a_loop_computes(threads: int, body: str) -> None:
    marked = program(f'v = T.launch_thread("vthread", {threads})\n{body}', PARAMS)
    looped = program(f"for v in range({threads}):\n{textwrap.indent(body, '    ')}", PARAMS)
    assert_same(looped, apply(marked, InjectVirtualThread()))


def test_the_number_of_threads_must_be_constant() -> None:
    with pytest.raises(LoweringError, match="number of threads must be constant, got n"):
        apply(program('v = T.launch_thread("vthread", n)\nC[v] = v'), InjectVirtualThread())


POINTERS = """
v = T.int32()
T.attr(T.iter_var(v, (0, 2), "ThreadIndex", "{axis}"), "virtual_thread", 2)
L = T.allocate([4], "int32")
L_1 = T.Buffer((4,), "int32", data=L)
T.call_extern("int32", "fill", POINTER, v, T.tvm_context_id(dtype="int32"))
C[v] = L_1[1]
""".replace("POINTER", 'T.tvm_access_ptr(T.type_annotation("int32"), L, 1, 2, 2)')


def test_each_thread_hands_out_pointers_to_its_own_memory() -> None:
    text = INJECT(apply_to(POINTERS.format(axis="vthread"))).script()
    assert "L = T.allocate([8]" in text
    for thread in range(2):
        pointer = f'T.tvm_access_ptr(T.type_annotation("int32"), L, {thread * 4 + 1}, 2, 2)'
        assert f'T.call_extern("int32", "fill", {pointer}, {thread}, T.tvm_context_id(dtype="int32"))' in text
        assert f"C[{thread}] = L_1[{thread * 4 + 1}]" in text


def test_threads_of_other_axes_share_nothing_and_know_their_number() -> None:
    text = INJECT(apply_to(POINTERS.format(axis="cthread"))).script()
    assert "L, 1, 2, 2), 0, 0)" in text
    assert "L, 5, 2, 2), 1, 1)" in text


def test_vectors_stay_ramps() -> None:
    statements = """
v = T.launch_thread("vthread", 2)
L = T.allocate([4], "int32")
L_1 = T.Buffer((4,), "int32", data=L)
L_1[0:4] = T.Broadcast(v, 4)
"""
    assert (
        "L_1[T.Mul(1, 4):T.Mul(1, 4) + 4] = T.Broadcast(1, 4)" in InjectVirtualThread()(apply_to(statements)).script()
    )


def test_a_bare_pointer_to_memory_of_its_own_is_refused() -> None:
    statements = POINTERS.format(axis="vthread") + 'T.call_extern("int32", "use", L)\n'
    with pytest.raises(LoweringError, match="'L' is memory that each virtual thread has for itself"):
        INJECT(apply_to(statements))


def apply_to(statements: str) -> IRModule:
    return IRModule({"main": program(statements, params=PARAMS)})
