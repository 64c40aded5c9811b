"""What the code of a module keeps between calls: bodies that run once, handles; and what several threads add up."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from compiler import build, register_func, te, tir
from compiler.ir.error import BuildError
from compiler.ir.module import IRModule


def _module(buffer: tir.Buffer, body: tir.Stmt) -> IRModule:
    return IRModule({"main": tir.PrimFunc([buffer], body)})


def _increment(once: str | None, kind: str) -> IRModule:
    n = te.size_var("n")
    buffer = tir.decl_buffer((n,), "int64")
    ib = tir.ir_builder.create()
    pointer = ib.buffer_ptr(buffer)
    if once is not None:
        ib.scope_attr(te.thread_axis((0, 1), "cop"), "coproc_uop_scope", once)
    with ib.for_range(0, n, "i", kind=kind) as i:
        pointer[i] = pointer[i] + 1
    return _module(buffer, ib.get())


@pytest.mark.parametrize("kind", ["serial", "parallel"])
def test_a_body_runs_once_in_the_life_of_a_module(kind: str) -> None:
    first, second = build(_increment("TVMBackendRunOnce", kind)), build(_increment("TVMBackendRunOnce", kind))
    values, others = np.zeros(10, "int64"), np.zeros(3, "int64")
    first(values)
    first(values)
    first(others)
    np.testing.assert_array_equal(values, 1)
    np.testing.assert_array_equal(others, 0)
    second(others)
    np.testing.assert_array_equal(others, 1)


def test_a_body_for_a_coprocessor_is_refused() -> None:
    with pytest.raises(BuildError, match="'VTAPushGEMMOp' is for a coprocessor"):
        build(_increment("VTAPushGEMMOp", "serial"))


def test_a_static_handle_points_to_memory_that_keeps_its_value() -> None:
    addresses, values = [], []

    @register_func("tests.static_handle", override=True)
    def count(handle: ctypes.c_void_p, array: object) -> ctypes.c_void_p:
        counter = ctypes.cast(handle, ctypes.POINTER(ctypes.c_int64))
        counter[0] += 1
        addresses.append(handle.value)
        values.append(counter[0])
        return handle

    buffer = tir.decl_buffer((4,), "int64")
    handles = [tir.call_intrin("handle", "tir.tvm_static_handle") for _ in range(2)]
    ib = tir.ir_builder.create()
    for handle in handles:
        ib.emit(tir.call_packed("tests.static_handle", handle, buffer))
    module = build(_module(buffer, ib.get()))
    for _ in range(3):
        module(np.zeros(4, "int64"))
    assert len(set(addresses)) == 2
    assert values == [1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_threads_add_to_one_element(dtype: str) -> None:
    buffer = tir.decl_buffer((1,), dtype)
    ib = tir.ir_builder.create()
    pointer = ib.buffer_ptr(buffer)
    with ib.for_range(0, 10000, "i", kind="parallel") as i:
        address = tir.call_intrin("handle", "tir.address_of", pointer[0])
        ib.emit(tir.call_intrin(dtype, "tir.atomic_add", address, i.astype(dtype)))
    total = np.zeros(1, dtype)
    build(_module(buffer, ib.get()))(total)
    assert total[0] == 10000 * 9999 // 2
