"""Buffers: what they say of their memory, and the accesses that they make."""

from __future__ import annotations

import numpy as np
import pytest

import compiler as tvm
from compiler import tir
from compiler.ir.error import ArgumentError, DTypeError
from compiler.ir.expr.primexpr import ExprLike
from compiler.ir.structural import structural_equal
from compiler.tir.script import from_source


def test_an_alignment_that_is_not_given_is_that_of_arrays() -> None:
    buffers = [tir.decl_buffer((4,), name="A", data_alignment=alignment) for alignment in (-1, 0, 64, 128)]
    assert [buffer.data_alignment for buffer in buffers] == [64, 64, 64, 128]
    head = "@T.prim_func\ndef f(a: T.handle):\n    A = T.match_buffer(a, (4,)"
    plain, aligned = (from_source(f"{head}{given})\n    A[0] = T.float32(1)") for given in ("", ", align=64"))
    assert structural_equal(plain, aligned)
    assert str(plain) == str(aligned)


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (1.0, "A[0, 1] = T.float32(1.0)"),
        (tir.const(2.0, "float32"), "A[0, 1] = T.float32(2.0)"),
        (tir.Broadcast(tir.const(1.0, "float32"), 4), "A[0, 1:5] = T.Broadcast(T.float32(1.0), 4)"),
    ],
)
def test_numbers_are_stored(value: ExprLike, stored: str) -> None:
    buffer = tir.decl_buffer((16, 16), "float32", name="A")
    assert str(buffer.vstore([0, 1], value)).splitlines()[-1] == stored


def test_memory_of_others_need_not_be_aligned() -> None:
    a = tvm.te.placeholder((8,), name="A")
    b = tvm.te.compute((8,), lambda i: a[i] + 1.0, name="B")
    built = tvm.build(tvm.te.create_schedule(b.op), [a, b], "llvm")
    memory = np.arange(40, dtype="float32")
    for start in range(16):  # at most one of them lies at a multiple of 64 bytes
        view, result = memory[start : start + 8], tvm.nd.empty((8,))
        built(tvm.nd.from_dlpack(view), result)
        np.testing.assert_array_equal(result.numpy(), view + 1)


def test_slices_with_steps_are_vectors_of_elements() -> None:
    buffer = tir.decl_buffer((8, 8), "float32", name="A")
    assert [str(index) for index in buffer[1, 0:8:2].indices] == ["1", "T.Ramp(0, 2, 4)"]
    assert [str(index) for index in buffer[0:8:8, ::3].indices] == ["0", "T.Ramp(0, 3, 3)"]
    assert str(buffer[1, 0:8]) == "A[1, 0:8]"
    with pytest.raises(ArgumentError, match="a slice with steps has a constant number of elements, got "):
        buffer[1, 0 : tir.Var("n", "int32") : 2]


def test_elements_are_loaded_in_their_own_type() -> None:
    A = tir.decl_buffer((16,), "float32", "A")
    assert A.vload([4], "float32x4").dtype == "float32x4"
    with pytest.raises(DTypeError, match="elements of 'A' are float32, not int32x4"):
        A.vload([4], "int32x4")
