"""Buffers of any rank become rows of elements."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.ir.error import BoundError
from compiler.ir.expr.primexpr import const
from compiler.tir.interpreter import interpret
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.stmt import BufferStore
from compiler.tir.transform import FlattenBuffer, StorageFlatten
from tests.compiler.tir.transform.programs import apply, assert_pass, function, program

TRANSPOSED = "A: T.Buffer((6, 4), 'int32'), C: T.Buffer((4, 6), 'int32')"
OUTPUT = "C: T.Buffer((4, 6), 'int32')"


def test_a_parameter_is_accessed_through_an_alias_of_one_dimension() -> None:
    assert_pass(
        StorageFlatten(64),
        """
        for i, j in T.grid(4, 6):
            C[i, j] = A[j, i]
        """,
        """
        for i, j in T.grid(4, 6):
            C_1 = T.Buffer((24,), "int32", data=C.data)
            A_1 = T.Buffer((24,), "int32", data=A.data)
            C_1[i * 6 + j] = A_1[j * 4 + i]
        """,
        params=TRANSPOSED,
        from_schedule=True,
    )


def test_a_parameter_of_one_dimension_stays_what_it_is() -> None:
    assert_pass(
        StorageFlatten(64),
        """
        for i in range(6):
            C[i] = i
        """,
        """
        for i in range(6):
            C[i] = i
        """,
    )


def test_only_the_realized_region_is_allocated() -> None:
    assert_pass(
        StorageFlatten(64),
        """
        for o in range(4):
            L = T.Buffer((16, 6), "int32")
            T.realize(L[o * 4:o * 4 + 4, 0:6])
            for i, j in T.grid(4, 6):
                L[o * 4 + i, j] = A[o * 4 + i, j] + 1
            for i, j in T.grid(4, 6):
                C[o * 4 + i, j] = L[o * 4 + i, j] * 2
        """,
        """
        for o in range(4):
            L = T.allocate([24], "int32", "global")
            L_1 = T.Buffer((24,), "int32", data=L)
            for i, j in T.grid(4, 6):
                A_1 = T.Buffer((96,), "int32", data=A.data)
                L_1[i * 6 + j] = A_1[o * 24 + i * 6 + j] + 1
            for i, j in T.grid(4, 6):
                C_1 = T.Buffer((96,), "int32", data=C.data)
                C_1[o * 24 + i * 6 + j] = L_1[i * 6 + j] * 2
        """,
        params="A: T.Buffer((16, 6), 'int32'), C: T.Buffer((16, 6), 'int32')",
    )


def test_rows_are_as_long_as_storage_align_says() -> None:
    assert_pass(
        StorageFlatten(64),
        """
        L = T.Buffer((4, 6), "int32")
        T.attr(L, "buffer_dim_align", T.tvm_tuple(0, 8, 3))
        T.realize(L[0:4, 0:6])
        for i, j in T.grid(4, 6):
            L[i, j] = i * 10 + j
        for i, j in T.grid(4, 6):
            C[i, j] = L[i, j]
        """,
        """
        L = T.allocate([44], "int32", "global")
        L_1 = T.Buffer((44,), "int32", data=L)
        for i, j in T.grid(4, 6):
            L_1[i * 11 + j] = i * 10 + j
        for i, j in T.grid(4, 6):
            C_1 = T.Buffer((24,), "int32", data=C.data)
            C_1[i * 6 + j] = L_1[i * 11 + j]
        """,
        params=OUTPUT,
    )


def test_strides_and_the_offset_of_a_parameter_count() -> None:
    assert_pass(
        StorageFlatten(64),
        """
        A = T.match_buffer(a, (4, 6), "int32", strides=(12, 2), elem_offset=5)
        for i, j in T.grid(4, 6):
            C[i, j] = A[i, j]
        """,
        """
        A = T.match_buffer(a, (4, 6), "int32", strides=(12, 2), elem_offset=5)
        for i, j in T.grid(4, 6):
            C_1 = T.Buffer((24,), "int32", data=C.data)
            A_1 = T.Buffer((48,), "int32", data=A.data, elem_offset=5)
            C_1[i * 6 + j] = A_1[i * 12 + j * 2 + 5]
        """,
        params="a: T.handle, C: T.Buffer((4, 6), 'int32')",
        values=(),
        from_schedule=True,
    )


def test_truth_values_are_stored_as_bytes() -> None:
    assert_pass(
        StorageFlatten(64),
        """
        F = T.Buffer((4, 6), "bool")
        T.realize(F[0:4, 0:6])
        for i, j in T.grid(4, 6):
            F[i, j] = i < j
        for i, j in T.grid(4, 6):
            C[i, j] = T.Select(F[i, j], 1, 2)
        """,
        """
        F = T.allocate([24], "int8", "global")
        F_1 = T.Buffer((24,), "int8", data=F, align=16)
        for i, j in T.grid(4, 6):
            F_1[i * 6 + j] = T.Cast("int8", i < j)
        for i, j in T.grid(4, 6):
            C_1 = T.Buffer((24,), "int32", data=C.data)
            C_1[i * 6 + j] = T.Select(T.Cast("bool", F_1[i * 6 + j]), 1, 2)
        """,
        params=OUTPUT,
    )


def test_vector_indices_stay_vectors() -> None:
    assert_pass(
        StorageFlatten(64),
        """
        for i in range(4):
            C[i, 1:5] = A[5 - i, T.Ramp(0, 1, 4)]
        """,
        """
        for i in range(4):
            C_1 = T.Buffer((24,), "int32", data=C.data)
            A_1 = T.Buffer((24,), "int32", data=A.data)
            C_1[i * 6 + 1:i * 6 + 1 + 4] = A_1[20 - i * 4:20 - i * 4 + 4]
        """,
        params=TRANSPOSED,
        from_schedule=True,
    )


def test_the_region_of_an_output_needs_no_memory() -> None:
    assert_pass(
        StorageFlatten(64),
        """
        T.realize(C[0:4, 0:6])
        for i, j in T.grid(4, 6):
            C[i, j] = i + j
        """,
        """
        for i, j in T.grid(4, 6):
            C_1 = T.Buffer((24,), "int32", data=C.data)
            C_1[i * 6 + j] = i + j
        """,
        params=OUTPUT,
    )


def test_small_memory_is_aligned_to_its_size() -> None:
    assert_pass(
        StorageFlatten(64),
        """
        K = T.Buffer((1,), "int32")
        L = T.Buffer((4,), "int32")
        M = T.Buffer((64,), "int32")
        with T.realize(K[0:1]):
            K[0] = 1
            C[0] = K[0]
        with T.realize(L[0:4]):
            L[0] = 1
            C[0] = L[0]
        with T.realize(M[0:64]):
            M[0] = 1
            C[0] = M[0]
        """,
        """
        with T.allocate([1], "int32", "global") as K:
            K_1 = T.Buffer((1,), "int32", data=K, align=4)
            K_1[0] = 1
            C[0] = K_1[0]
        with T.allocate([4], "int32", "global") as L:
            L_1 = T.Buffer((4,), "int32", data=L, align=16)
            L_1[0] = 1
            C[0] = L_1[0]
        M = T.allocate([64], "int32", "global")
        M_1 = T.Buffer((64,), "int32", data=M)
        M_1[0] = 1
        C[0] = M_1[0]
        """,
    )


def test_a_prefetched_box_is_touched_once_a_cache_line() -> None:
    assert_pass(
        StorageFlatten(64),
        """
        for i in range(4):
            T.prefetch(A, [T.Range(i, i + 2), T.Range(0, 64)])
        """,
        """
        for i, prefetch_A_0, prefetch_A_1 in T.grid(4, 2, 4):
            A_1 = T.Buffer((512,), data=A.data)
            T.prefetch(T.address_of(A_1[i * 64 + prefetch_A_0 * 64 + prefetch_A_1 * 16]), 0, 3, 1)
        """,
        params="A: T.Buffer((8, 64), 'float32')",
        values=(),
        from_schedule=True,
    )


def test_stores_are_marked_with_their_bound_on_request() -> None:
    assert_pass(
        StorageFlatten(64, create_bound_attribute=True),
        """
        for i in range(6):
            C[i] = i
        """,
        """
        for i in range(6):
            T.attr(C.data, "buffer_bound", 64)
            C[i] = i
        """,
        from_schedule=True,
    )


def test_allocated_memory_is_flattened_by_flatten_buffer() -> None:
    assert_pass(
        FlattenBuffer(),
        """
        L = T.allocate([4, 6], "bool")
        L_1 = T.Buffer((4, 6), "bool", data=L)
        for i, j in T.grid(4, 6):
            L_1[i, j] = i % 2 == j % 3
        for i, j in T.grid(4, 6):
            C[i, j] = T.Select(L_1[3 - i, j], 1, 0)
        """,
        """
        L = T.allocate([24], "int8", "global")
        L_1 = T.Buffer((24,), "int8", data=L)
        for i, j in T.grid(4, 6):
            L_1[i * 6 + j] = T.Cast("int8", i % 2 == j % 3)
        for i, j in T.grid(4, 6):
            C_1 = T.Buffer((24,), "int32", data=C.data)
            C_1[i * 6 + j] = T.Select(T.Cast("bool", L_1[j + 18 - i * 6]), 1, 0)
        """,
        params=OUTPUT,
    )


def test_a_parameter_of_no_dimension_has_one_element() -> None:
    func = program("C[()] = 7", "C: T.Buffer((), 'int32')")
    result = np.zeros((), "int32")
    interpret(apply(func, StorageFlatten(64)), [result])
    assert result == 7


def test_too_few_indices_are_an_error() -> None:
    store = program("C[0, 1] = 1", OUTPUT).body
    assert isinstance(store, BufferStore)
    with pytest.raises(BoundError, match="buffer 'C' has 2 dimensions, got 1 index"):
        BufferStore(store.buffer, store.value, store.indices[:1])
    with pytest.raises(BoundError, match="buffer 'C' has 2 dimensions, got 3 indices"):
        BufferLoad(store.buffer, (*store.indices, store.indices[0]))


def test_what_is_flat_is_returned_as_it_is() -> None:
    assert_pass(FlattenBuffer(), "L = T.allocate([4], 'int32')\nL_1 = T.Buffer((4,), 'int32', data=L)\nL_1[0] = 1")


def test_other_functions_are_left_alone() -> None:
    assert_pass(StorageFlatten(64), "for i, j in T.grid(4, 6):\n    C[i, j] = 7", params=OUTPUT)
    assert_pass(FlattenBuffer(), "for i, j in T.grid(4, 6):\n    C[i, j] = 7", params=OUTPUT, from_schedule=True)


def test_dimensions_within_a_cache_line_are_prefetched_with_it() -> None:
    assert_pass(
        StorageFlatten(64),
        """
        T.prefetch(A, [T.Range(n, n + 2), T.Range(0, 8), T.Range(0, 4)])
        """,
        """
        for i, j in T.grid(2, 2):
            A_1 = T.Buffer((320,), data=A.data)
            T.prefetch(T.address_of(A_1[n * 32 + i * 32 + j * 16]), 0, 3, 1)
        """,
        params="A: T.Buffer((10, 8, 4)), n: T.int32",
        from_schedule=True,
        values=(),
    )


@pytest.mark.parametrize(("separated", "shape", "index"), [("all", [8, 64], [3, 17]), ("none", [512], [209])])
def test_groups_of_dimensions_between_axis_separators(separated: str, shape: list[int], index: list[int]) -> None:
    c = decl_buffer((8, 8, 8), "int32", "C", axis_separators=[1])
    func = apply(
        function(BufferStore(c, const(1), (const(3), const(2), const(1))), c), FlattenBuffer(separated=separated)
    )
    store = func.body
    assert isinstance(store, BufferStore)
    assert ([int(d) for d in store.buffer.shape], [int(i) for i in store.indices]) == (shape, index)


def test_indices_that_symbolic_extents_were_divided_out_of_are_joined_again() -> None:
    params = "A: T.handle, B: T.handle, n: T.int32"
    header = "A_1 = T.match_buffer(A, (32, n, n))\nB_1 = T.match_buffer(B, (32, n, n))\n"
    loop = "for i in range(n * n * 32):\n"
    index = "i // (n * n), i % (n * n) // n, i % n"
    before = program(header + loop + f"    B_1[{index}] = A_1[{index}]", params=params)
    text = str(apply(before, FlattenBuffer()))
    assert "T.Buffer((n * n * 32,), data=A_1.data)" in text
    assert "[i] = " in text
