"""Each thread axis of a kernel has one variable."""

from __future__ import annotations

import pytest

from compiler.ir.error import ArgumentError
from compiler.tir.transform import UnifyThreadBinding
from tests.compiler.tir.transform.programs import apply, assert_pass, program

TWO = "A: T.Buffer((8, 4), 'int32'), B: T.Buffer((8, 4), 'int32'), C: T.Buffer((8, 4), 'int32')"


def test_loops_over_one_axis_become_one() -> None:
    assert_pass(
        UnifyThreadBinding(),
        """
        for i in T.thread_binding(8, thread="blockIdx.x"):
            for j in T.thread_binding(4, thread="threadIdx.x"):
                B[i, j] = A[i, j]
            for k in T.thread_binding(4, thread="threadIdx.x"):
                C[i, k] = B[i, k]
        """,
        """
        for bx in T.thread_binding(8, thread="blockIdx.x"):
            for tx in T.thread_binding(4, thread="threadIdx.x"):
                B[bx, tx] = A[bx, tx]
                C[bx, tx] = B[bx, tx]
        """,
        params=TWO,
        values=(),
    )


def test_kernels_have_axes_of_their_own() -> None:
    assert_pass(
        UnifyThreadBinding(),
        """
        for i in T.thread_binding(8, thread="threadIdx.x"):
            B[i, 0] = A[i, 0]
        for i in T.thread_binding(4, thread="threadIdx.x"):
            C[i, 0] = A[i, 0]
        """,
        """
        for i in T.thread_binding(8, thread="threadIdx.x"):
            B[i, 0] = A[i, 0]
        for i in T.thread_binding(4, thread="threadIdx.x"):
            C[i, 0] = A[i, 0]
        """,
        params=TWO,
        values=(),
    )


def test_one_axis_has_one_extent() -> None:
    func = program(
        """
        for i in T.thread_binding(8, thread="blockIdx.x"):
            for j in T.thread_binding(4, thread="threadIdx.x"):
                B[i, j] = A[i, j]
            for k in T.thread_binding(2, thread="threadIdx.x"):
                C[i, k] = B[i, k]
        """,
        TWO,
    )
    with pytest.raises(ArgumentError, match=r"bound to 'threadIdx\.x' must have the same extent"):
        apply(func, UnifyThreadBinding())


def test_variables_of_two_types_are_converted_and_annotations_stay_where_they_hold() -> None:
    assert_pass(
        UnifyThreadBinding(),
        """
        for i in T.thread_binding(8, thread="blockIdx.x"):
            for j in T.thread_binding(4, thread="threadIdx.x", annotations={"note": 1}):
                B[i, j] = A[i, j]
            for k in T.thread_binding(T.int64(4), thread="threadIdx.x"):
                C[i, k] = B[i, k]
        """,
        """
        for bx in T.thread_binding(8, thread="blockIdx.x"):
            for tx in T.thread_binding(4, thread="threadIdx.x"):
                for once in T.serial(1, annotations={"note": 1}):
                    B[bx, tx] = A[bx, tx]
                C[bx, T.Cast("int64", tx)] = B[bx, T.Cast("int64", tx)]
        """,
        params=TWO,
        values=(),
    )
