"""Memory is allocated outside of the loops, shared where lifetimes allow, and typed by its vectors."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Var, const
from compiler.ir.serialization.type_keys import make_node
from compiler.runtime.modules.packed_func import register_func
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.memory_info import MemoryInfo
from compiler.tir.statements.stmt import Allocate, BufferStore, DeclBuffer, Stmt, seq
from compiler.tir.transform import StorageRewrite
from tests.compiler.tir.transform.programs import (
    allocate,
    apply,
    assert_pass,
    assert_same,
    function,
    loop,
    nodes,
    program,
)

PARAMS = "A: T.Buffer((16,), 'int32'), C: T.Buffer((16,), 'int32')"
A, C = decl_buffer((16,), "int32", name="A"), decl_buffer((16,), "int32", name="C")


def test_a_buffer_takes_the_memory_of_a_dead_one() -> None:
    assert_pass(
        StorageRewrite(),
        """
        L = T.allocate([16], "int32", "global")
        L_1 = T.Buffer((16,), "int32", data=L)
        M = T.allocate([16], "int32", "global")
        M_1 = T.Buffer((16,), "int32", data=M)
        N = T.allocate([16], "int32", "global")
        N_1 = T.Buffer((16,), "int32", data=N)
        for i in range(16):
            L_1[i] = A[15 - i] + 1
        for i in range(16):
            M_1[i] = L_1[15 - i] + 1
        for i in range(16):
            N_1[i] = M_1[15 - i] + 1
        for i in range(16):
            C[i] = N_1[15 - i] + 1
        """,
        """
        L = T.allocate([16], "int32", "global")
        M = T.allocate([16], "int32", "global")
        L_1 = T.Buffer((16,), "int32", data=L)
        for i in range(16):
            L_1[i] = A[15 - i] + 1
        M_1 = T.Buffer((16,), "int32", data=M)
        for i in range(16):
            M_1[i] = L_1[15 - i] + 1
        L_2 = T.Buffer((16,), "int32", data=L)
        for i in range(16):
            L_2[i] = M_1[15 - i] + 1
        for i in range(16):
            C[i] = L_2[15 - i] + 1
        """,
        params=PARAMS,
    )


def test_a_buffer_is_overwritten_in_place() -> None:
    assert_pass(
        StorageRewrite(),
        """
        L = T.allocate([16], "int32", "global")
        L_1 = T.Buffer((16,), "int32", data=L)
        M = T.allocate([16], "int32", "global")
        M_1 = T.Buffer((16,), "int32", data=M)
        for i in range(16):
            L_1[i] = A[i] + 1
        for i in range(16):
            M_1[i] = L_1[i] + 1
        for i in range(16):
            C[i] = M_1[i] + 1
        """,
        """
        L = T.allocate([16], "int32", "global")
        L_1 = T.Buffer((16,), "int32", data=L)
        for i in range(16):
            L_1[i] = A[i] + 1
        L_2 = T.Buffer((16,), "int32", data=L)
        for i in range(16):
            L_2[i] = L_1[i] + 1
        for i in range(16):
            C[i] = L_2[i] + 1
        """,
        params=PARAMS,
    )


def test_no_overwriting_where_an_element_is_read_again() -> None:
    assert_pass(
        StorageRewrite(),
        """
        L = T.allocate([16], "int32", "global")
        L_1 = T.Buffer((16,), "int32", data=L)
        M = T.allocate([16], "int32", "global")
        M_1 = T.Buffer((16,), "int32", data=M)
        for i in range(16):
            L_1[i] = A[i] + 1
        for k, i in T.grid(2, 16):
            M_1[i] = L_1[i] * 2 + k
        for i in range(16):
            C[i] = M_1[i] + 1
        """,
        params=PARAMS,
    )


def test_no_overwriting_where_two_statements_write() -> None:
    assert_pass(
        StorageRewrite(),
        """
        L = T.allocate([16], "int32", "global")
        L_1 = T.Buffer((16,), "int32", data=L)
        M = T.allocate([16], "int32", "global")
        M_1 = T.Buffer((16,), "int32", data=M)
        for i in range(16):
            L_1[i] = A[i] + 1
        for i in range(16):
            M_1[i] = L_1[i]
            M_1[i] = L_1[i] + 5
        for i in range(16):
            C[i] = M_1[i] + 1
        """,
        params=PARAMS,
    )


def test_memory_grows_for_a_larger_buffer() -> None:
    assert_pass(
        StorageRewrite(),
        """
        L = T.allocate([16], "int32", "global")
        L_1 = T.Buffer((16,), "int32", data=L)
        M = T.allocate([16], "int32", "global")
        M_1 = T.Buffer((16,), "int32", data=M)
        B = T.allocate([32], "int32", "global")
        B_1 = T.Buffer((32,), "int32", data=B)
        for i in range(16):
            L_1[i] = A[i] + 1
        for i in range(16):
            M_1[i] = L_1[15 - i] + 1
        for i in range(32):
            B_1[i] = M_1[i // 2]
        for i in range(16):
            C[i] = B_1[i] + 1
        """,
        """
        L = T.allocate([32], "int32", "global")
        M = T.allocate([16], "int32", "global")
        L_1 = T.Buffer((16,), "int32", data=L)
        for i in range(16):
            L_1[i] = A[i] + 1
        M_1 = T.Buffer((16,), "int32", data=M)
        for i in range(16):
            M_1[i] = L_1[15 - i] + 1
        L_2 = T.Buffer((32,), "int32", data=L)
        for i in range(32):
            L_2[i] = M_1[i // 2]
        for i in range(16):
            C[i] = L_2[i] + 1
        """,
        params=PARAMS,
    )


def test_other_types_of_the_same_width_share() -> None:
    assert_pass(
        StorageRewrite(),
        """
        L = T.allocate([16], "int32", "global")
        L_1 = T.Buffer((16,), "int32", data=L)
        M = T.allocate([16], "float32", "global")
        M_1 = T.Buffer((16,), "float32", data=M)
        N = T.allocate([16], "float64", "global")
        N_1 = T.Buffer((16,), "float64", data=N)
        for i in range(16):
            L_1[i] = A[15 - i]
        for i in range(16):
            N_1[i] = T.Cast('float64', L_1[15 - i])
        for i in range(16):
            M_1[i] = T.Cast('float32', N_1[15 - i])
        for i in range(16):
            C[i] = T.Cast('int32', M_1[15 - i])
        """,
        """
        L = T.allocate([16], "int32", "global")
        N = T.allocate([16], "float64", "global")
        L_1 = T.Buffer((16,), "int32", data=L)
        for i in range(16):
            L_1[i] = A[15 - i]
        N_1 = T.Buffer((16,), "float64", data=N)
        for i in range(16):
            N_1[i] = T.Cast("float64", L_1[15 - i])
        L_2 = T.Buffer((16,), data=L)
        for i in range(16):
            L_2[i] = T.Cast("float32", N_1[15 - i])
        for i in range(16):
            C[i] = T.Cast("int32", L_2[15 - i])
        """,
        params=PARAMS,
    )


def test_an_allocation_leaves_a_serial_loop() -> None:
    assert_pass(
        StorageRewrite(),
        """
        for o in range(4):
            L = T.allocate([4], 'int32')
            L_1 = T.Buffer((4,), 'int32', data=L)
            for i in range(4):
                L_1[i] = A[o * 4 + i]
            C[o] = L_1[3]
        """,
        """
        L = T.allocate([4], "int32", "global")
        for o in range(4):
            L_1 = T.Buffer((4,), "int32", data=L)
            for i in range(4):
                L_1[i] = A[o * 4 + i]
            C[o] = L_1[3]
        """,
        params=PARAMS,
    )


def test_an_allocation_stays_in_a_parallel_loop() -> None:
    assert_pass(
        StorageRewrite(),
        """
        S = T.allocate([16], 'int32')
        S_1 = T.Buffer((16,), 'int32', data=S)
        for i in range(16):
            S_1[i] = A[i]
        for o in T.parallel(4):
            L = T.allocate([4], 'int32')
            L_1 = T.Buffer((4,), 'int32', data=L)
            for i in range(4):
                L_1[i] = S_1[o * 4 + i]
            C[o] = L_1[3]
        """,
        params=PARAMS,
    )


def test_what_lives_around_a_loop_does_not_share_with_what_lives_in_it() -> None:
    assert_pass(
        StorageRewrite(),
        """
        S = T.allocate([16], 'int32')
        S_1 = T.Buffer((16,), 'int32', data=S)
        for i in range(16):
            S_1[i] = A[i]
        for o in range(16):
            L = T.allocate([16], 'int32')
            L_1 = T.Buffer((16,), 'int32', data=L)
            for i in range(16):
                L_1[i] = A[15 - i]
            C[o] = L_1[o] + S_1[o]
        """,
        """
        S = T.allocate([16], "int32", "global")
        L = T.allocate([16], "int32", "global")
        S_1 = T.Buffer((16,), "int32", data=S)
        for i in range(16):
            S_1[i] = A[i]
        for o in range(16):
            L_1 = T.Buffer((16,), "int32", data=L)
            for i in range(16):
                L_1[i] = A[15 - i]
            C[o] = L_1[o] + S_1[o]
        """,
        params=PARAMS,
    )


def test_a_size_that_only_an_inner_loop_knows_stays_inside() -> None:
    assert_pass(
        StorageRewrite(),
        """
        for o in range(4):
            L = T.allocate([o + 1], 'int32')
            L_1 = T.Buffer((o + 1,), 'int32', data=L)
            for i in range(o + 1):
                L_1[i] = A[i]
            C[o] = L_1[o]
        """,
        params=PARAMS,
    )


def test_private_arrays_leave_the_loop_and_share_as_others_do() -> None:
    assert_pass(
        StorageRewrite(),
        """
        for k in range(3):
            L = T.allocate([16], "int32", "local")
            L_1 = T.Buffer((16,), "int32", data=L)
            M = T.allocate([16], "int32", "local")
            M_1 = T.Buffer((16,), "int32", data=M)
            L_1[0] = A[k]
            M_1[0] = L_1[0]
            C[k] = M_1[0]
        """,
        """
        L = T.allocate([16], "int32", "local")
        for k in range(3):
            L_1 = T.Buffer((16,), "int32", data=L, scope="local")
            L_1[0] = A[k]
            L_2 = T.Buffer((16,), "int32", data=L, scope="local")
            L_2[0] = L_1[0]
            C[k] = L_2[0]
        """,
        params=PARAMS,
    )


def test_memory_that_nothing_touches_is_not_allocated() -> None:
    assert_pass(
        StorageRewrite(),
        """
        L = T.allocate([16], 'int32')
        for i in range(16):
            C[i] = A[i] + 1
        """,
        """
        for i in range(16):
            C[i] = A[i] + 1
        """,
        params=PARAMS,
    )


def test_a_branch_keeps_what_it_reads_alive() -> None:
    assert_pass(
        StorageRewrite(),
        """
        L = T.allocate([16], "int32", "global")
        L_1 = T.Buffer((16,), "int32", data=L)
        M = T.allocate([16], "int32", "global")
        M_1 = T.Buffer((16,), "int32", data=M)
        N = T.allocate([16], "int32", "global")
        N_1 = T.Buffer((16,), "int32", data=N)
        for i in range(16):
            L_1[i] = A[i] + 1
        for i in range(16):
            M_1[i] = L_1[15 - i] + 1
        if A[0] > 1000:
            for i in range(16):
                C[i] = L_1[i] + 1
        for i in range(16):
            N_1[i] = M_1[15 - i] + 1
        for i in range(16):
            C[i] = N_1[i] + 1
        """,
        """
        L = T.allocate([16], "int32", "global")
        M = T.allocate([16], "int32", "global")
        L_1 = T.Buffer((16,), "int32", data=L)
        for i in range(16):
            L_1[i] = A[i] + 1
        M_1 = T.Buffer((16,), "int32", data=M)
        for i in range(16):
            M_1[i] = L_1[15 - i] + 1
        if A[0] > 1000:
            for i in range(16):
                C[i] = L_1[i] + 1
        L_2 = T.Buffer((16,), "int32", data=L)
        for i in range(16):
            L_2[i] = M_1[15 - i] + 1
        for i in range(16):
            C[i] = L_2[i] + 1
        """,
        params=PARAMS,
    )


def test_it_can_be_switched_off() -> None:
    func = program("L = T.allocate([16], 'int32')\nC[0] = A[0]", PARAMS)
    assert apply(func, StorageRewrite(), config={"tir.disable_storage_rewrite": True}) is func


def local(name: str, size: int = 16, dtype: str = "int32", scope: str = "global") -> Buffer:
    return decl_buffer((size,), dtype, name=name, scope=scope)


A, C = decl_buffer((16,), "int32", name="A"), decl_buffer((16,), "int32", name="C")


def copy(target: Buffer, source: Buffer, reverse: bool = False) -> Stmt:
    """Return a loop that stores each element of ``source``, plus one, in order or from the end."""
    i = Var("i")
    index = 15 - i if reverse else i
    return loop(i, 16, BufferStore(target, source[index] + 1, (i,)))


def rewritten(func: PrimFunc) -> PrimFunc:
    after = apply(func, StorageRewrite())
    assert_same(func, after)
    return after


def test_siblings_in_a_loop_share() -> None:
    first, second = local("L"), local("M")
    o = Var("o")
    body = seq([copy(first, A), copy(second, first, reverse=True), BufferStore(C, second[o], (o,))])
    third = local("N")
    body = seq([body, allocate(third, seq([copy(third, A, reverse=True), BufferStore(C, third[o] + C[o], (o,))]))])
    func = function(loop(o, 16, allocate(first, allocate(second, body))), A, C)
    assert len(nodes(rewritten(func), Allocate)) == 2


def test_symbolic_sizes_share_only_if_they_are_written_alike() -> None:
    n, i = Var("n"), Var("i")
    a, c = decl_buffer((n,), "int32", name="A"), decl_buffer((n,), "int32", name="C")
    buffers = [decl_buffer((s,), "int32", name=name) for name, s in (("L", n), ("M", n), ("N", n), ("O", n + 1))]
    steps = [a, *buffers, c]
    body = seq([loop(i, n, BufferStore(t, s[n - 1 - i], (i,))) for s, t in itertools.pairwise(steps)])
    for buffer in reversed(buffers):
        body = allocate(buffer, body)
    func = function(body, a, c, scalars=(n,))
    after = apply(func, StorageRewrite())
    assert_same(func, after, scalars={"n": 9})
    assert len(nodes(after, Allocate)) == 3


def test_copies_of_one_allocation_are_told_apart() -> None:
    """Partitioning and virtual threads repeat statements, allocations included."""
    first, second, third = local("L"), local("M"), local("N")

    def piece(low: int) -> Stmt:
        body = seq([copy(first, A, reverse=True), copy(second, first, reverse=True), copy(third, second, reverse=True)])
        i = Var("i")
        use = loop(i, 4, BufferStore(C, third[i] + first[15 - i] + low, (i + low,)))
        return allocate(first, allocate(second, allocate(third, seq([body, use]))))

    around = local("S")
    body = seq([copy(around, A), piece(0), copy(C, around), piece(4), copy(around, C, reverse=True), piece(8)])
    func = function(allocate(around, seq([body, BufferStore(C, around[3], (const(15),))])), A, C)
    after = rewritten(func)
    variables = [n.buffer_var for n in nodes(after, Allocate)]
    assert len(set(variables)) == len(variables) == 4


def test_pieces_of_a_loop_that_allocate_the_same_buffers() -> None:
    m, n = local("M"), local("N")
    through_both = seq([copy(m, A), copy(n, m)])
    first = allocate(m, allocate(n, seq([through_both, copy(C, n)])))
    second = allocate(n, allocate(m, seq([copy(m, A), copy(n, m, reverse=True), copy(C, n, reverse=True)])))
    after = rewritten(function(seq([first, first, second]), A, C))
    variables = [x.buffer_var for x in nodes(after, Allocate)]
    assert len(set(variables)) == len(variables)


def test_a_memory_of_ones_own_is_one_allocation() -> None:
    assert_pass(
        StorageRewrite(),
        """
        L = T.allocate([16], "int32", "global:tag")
        L_1 = T.Buffer((16,), "int32", data=L, scope="global:tag")
        M = T.allocate([24], "int16", "global:tag")
        M_1 = T.Buffer((24,), "int16", data=M, scope="global:tag")
        for i in range(16):
            L_1[i] = A[15 - i] + 1
        for i in range(16):
            M_1[i] = T.Cast("int16", L_1[15 - i])
        for i in range(16):
            C[i] = L_1[i] + T.Cast("int32", M_1[i])
        """,
        """
        L = T.allocate([28], "int32", "global:tag")
        L_1 = T.Buffer((16,), "int32", data=L, scope="global:tag")
        for i in range(16):
            L_1[i] = A[15 - i] + 1
        M_1 = T.Buffer((56,), "int16", data=L, scope="global:tag")
        for i in range(16):
            M_1[i + 32] = T.Cast("int16", L_1[15 - i])
        for i in range(16):
            C[i] = L_1[i] + T.Cast("int32", M_1[i + 32])
        """,
        params=PARAMS,
        values=(),
    )


def test_a_memory_of_ones_own_is_as_large_as_a_program_says() -> None:
    func = program(
        """
        L = T.allocate([16], "int32", "local.scarce")
        L_1 = T.Buffer((16,), "int32", data=L, scope="local.scarce")
        for i in range(16):
            L_1[i] = A[i]
        for i in range(16):
            C[i] = L_1[15 - i]
        """,
        PARAMS,
    )
    register_func(
        "tvm.info.mem.local.scarce",
        lambda: make_node("MemoryInfo", unit_bits=8, max_num_bits=511, max_simd_bits=32),
        override=True,
    )
    with pytest.raises(LoweringError, match=r"Allocation exceed bound of memory tag 'local\.scarce': 512 bits of 511"):
        apply(func, StorageRewrite())
    register_func("tvm.info.mem.local.scarce", lambda: MemoryInfo(8, 512, 32), override=True)
    assert nodes(apply(func, StorageRewrite()), Allocate)[0].extents[0].value == 16


def test_rows_of_a_symbolic_length_are_overwritten_in_place() -> None:
    n, m, i, j = Var("n"), Var("m"), Var("i"), Var("j")
    source = decl_buffer((n * m,), "int32", name="A")
    target = decl_buffer((n * m,), "int32", name="C")
    first, second = (decl_buffer((n * m,), "int32", name=name) for name in "LM")

    def rows(to: Buffer, of: Buffer, stride: Any) -> Stmt:
        return loop(i, n, loop(j, m, BufferStore(to, of[i * stride + j] + 1, (i * stride + j,))))

    for stride, allocations in ((m, 1), (m - 1, 2)):
        body = seq([rows(first, source, stride), rows(second, first, stride), rows(target, second, stride)])
        func = PrimFunc((source.data, target.data, n, m), allocate(first, allocate(second, body)))
        assert len(nodes(apply(func, StorageRewrite()), Allocate)) == allocations


def test_declared_buffers_move_with_their_memory() -> None:
    buffers = "L = T.decl_buffer([8], 'int32')\nM = T.decl_buffer([8], 'int32')\n"
    loops = "\n".join(f"for i in range(8):\n    {copy}" for copy in ("L[i] = A[i]", "M[i] = L[i]", "A[i] = M[i]"))
    func = apply(program(buffers + loops, params="A: T.Buffer((8,), 'int32')"), StorageRewrite())
    (memory,) = nodes(func, Allocate)
    assert [n.buffer.data for n in nodes(func, DeclBuffer)] == [memory.buffer_var] * 2
