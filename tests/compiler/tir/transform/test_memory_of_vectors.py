"""Memory that is read and written in vectors alone becomes an array of vectors; any other stays one of scalars."""

from __future__ import annotations

from compiler.tir.statements.stmt import Allocate, DeclBuffer
from compiler.tir.transform import StorageRewrite
from tests.compiler.tir.transform.programs import apply, assert_pass, assert_same, nodes, program

PARAMS = "A: T.Buffer((16,), 'int32'), C: T.Buffer((16,), 'int32')"


def test_memory_of_vectors_becomes_an_array_of_vectors() -> None:
    assert_pass(
        StorageRewrite(),
        """
        L = T.allocate([16], "int32", "global")
        L_1 = T.Buffer((16,), "int32", data=L)
        for i in range(4):
            L_1[i * 4:i * 4 + 4] = A[i * 4:i * 4 + 4]
        for i in range(4):
            C[i * 4:i * 4 + 4] = L_1[i * 4:i * 4 + 4] + L_1[i * 4:i * 4 + 4]
        """,
        """
        L = T.allocate([4], "int32x4", "global")
        L_1 = T.Buffer((4,), "int32x4", data=L)
        for i in range(4):
            L_1[i * 4 // 4] = A[i * 4:i * 4 + 4]
        for i in range(4):
            C[i * 4:i * 4 + 4] = L_1[i * 4 // 4] + L_1[i * 4 // 4]
        """,
        params=PARAMS,
    )


def test_memory_stays_scalar_where_an_access_is_scalar() -> None:
    assert_pass(
        StorageRewrite(),
        """
        L = T.allocate([16], "int32", "global")
        L_1 = T.Buffer((16,), "int32", data=L)
        for i in range(4):
            L_1[i * 4:i * 4 + 4] = A[i * 4:i * 4 + 4]
        for i in range(16):
            C[i] = L_1[i]
        """,
        params=PARAMS,
    )


def test_memory_stays_scalar_where_an_access_may_be_misaligned() -> None:
    assert_pass(
        StorageRewrite(),
        """
        L = T.allocate([20], "int32", "global")
        L_1 = T.Buffer((20,), "int32", data=L)
        for i in range(4):
            L_1[i * 4 + 1:i * 4 + 5] = A[i * 4:i * 4 + 4]
        for i in range(12):
            C[i:i + 4] = L_1[i + 1:i + 5]
        """,
        params=PARAMS,
    )


def test_declared_buffers_get_the_memory_of_vectors() -> None:
    func = program(
        """
        L = T.decl_buffer((16,), "int32", scope="local")
        L[0:16] = A[0:16]
        C[0:16] = L[0:16]
        """,
        params=PARAMS,
    )
    after = apply(func, StorageRewrite())
    (alloc,), (declared,) = nodes(after, Allocate), nodes(after, DeclBuffer)
    assert alloc.dtype == "int32x16"
    assert declared.buffer.data is alloc.buffer_var
    assert_same(func, after)
