"""Shared memory of a kernel is one allocation; what is alive at one time has places of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate
from compiler.tir.transform import MergeSharedMemoryAllocations
from tests.compiler.tir.transform.programs import apply, nodes, program
from tests.compiler.tir.transform.thread_runs import run_threads

PARAMS = "A: T.Buffer((32,), 'int32'), B: T.Buffer((32,), 'int32')"


def kernel(*allocations: str, body: str) -> PrimFunc:
    """Return a kernel of 32 threads ``tx`` with shared buffers, each given as ``name dtype size scope``."""
    text = 'with T.launch_thread("threadIdx.x", 32) as tx:\n'
    for name, dtype, size, scope in (each.split() for each in allocations):
        text += f'    {name}_data = T.allocate([{size}], "{dtype}", "{scope}")\n'
        text += f'    {name} = T.decl_buffer(({size},), "{dtype}", data={name}_data, scope="{scope}")\n'
    return program(text + "".join(f"    {line}\n" for line in body.splitlines()), params=PARAMS)


def merged(func: PrimFunc, **config: Any) -> PrimFunc:
    return apply(func, MergeSharedMemoryAllocations(), config={f"tir.{key}": value for key, value in config.items()})


def sizes(func: PrimFunc) -> list[int]:
    return [int(n.extents[0]) for n in nodes(func, Allocate)]


CHAIN = """
a[tx] = A[tx]
T.tvm_storage_sync("shared.dyn")
b[tx] = a[31 - tx]
T.tvm_storage_sync("shared.dyn")
c[tx] = b[31 - tx] + 1
T.tvm_storage_sync("shared.dyn")
B[tx] = c[31 - tx]
""".strip()


def test_buffers_that_are_not_alive_together_share_their_places() -> None:
    func = merged(kernel("a int32 32 shared.dyn", "b int32 32 shared.dyn", "c int32 32 shared.dyn", body=CHAIN))
    data, out = np.arange(32, dtype="int32"), np.zeros(32, "int32")
    run_threads(func, [data, out])
    np.testing.assert_array_equal(out, data[::-1] + 1)
    assert sizes(func) == [2 * 32 * 4]
    (allocation,) = nodes(func, Allocate)
    assert allocation.dtype == "uint8"
    assert allocation.buffer_var.type_annotation.storage_scope == "shared.dyn"


def test_each_element_lies_at_a_multiple_of_its_size() -> None:
    last = "B[tx] = b[tx] + T.Cast('int32', a[tx]) + T.Cast('int32', c[tx])"
    body = f"a[tx] = T.int8(1)\nb[tx] = A[tx]\nc[tx] = T.int64(2)\n{last}"
    func = merged(kernel("a int8 33 shared.dyn", "b int32 32 shared.dyn", "c int64 32 shared.dyn", body=body))
    assert sizes(func) == [48 + 32 * 4 + 32 * 8]
    assert "b[tx + 12]" in str(func)
    assert "c[tx + 22]" in str(func)


def test_parts_of_different_types_do_not_overlap() -> None:
    body = "a[tx] = T.int8(1)\nb[tx] = A[tx]\nB[tx] = b[tx] + T.Cast('int32', a[tx])"
    func = merged(kernel("a int8 32 shared.dyn", "b int32 32 shared.dyn", body=body))
    data, out = np.arange(32, dtype="int32"), np.zeros(32, "int32")
    run_threads(func, [data, out])
    np.testing.assert_array_equal(out, data + 1)


def test_sizes_that_are_not_constant_follow_the_others() -> None:
    func = program(
        """
        with T.launch_thread("threadIdx.x", 32) as tx:
            a = T.allocate([n], "int8", "shared.dyn")
            b = T.allocate([16], "int8", "shared.dyn")
            c = T.allocate([n], "int32", "shared.dyn")
            a_1 = T.decl_buffer((n,), "int8", data=a, scope="shared.dyn")
            c_1 = T.decl_buffer((n,), "int32", data=c, scope="shared.dyn")
            a_1[tx] = T.int8(0)
            c_1[tx] = tx
        """
    )
    text = str(merged(func))
    assert "a_1[tx + 16]" in text
    assert "c_1[tx + (n + 19) // 4]" in text


def test_static_memory_is_merged_if_asked_for() -> None:
    func = kernel("a int32 32 shared", "b int32 32 shared", body="a[tx] = A[tx]\nb[tx] = a[tx]\nB[tx] = b[tx]")
    assert merged(func) is func
    assert sizes(merged(func, merge_static_smem=True)) == [2 * 32 * 4]


def test_a_single_allocation_stays() -> None:
    func = kernel("a int32 32 shared.dyn", body="a[tx] = A[tx]\nB[tx] = a[tx]")
    assert merged(func) is func


def test_small_parts_come_first_and_then_those_that_are_free_first() -> None:
    body = "a[tx] = A[tx]\nb[tx] = A[tx]\nc[tx] = A[tx]\nB[tx] = b[tx] + a[tx] + c[tx]"
    text = str(merged(kernel("a int32 64 shared.dyn", "b int32 64 shared.dyn", "c int32 32 shared.dyn", body=body)))
    assert "B[tx] = b[tx + 32] + a[tx + 96] + c[tx]" in text


def test_pointers_lead_to_the_places_of_their_memory() -> None:
    body = """
T.ptx_cp_async("int32", b_data, tx * 4, A.data, tx * 4, 16)
T.evaluate(T.call_extern("int32", "use", b_data))
B[tx] = a[tx] + b[tx]
""".strip()
    text = str(merged(kernel("a int32 32 shared.dyn", "b int32 128 shared.dyn", body=body)))
    assert 'T.ptx_cp_async("int32", buf_dyn_shmem, (tx * 4 + 32) * 4, A.data, tx * 4, 16)' in text
    assert 'T.tvm_access_ptr(T.type_annotation("int32"), buf_dyn_shmem, 32, 128, 3)' in text
