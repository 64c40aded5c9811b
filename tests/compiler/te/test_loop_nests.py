"""The loops that schedules describe, down to names, guards and places of buffers, as classic TVM writes them."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from compiler import build, lower, nd, te
from compiler.driver.emulate import emulate
from compiler.ir.error import ScheduleError
from tests.compiler.te.programs import body_text, matmul


def check(schedule: te.Schedule, args: list[Any], expected: str) -> None:
    """Compare the loops of a schedule with what they should be."""
    assert body_text(schedule, args) == dedent(expected).strip()


def test_plain_loops() -> None:
    a, b, c = matmul()
    check(
        te.create_schedule(c.op),
        [a, b, c],
        """
        T.realize(C[0:64, 0:64])
        for i, j in T.grid(64, 64):
            C[i, j] = T.float32(0.0)
            for k in range(64):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]
        """,
    )


def test_the_lesson_s_schedule() -> None:
    a, b, c = matmul(1024, 1024, 1024)
    s = te.create_schedule(c.op)
    io, ii = s[c].split(c.op.axis[0], factor=32)
    jo, ji = s[c].split(c.op.axis[1], factor=32)
    ko, ki = s[c].split(c.op.reduce_axis[0], factor=4)
    s[c].reorder(io, jo, ko, ii, ji, ki)
    _, vector = s[c].split(ji, factor=8)
    s[c].vectorize(vector)
    s[c].parallel(io)
    s[c].unroll(ki)
    check(
        s,
        [a, b, c],
        """
        T.realize(C[0:1024, 0:1024])
        for i_outer in T.parallel(32):
            for j_outer in range(32):
                for i_inner_init, j_inner_outer_init in T.grid(32, 4):
                    for j_inner_inner_init in T.vectorized(8):
                        C[i_inner_init + i_outer * 32, j_inner_inner_init + j_inner_outer_init * 8 + j_outer * 32] = T.float32(0.0)
                for k_outer, i_inner, j_inner_outer in T.grid(256, 32, 4):
                    for j_inner_inner in T.vectorized(8):
                        for k_inner in T.unroll(4):
                            C[i_inner + i_outer * 32, j_inner_inner + j_inner_outer * 8 + j_outer * 32] = C[i_inner + i_outer * 32, j_inner_inner + j_inner_outer * 8 + j_outer * 32] + A[i_inner + i_outer * 32, k_inner + k_outer * 4] * B[k_inner + k_outer * 4, j_inner_inner + j_inner_outer * 8 + j_outer * 32]
        """,  # noqa: E501
    )


def test_a_split_that_covers_its_loop_exactly_needs_no_guard() -> None:
    """Not even where the loop was fused from others, of which one is symbolic: only the split knows that it divides."""
    n = te.var("n")
    a = te.placeholder((n, 8), name="A")
    b = te.compute((n, 8), lambda i, j: a[i, j] + 1, name="B")
    s = te.create_schedule(b.op)
    s[b].split(s[b].fuse(*b.op.axis), factor=4)
    assert "T.likely" not in body_text(s, [a, b])


def test_factors_that_do_not_divide_are_guarded() -> None:
    a, b, c = matmul(64, 64, 64)
    s = te.create_schedule(c.op)
    cached = s.cache_write(c, "local")
    io, ii = s[c].split(c.op.axis[0], factor=30)
    jo, ji = s[c].split(c.op.axis[1], factor=32)
    s[c].reorder(io, jo, ii, ji)
    s[cached].compute_at(s[c], jo)
    ko, ki = s[cached].split(s[cached].op.reduce_axis[0], factor=5)
    i, j = s[cached].op.axis
    s[cached].reorder(ko, i, ki, j)
    check(
        s,
        [a, b, c],
        """
        T.realize(C[0:64, 0:64])
        for i_outer, j_outer in T.grid(3, 2):
            C_local = T.Buffer((64, 64), scope="local")
            T.realize(C_local[i_outer * 30:i_outer * 30 + 30, j_outer * 32:j_outer * 32 + 32])
            for i_c_init, j_c_init in T.grid(30, 32):
                C_local[i_c_init + i_outer * 30, j_c_init + j_outer * 32] = T.float32(0.0)
            for k_outer, i_c, k_inner, j_c in T.grid(13, 30, 5, 32):
                if T.likely(k_inner + k_outer * 5 < 64):
                    if T.likely(i_c + i_outer * 30 < 64):
                        C_local[i_c + i_outer * 30, j_c + j_outer * 32] = C_local[i_c + i_outer * 30, j_c + j_outer * 32] + A[i_c + i_outer * 30, k_inner + k_outer * 5] * B[k_inner + k_outer * 5, j_c + j_outer * 32]
            for i_inner, j_inner in T.grid(30, 32):
                if T.likely(i_inner + i_outer * 30 < 64):
                    C[i_inner + i_outer * 30, j_inner + j_outer * 32] = C_local[i_inner + i_outer * 30, j_inner + j_outer * 32]
        """,  # noqa: E501
    )


def test_a_reversed_loop_begins_at_its_last_iteration() -> None:
    a = te.placeholder((8, 30), name="A")
    k = te.reduce_axis((2, 30), name="k")
    b = te.compute((8,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    s[b].reverse(b.op.axis[0])
    _, inner = s[b].split(s[b].reverse(k), factor=8)
    s[b].reverse(inner)
    check(
        s,
        [a, b],
        """
        T.realize(B[0:8])
        for i_reversed in range(8):
            B[7 - i_reversed] = T.float32(0.0)
            for k_reversed_outer, k_reversed_inner_reversed in T.grid(4, 8):
                if T.likely(7 - k_reversed_inner_reversed + k_reversed_outer * 8 < 28):
                    B[7 - i_reversed] = B[7 - i_reversed] + A[7 - i_reversed, 27 - (7 - k_reversed_inner_reversed + k_reversed_outer * 8) + 2]
        """,  # noqa: E501
    )


def test_factors_longer_than_a_loop_are_cut() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1, name="B")
    for split in ({"factor": 32}, {"nparts": 1}):
        s = te.create_schedule(b.op)
        s[b].split(b.op.axis[0], **split)
        check(
            s,
            [a, b],
            """
            T.realize(B[0:8])
            for i_inner in range(8):
                B[i_inner] = A[i_inner] + T.float32(1.0)
            """,
        )


def test_a_producer_is_computed_where_it_is_needed() -> None:
    a = te.placeholder((8, 16), name="A")
    padded = te.compute(
        (10, 18), lambda i, j: te.if_then_else(te.all(i >= 1, i < 9, j >= 1, j < 17), a[i - 1, j - 1], 0.0), name="P"
    )
    y, x = te.reduce_axis((0, 3), name="ry"), te.reduce_axis((0, 3), name="rx")
    d = te.compute((8, 16), lambda i, j: te.sum(padded[i + y, j + x], axis=[y, x]), name="D")
    s = te.create_schedule(d.op)
    _, jo, _, _ = s[d].tile(*d.op.axis, 3, 5)
    s[padded].compute_at(s[d], jo)
    check(
        s,
        [a, d],
        """
        T.realize(D[0:8, 0:16])
        for i_outer, j_outer in T.grid(3, 4):
            P = T.Buffer((10, 18))
            T.realize(P[i_outer * 3:i_outer * 3 + 5, j_outer * 5:j_outer * 5 + 7])
            for i, j in T.grid(5, 7):
                if T.likely(i + i_outer * 3 < 10):
                    if T.likely(j + j_outer * 5 < 18):
                        P[i + i_outer * 3, j + j_outer * 5] = T.if_then_else(i + i_outer * 3 >= 1 and i + i_outer * 3 < 9 and j + j_outer * 5 >= 1 and j + j_outer * 5 < 17, A[i + i_outer * 3 - 1, j + j_outer * 5 - 1], T.float32(0.0))
            for i_inner, j_inner in T.grid(3, 5):
                if T.likely(i_inner + i_outer * 3 < 8):
                    if T.likely(j_inner + j_outer * 5 < 16):
                        D[i_inner + i_outer * 3, j_inner + j_outer * 5] = T.float32(0.0)
                for ry, rx in T.grid(3, 3):
                    if T.likely(i_inner + i_outer * 3 < 8):
                        if T.likely(j_inner + j_outer * 5 < 16):
                            D[i_inner + i_outer * 3, j_inner + j_outer * 5] = D[i_inner + i_outer * 3, j_inner + j_outer * 5] + P[i_inner + i_outer * 3 + ry, j_inner + j_outer * 5 + rx]
        """,  # noqa: E501
    )


def test_an_inlined_stage_disappears() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1, name="B")
    c = te.compute((8,), lambda i: b[i] * b[7 - i], name="C")
    s = te.create_schedule(c.op)
    s[b].compute_inline()
    check(
        s,
        [a, c],
        """
        T.realize(C[0:8])
        for i in range(8):
            C[i] = (A[i] + T.float32(1.0)) * (A[7 - i] + T.float32(1.0))
        """,
    )


def test_partial_results_come_first() -> None:
    a = te.placeholder((10, 13), name="P")
    r = te.reduce_axis((0, 13), name="r")
    q = te.compute((10,), lambda i: te.sum(a[i, r], axis=r), name="Q")
    s = te.create_schedule(q.op)
    _, inner = s[q].split(r, 4)
    s.rfactor(q, inner)
    check(
        s,
        [a, q],
        """
        Q_rf = T.Buffer((4, 10))
        T.realize(Q_rf[0:4, 0:10])
        for r_inner, i in T.grid(4, 10):
            Q_rf[r_inner, i] = T.float32(0.0)
            for r_outer in range(4):
                if T.likely(r_inner + r_outer * 4 < 13):
                    Q_rf[r_inner, i] = Q_rf[r_inner, i] + P[i, r_inner + r_outer * 4]
        T.realize(Q[0:10])
        for ax0 in range(10):
            Q[ax0] = T.float32(0.0)
            for r_inner_v in range(4):
                Q[ax0] = Q[ax0] + Q_rf[r_inner_v, ax0]
        """,
    )


def test_symbolic_extents_stay_symbolic() -> None:
    n = te.var("n")
    x = te.placeholder((n,), name="X")
    y = te.compute((n,), lambda i: x[i] + 1, name="Y")
    z = te.compute((n,), lambda i: y[i] * 2, name="Z")
    s = te.create_schedule(z.op)
    outer, _ = s[z].split(z.op.axis[0], factor=8)
    s[y].compute_at(s[z], outer)
    expected = """
        T.realize(Z_1[0:n])
        for i_outer in range((n + 7) // 8):
            Y = T.Buffer((n,))
            T.realize(Y[i_outer * 8:i_outer * 8 + 8])
            for i in range(8):
                if T.likely(i + i_outer * 8 < n):
                    Y[i + i_outer * 8] = X_1[i + i_outer * 8] + T.float32(1.0)
            for i_inner in range(8):
                if T.likely(i_inner + i_outer * 8 < n):
                    Z_1[i_inner + i_outer * 8] = Y[i_inner + i_outer * 8] * T.float32(2.0)
    """
    assert body_text(s, [x, z]).endswith(dedent(expected).strip())


def test_loops_become_threads() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1, name="B")
    s = te.create_schedule(b.op)
    block, thread = s[b].split(b.op.axis[0], factor=4)
    s[b].bind(block, te.thread_axis("blockIdx.x"))
    s[b].bind(thread, te.thread_axis("threadIdx.x"))
    check(
        s,
        [a, b],
        """
        T.realize(B[0:8])
        blockIdx_x = T.launch_thread("blockIdx.x", 2)
        threadIdx_x = T.launch_thread("threadIdx.x", 4)
        B[threadIdx_x + blockIdx_x * 4] = A[threadIdx_x + blockIdx_x * 4] + T.float32(1.0)
        """,
    )


def test_storage_remarks_stand_around_the_buffer() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1, name="B")
    s = te.create_schedule(b.op)
    cached = s.cache_read(a, "shared", [b])
    outer, _ = s[b].split(b.op.axis[0], factor=4)
    s[cached].compute_at(s[b], outer)
    s[cached].double_buffer()
    s[cached].storage_align(cached.op.axis[0], 16, 4)
    check(
        s,
        [a, b],
        """
        T.realize(B[0:8])
        for i_outer in range(2):
            A_shared = T.Buffer((8,), scope="shared")
            T.attr(A_shared, "buffer_dim_align", T.tvm_tuple(0, 16, 4))
            T.realize(A_shared[i_outer * 4:i_outer * 4 + 4])
            with T.attr(A_shared, "double_buffer_scope", 1):
                for ax0 in range(4):
                    A_shared[ax0 + i_outer * 4] = A[ax0 + i_outer * 4]
            for i_inner in range(4):
                B[i_inner + i_outer * 4] = A_shared[i_inner + i_outer * 4] + T.float32(1.0)
        """,
    )


def test_a_place_follows_its_loop() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1, name="B")
    c = te.compute((8,), lambda i: b[i] + 1, name="C")
    s = te.create_schedule(c.op)
    s[b].compute_at(s[c], c.op.axis[0])
    s[c].split(c.op.axis[0], factor=4)
    check(
        s,
        [a, c],
        """
        T.realize(C[0:8])
        for i_outer, i_inner in T.grid(2, 4):
            B = T.Buffer((8,))
            T.realize(B[i_outer * 4 + i_inner:i_outer * 4 + i_inner + 1])
            B[i_outer * 4 + i_inner] = A[i_outer * 4 + i_inner] + T.float32(1.0)
            C[i_inner + i_outer * 4] = B[i_inner + i_outer * 4] + T.float32(1.0)
        """,
    )


def test_values_that_overwrite_each_other_are_held() -> None:
    a = te.placeholder((4, 8), "int32", name="A")
    k = te.reduce_axis((0, 8), name="k")
    swap = te.comm_reducer(
        lambda x, y: (x[1] + y[0], x[0] + y[1]), lambda t, u: (te.const(0, t), te.const(0, u)), name="swap"
    )
    v, w = te.compute((4,), lambda i: swap((a[i, k], a[i, k]), axis=k), name="T")
    text = body_text(te.create_schedule(v.op), [a, v, w])
    assert text.index("T_v1[i] = ") < text.index("for k in")
    assert text.rstrip().endswith("T_v0[i] = T_v0_next\n        T_v1[i] = T_v1_next")


def test_threads_fetch_together_what_all_of_them_read() -> None:
    a = te.placeholder((64,), name="A")
    b = te.compute((32,), lambda i: a[i] + a[i + 32], name="B")
    s = te.create_schedule(b.op)
    shared = s.cache_read(a, "shared", [b])
    thread = te.thread_axis("threadIdx.x")
    block, inner = s[b].split(b.op.axis[0], factor=8)
    s[b].bind(block, te.thread_axis("blockIdx.x"))
    s[b].bind(inner, thread)
    s[shared].compute_at(s[b], inner)
    _, fetch = s[shared].split(shared.op.axis[0], factor=8)
    s[shared].bind(fetch, thread)
    check(
        s,
        [a, b],
        """
        T.realize(B[0:32])
        blockIdx_x = T.launch_thread("blockIdx.x", 4)
        threadIdx_x = T.launch_thread("threadIdx.x", 8)
        A_shared = T.Buffer((64,), scope="shared")
        T.realize(A_shared[blockIdx_x * 8:blockIdx_x * 8 + 40])
        for ax0_outer in range(5):
            A_shared[threadIdx_x + ax0_outer * 8 + blockIdx_x * 8] = A[threadIdx_x + ax0_outer * 8 + blockIdx_x * 8]
        B[threadIdx_x + blockIdx_x * 8] = A_shared[threadIdx_x + blockIdx_x * 8] + A_shared[threadIdx_x + blockIdx_x * 8 + 32]
        """,  # noqa: E501
    )


@pytest.mark.parametrize(
    ("n", "step", "fetched"),
    [(10, 1, 10), (10, 3, 28), (32, 3, 94), (40, 3, 94)],
    ids=["shorter than a block", "apart from each other", "as long as a block", "two blocks"],
)
def test_a_block_fetches_what_the_elements_of_its_axis_read(n: int, step: int, fetched: int) -> None:
    a = te.placeholder((step * n,), name="A")
    b = te.compute((n,), lambda i: a[step * i], name="B")
    s = te.create_schedule(b.op)
    shared = s.cache_read(a, "shared", [b])
    block, thread = s[b].split(b.op.axis[0], factor=32)
    s[b].bind(block, te.thread_axis("blockIdx.x"))
    s[b].bind(thread, te.thread_axis("threadIdx.x"))
    s[shared].compute_at(s[b], block)
    assert f'T.allocate([{fetched}], "float32", "shared")' in str(lower(s, [a, b]))
    numbers, result = np.arange(step * n, dtype="float32"), np.zeros(n, "float32")
    emulate(s, [a, b])(numbers, result)
    np.testing.assert_array_equal(result, numbers[::step])


def test_memory_of_each_thread_begins_at_its_own_part() -> None:
    a = te.placeholder((64,), name="A")
    b = te.compute((64,), lambda i: a[i] + 1.0, name="B")
    s = te.create_schedule(b.op)
    own = s.cache_read(a, "local", [b])
    thread = te.thread_axis("threadIdx.x")
    _, inner = s[b].split(b.op.axis[0], factor=8)
    s[b].bind(inner, thread)
    block = te.thread_axis("blockIdx.x")
    outer, _ = s[b].split(s[b].leaf_iter_vars[0], factor=8)
    s[b].bind(outer, block)
    s[own].compute_at(s[b], outer)
    _, fetch = s[own].split(own.op.axis[0], factor=8)
    s[own].bind(fetch, thread)
    check(
        s,
        [a, b],
        """
        T.realize(B[0:64])
        blockIdx_x = T.launch_thread("blockIdx.x", 1)
        A_local = T.Buffer((64,), scope="local")
        threadIdx_x = T.int32()
        T.realize(A_local[threadIdx_x:threadIdx_x + 57])
        for ax0_outer in range(8):
            threadIdx_x = T.launch_thread("threadIdx.x", 8)
            A_local[ax0_outer * 8 + threadIdx_x] = A[ax0_outer * 8 + threadIdx_x]
        for i_outer_inner in range(8):
            threadIdx_x = T.launch_thread("threadIdx.x", 8)
            B[threadIdx_x + (i_outer_inner + blockIdx_x * 8) * 8] = A_local[threadIdx_x + (i_outer_inner + blockIdx_x * 8) * 8] + T.float32(1.0)
        """,  # noqa: E501
    )


@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize("scope", ["local", "shared", "global"])
def test_virtual_threads_share_what_is_computed_outside_of_their_loop(scope: str, bound: bool) -> None:
    a = te.placeholder((64,), name="A")
    b = te.compute((64,), lambda i: a[i] + 1.0, name="B")
    s = te.create_schedule(b.op)
    copy = s.cache_read(a, scope, [b])
    thread = te.thread_axis("vthread")
    outer, inner = s[b].split(b.op.axis[0], factor=8)
    s[b].bind(inner, thread)
    place, _ = s[b].split(outer, factor=4)
    s[copy].compute_at(s[b], place)
    _, fetch = s[copy].split(copy.op.axis[0], factor=8)
    if bound:
        s[copy].bind(fetch, thread)
    given = np.arange(64, dtype="float32")
    out = nd.array(np.zeros(64, "float32"))
    build(s, [a, b])(nd.array(given), out)
    np.testing.assert_array_equal(out.numpy(), given + 1)


def test_threads_reduce_together() -> None:
    a = te.placeholder((16, 30), name="A")
    k = te.reduce_axis((0, 30), name="k")
    b = te.compute((16,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    thread = te.thread_axis("threadIdx.x")
    s[b].bind(b.op.axis[0], te.thread_axis("blockIdx.x"))
    _, inner = s[b].split(k, 8)
    s[b].bind(inner, thread)
    check(
        s,
        [a, b],
        """
        T.realize(B[0:16])
        blockIdx_x = T.launch_thread("blockIdx.x", 16)
        threadIdx_x = T.launch_thread("threadIdx.x", 8)
        normal_reduce_temp0 = T.Buffer((1,), scope="local")
        T.realize(normal_reduce_temp0[0:1])
        reduce_temp0 = T.Buffer((1,), scope="local")
        T.realize(reduce_temp0[0:1])
        normal_reduce_temp0[0] = T.float32(0.0)
        for k_outer in range(4):
            if threadIdx_x + k_outer * 8 < 30:
                normal_reduce_temp0[0] = normal_reduce_temp0[0] + A[blockIdx_x, threadIdx_x + k_outer * 8]
        with T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0.0)]), "reduce_scope", T.reinterpret("handle", T.uint64(0))):
            T.tvm_thread_allreduce(T.uint32(1), normal_reduce_temp0[0], T.bool(True), reduce_temp0[0], threadIdx_x)
        if threadIdx_x == 0:
            B[blockIdx_x] = reduce_temp0[0]
        """,  # noqa: E501
    )


def test_a_store_may_depend_on_the_thread() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1, name="B")
    s = te.create_schedule(b.op)
    thread = te.thread_axis((0, 4), "threadIdx.x")
    _, inner = s[b].split(b.op.axis[0], 4)
    s[b].bind(inner, thread)
    s[b].set_store_predicate(thread.var.equal(0))
    check(
        s,
        [a, b],
        """
        T.realize(B[0:8])
        for i_outer in range(2):
            threadIdx_x = T.launch_thread("threadIdx.x", 4)
            if threadIdx_x == 0:
                B[threadIdx_x + i_outer * 4] = A[threadIdx_x + i_outer * 4] + T.float32(1.0)
        """,
    )


def test_what_rows_multiply_next_is_fetched_by_shares() -> None:
    A, W = te.placeholder((30, 48), name="A"), te.placeholder((4, 48, 16), name="W")
    k = te.reduce_axis((0, 48), name="k")
    C = te.compute((30, 4, 16), lambda i, j, v: te.sum(A[i, k] * W[j, k, v], axis=k), name="C")
    s = te.create_schedule(C.op)
    i, j, v = s[C].op.axis
    s[C].reorder(j, i, k, v)
    s[C].prefetch(W, k, 1, shared=True)
    text = str(lower(s, [A, W, C]))
    assert "T.prefetch(T.address_of(W_1[j * 768 + i * 32 + k // 16 * 16 + 768])" in text, "two of 48 rows in each turn"
    assert str(lower(s.replay(len(s.primitives))[0], [A, W, C])) == text
    a, w = (np.random.default_rng(0).normal(size=t).astype("float32") for t in ((30, 48), (4, 48, 16)))
    out = nd.array(np.zeros((30, 4, 16), "float32"))
    build(s, [A, W, C])(nd.array(a), nd.array(w), out)
    np.testing.assert_allclose(out.numpy(), np.einsum("ik,jkv->ijv", a, w), rtol=1e-4, atol=1e-4)


def test_what_is_copied_next_for_rows_is_fetched_by_shares() -> None:
    A, W = te.placeholder((30, 48), name="A"), te.placeholder((64, 48), name="W")
    k = te.reduce_axis((0, 48), name="k")
    panels = te.compute((4, 48, 16), lambda j, k, v: W[j * 16 + v, k], name="panels")
    C = te.compute((30, 64), lambda i, j: te.sum(A[i, k] * panels[j // 16, k, j % 16], axis=k), name="C")
    s = te.create_schedule(C.op)
    outer, lane = s[C].split(C.op.axis[1], factor=16)
    s[C].reorder(outer, C.op.axis[0], k, lane)
    s[panels].compute_at(s[C], outer)
    with pytest.raises(ScheduleError, match="stage 'C' does not read 'W'"):
        s[C].prefetch(W, k, 1)
    s[C].prefetch(W, k, 1, shared=True)
    text = str(lower(s, [A, W, C]))
    assert "W_1[j_outer * 768 + i * 48 + k + 768]" in text, "one of 16 rows in each turn, an element in each step"
    a, w = (np.random.default_rng(0).normal(size=t).astype("float32") for t in ((30, 48), (64, 48)))
    out = nd.array(np.zeros((30, 64), "float32"))
    build(s, [A, W, C])(nd.array(a), nd.array(w), out)
    np.testing.assert_allclose(out.numpy(), a @ w.T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shared", [False, True])
def test_what_is_computed_inside_of_a_loop_is_not_fetched_there(shared: bool) -> None:
    A = te.placeholder((8, 16), name="A")
    B = te.compute((8, 16), lambda i, j: A[i, j] * 2.0, name="B")
    C = te.compute((8, 16), lambda i, j: B[i, j] + 1.0, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[C].prefetch(B, C.op.axis[0], 1, shared=shared)
    assert "T.prefetch" not in str(lower(s, [A, C]))
    build(s, [A, C])


def test_what_virtual_threads_read_is_fetched_before_they_begin() -> None:
    A = te.placeholder((8, 16), name="A")
    C = te.compute((8, 16), lambda i, j: A[i, j] + 1.0, name="C")
    s = te.create_schedule(C.op)
    i, j = C.op.axis
    s[C].bind(j, te.thread_axis("vthread"))
    s[C].prefetch(A, i, 1)
    a, out = np.ones((8, 16), "float32"), nd.array(np.zeros((8, 16), "float32"))
    assert "T.prefetch(T.address_of(A_1[i * 16 + 16])" in str(lower(s, [A, C]))
    build(s, [A, C])(nd.array(a), out)
    np.testing.assert_array_equal(out.numpy(), a + 1)


def test_what_is_fetched_early_and_kept_is_computed_alike() -> None:
    A = te.placeholder((12, 64), name="A")
    B = te.compute((12, 64), lambda i, j: A[i, j] * 2.0, name="B")
    C = te.compute((10, 64), lambda i, j: B[i, j] + B[i + 2, j], name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].rolling_buffer()
    s[B].prefetch(A, B.op.axis[0], 1)
    assert "T.prefetch" in str(lower(s, [A, C]))
    a = np.random.default_rng(0).normal(size=(12, 64)).astype("float32")
    out = nd.array(np.zeros((10, 64), "float32"))
    build(s, [A, C])(nd.array(a), out)
    np.testing.assert_allclose(out.numpy(), a[:10] * 2 + a[2:] * 2, rtol=1e-6)
