"""Emulated threads in loops that LLVM can vectorize: over the threads, or over what each of them does."""

from __future__ import annotations

import re

import pytest

from compiler import te
from compiler.driver.emulate import lower_for_emulation, lowered_for_device
from compiler.ir.module import IRModule
from compiler.target.target import Target
from tests.compiler.tir.transform.programs import program

K = 512


def _product(strided: bool) -> str:
    """Return the loops of a product of matrices, whose threads are side by side in its rows or in its columns."""
    a, b = te.placeholder((64, K), name="A"), te.placeholder((K, 64), name="B")
    k = te.reduce_axis((0, K), name="k")
    c = te.compute((64, 64), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    local = s.cache_write(c, "local")
    threads, blocks = c.op.axis if strided else reversed(c.op.axis)
    s[c].reorder(blocks, threads)
    s[c].bind(blocks, te.thread_axis("blockIdx.x"))
    s[c].bind(threads, te.thread_axis("threadIdx.x"))
    s[local].compute_at(s[c], threads)
    module, target = lowered_for_device(s, [a, b, c], Target("cuda"))
    return str(lower_for_emulation(module, target))


def test_threads_that_access_neighbours_are_the_innermost_loop() -> None:
    assert re.search(r"for k, threadIdx_x in T.grid\(512, 64\):", _product(strided=False))


def test_threads_that_access_what_is_far_apart_stay_outside() -> None:
    text = _product(strided=True)
    assert not re.search(r"for k, threadIdx_x", text)
    assert re.search(r"for k in range\(512\):", text)


LOOPS = """for i in range({size}):
    L_1[i] = A[tx * {size} + i]
T.tvm_storage_sync("shared")
for i in range({size}):
    B[tx * {size} + i] = L_1[i]"""
VECTORS = """L_1[0:{size}] = A[tx * {size} : tx * {size} + {size}]
T.tvm_storage_sync("shared")
B[tx * {size} : tx * {size} + {size}] = L_1[0:{size}]"""


@pytest.mark.parametrize(
    ("code", "size", "expected"),
    [
        (LOOPS, 4, "L_1[i * 32 + threadIdx_x] = "),
        (VECTORS, 4, "L_1[threadIdx_x * 4:threadIdx_x * 4 + 4] = "),
        (LOOPS, 512, "L_1[threadIdx_x * 512 + i] = "),
    ],
)
def test_memory_of_threads(code: str, size: int, expected: str) -> None:
    """An element is beside that of the next thread, unless vectors or long loops access it."""
    params = ", ".join(f'{name}: T.Buffer(({32 * size},), "float32")' for name in "AB")
    memory = f"""tx = T.launch_thread("threadIdx.x", 32)
L = T.allocate([{size}], "float32", "local")
L_1 = T.Buffer(({size},), data=L, scope="local")
"""
    kernel = program(memory + code.format(size=size), params)
    text = str(lower_for_emulation(IRModule({"main": kernel}), Target("cuda")))
    assert expected in text, text
