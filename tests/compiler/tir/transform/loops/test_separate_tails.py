"""Iterations in which guards hold are separated from those in which they may not."""

from __future__ import annotations

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.ir.expr.substitute import free_vars
from compiler.ir.transform import Pass, Sequential
from compiler.tir.statements.stmt import For, IfThenElse
from compiler.tir.transform import VectorizeLoop
from compiler.tir.transform.loops.separate_tails import SeparateTails, _Cut
from tests.compiler.tir.transform.programs import apply, assert_pass, assert_same, nodes, program


def both() -> Pass:
    """Return vectorisation, which leaves loops over lanes behind, and what becomes of them in a build."""
    return Sequential([VectorizeLoop(), SeparateTails()])


def test_a_serial_loop_is_cut_where_lanes_no_longer_all_hold() -> None:
    assert_pass(
        both(),
        """
        for i in range(4):
            for j in T.vectorized(16):
                if i * 16 + j < 56:
                    C[i * 16 + j] = A[i * 16 + j] + 1
        """,
        """
        for i in range(3):
            C[i * 16:i * 16 + 16] = A[i * 16:i * 16 + 16] + T.Broadcast(1, 16)
        C[48:56] = A[48:56] + T.Broadcast(1, 8)
        """,
    )


def test_a_guard_divided_by_its_common_factor_is_cut_alike() -> None:
    assert_pass(
        both(),
        """
        for i in range(4):
            for j in T.vectorized(16):
                if i * 2 + j // 8 < 7:
                    C[i * 16 + j] = A[i * 16 + j] + 1
        """,
        """
        for i in range(3):
            C[i * 16:i * 16 + 16] = A[i * 16:i * 16 + 16] + T.Broadcast(1, 16)
        C[48:56] = A[48:56] + T.Broadcast(1, 8)
        """,
    )


def test_a_parallel_loop_branches_and_a_fused_one_branches_on_the_part_of_its_variable() -> None:
    assert_pass(
        both(),
        """
        for f in T.parallel(9):
            for j in T.vectorized(8):
                if f % 3 * 8 + j < 20:
                    C[f % 3 * 8 + j] = A[f % 3 * 8 + j]
        """,
        """
        for f in T.parallel(9):
            if f % 3 < 2:
                C[f % 3 * 8:f % 3 * 8 + 8] = A[f % 3 * 8:f % 3 * 8 + 8]
            else:
                C[16:20] = A[16:20]
        """,
    )


def test_an_innermost_serial_loop_ends_where_its_guard_does() -> None:
    assert_pass(
        both(),
        """
        for i in range(2):
            for j in range(48):
                if i * 48 + j < 56:
                    C[i * 48 + j] = A[i * 48 + j] + 1
        """,
        """
        for i in range(2):
            for j in range(56 - T.max(i * 48, 8)):
                C[i * 48 + j] = A[i * 48 + j] + 1
        """,
    )


def test_a_short_loop_keeps_its_length_so_that_it_is_written_out() -> None:
    before = program(
        """
        for i in range(4):
            for j in range(16):
                if i * 16 + j < 56:
                    C[i * 16 + j] = A[i * 16 + j] + 1
        """
    )
    assert apply(before, SeparateTails()) is before


@pytest.mark.parametrize(
    "body",
    [
        "if A[0] + j < 9:\n C[i * 16 + j] = 1",
        "if i * 16 + j < 56:\n C[i * 16 + j] = 1\nelse:\n C[i * 16 + j] = 2",
        "if 8 <= i * 16 + j:\n C[i * 16 + j] = 1",
        "if (i * 16 + j) % 3 < 2:\n C[i * 16 + j] = 1",
    ],
    ids=["a value from memory", "an alternative", "a guard from below", "holds now and then"],
)
def test_other_branches_stay(body: str) -> None:
    indented = "\n".join(f"                {line}" for line in body.splitlines())
    before = program(f"""
        for i in range(4):
            for j in range(48):
{indented}
        """)
    after = apply(before, SeparateTails())
    assert len(nodes(after, IfThenElse)) == 1
    assert sorted(loop.extent.value for loop in nodes(after, For)) == [4, 48]


def test_a_guard_that_loops_around_do_not_decide_is_asked_once_for_all_lanes() -> None:
    assert_pass(
        both(),
        """
        for i in range(8):
            for j in T.vectorized(8):
                if i * 8 + j < n:
                    C[i * 8 + j] = A[i * 8 + j]
        """,
        """
        for i in range(8):
            if i * 8 + 7 < n:
                C[i * 8:i * 8 + 8] = A[i * 8:i * 8 + 8]
            else:
                for j_s in range(8):
                    if i * 8 + j_s < n:
                        C[i * 8 + j_s] = A[i * 8 + j_s]
        """,
        params="A: T.Buffer((64,), 'int32'), C: T.Buffer((64,), 'int32'), n: T.int32, D: T.Buffer((n,), 'int32')",
        values=(0, 3, 9, 60, 64),
    )


def test_a_guard_that_is_part_of_a_condition_does_not_decide_for_all_lanes() -> None:
    """The last lane meets all of it, and the first one does not."""
    assert_pass(
        both(),
        """
        for i in range(4):
            for j in T.vectorized(2):
                if j == 1 and j * 4 + i < n:
                    C[j * 4 + i] = A[j * 4 + i]
        """,
        """
        for i, j_s in T.grid(4, 2):
            if j_s == 1 and j_s * 4 + i < n:
                C[j_s * 4 + i] = A[j_s * 4 + i]
        """,
        params="A: T.Buffer((8,), 'int32'), C: T.Buffer((8,), 'int32'), n: T.int32, D: T.Buffer((n,), 'int32')",
        values=(0, 3, 5, 8),
    )


def test_a_guard_whose_bounds_no_condition_narrows_is_decided_by_one_branch() -> None:
    before = program(
        """
        for f in T.parallel(n * ((n - 1) // 32 + 1)):
            for j in T.vectorized(16):
                if f // ((n - 1) // 32 + 1) * 16 + j < 56:
                    C[f // ((n - 1) // 32 + 1) * 16 + j] = A[f // ((n - 1) // 32 + 1) * 16 + j]
        """,
        params="A: T.Buffer((64,), 'int32'), C: T.Buffer((64,), 'int32'), n: T.int32, D: T.Buffer((n,), 'int32')",
    )
    lanes = apply(before, VectorizeLoop())
    cut = lanes.with_body(_Cut({v for b in lanes.buffer_map.values() for v in free_vars(b.shape)}).visit(lanes.body))
    assert len([branch for branch in nodes(cut, IfThenElse) if branch.else_case is not None]) == 1
    for n in (1, 32, 33, 70):
        assert_same(before, apply(before, both()), scalars={"n": n})


def matmul(m: int, n: int, depth: int, parallel: bool) -> tuple[te.Schedule, list[te.Tensor]]:
    """Return a product in blocks, summed in a tile of its own."""
    a, b = te.placeholder((m, depth), name="A"), te.placeholder((depth, n), name="B")
    k = te.reduce_axis((0, depth), "k")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    cached = s.cache_write(c, "global")
    io, jo, _, ji = s[c].tile(*c.op.axis, 4, 16)
    if parallel:
        io = jo = s[c].fuse(io, jo)
        s[c].parallel(io)
    s[c].vectorize(ji)
    s[cached].compute_at(s[c], jo)
    ci, cj = s[cached].op.axis
    ko, ki = s[cached].split(s[cached].op.reduce_axis[0], 3)
    s[cached].reorder(ko, ki, ci, cj)
    s[cached].unroll(ki)
    s[cached].vectorize(cj)
    return s, [a, b, c]


@pytest.mark.parametrize("parallel", [False, True], ids=["serial", "parallel"])
@pytest.mark.parametrize(("m", "n", "depth"), [(9, 37, 7), (8, 47, 6), (3, 5, 2)])
def test_products_whose_extents_no_tile_divides_are_those_of_numpy(m: int, n: int, depth: int, parallel: bool) -> None:
    s, args = matmul(m, n, depth, parallel)
    a, b = (np.random.rand(*shape).astype("float32") for shape in ((m, depth), (depth, n)))
    out = tvm.nd.array(np.zeros((m, n), "float32"))
    tvm.build(s, args, "llvm")(tvm.nd.array(a), tvm.nd.array(b), out)
    np.testing.assert_allclose(out.numpy(), a @ b, rtol=1e-5)


def test_what_would_grow_too_long_stays_as_it_is() -> None:
    stores = "\n".join(f"                    C[i * 16 + j] = A[i * 16 + j] + {at}" for at in range(300))
    before = program(f"""
        for i in range(4):
            for j in T.vectorized(16):
                if i * 16 + j < 56:
{stores}
        """)
    after = apply(before, both())
    assert sorted(loop.extent.value for loop in nodes(after, For)) == [4, 16]


def test_lanes_that_share_memory_stay_a_loop() -> None:
    text = """
        for i in range(2):
            for j in T.vectorized(4):
                if i * 4 + j < 6:
                    B = T.alloc_buffer((5,))
                    for k in range(5):
                        B[k] = A[k] * T.float32(i * 4 + j)
                    for k in range(5):
                        C[i * 4 + j, k] = B[4 - k]
    """
    func = program(text, params="A: T.Buffer((5,)), C: T.Buffer((6, 5))")
    a, c = np.arange(1, 6, dtype="float32"), np.zeros((6, 5), "float32")
    tvm.build(func, target="llvm")(a, c)
    np.testing.assert_array_equal(c, a[::-1] * np.arange(6, dtype="float32")[:, None])
