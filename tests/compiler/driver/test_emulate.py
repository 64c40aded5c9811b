"""Kernels of a device, run on the CPU: what they compute, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.driver.emulate import emulate, lower_for_emulation
from compiler.ir.error import LoweringError, TargetError
from compiler.ir.module import IRModule
from compiler.target.target import Target
from compiler.tir import PrimFunc
from tests.compiler.driver.gpu_programs import KINDS, random_program, warp_program
from tests.compiler.driver.gpu_types import typed_program
from tests.compiler.tir.transform.programs import program


@pytest.mark.parametrize("first", [0, *(pytest.param(n, marks=pytest.mark.long) for n in range(25, 200, 25))])
def test_random_programs_compute_what_numpy_does(first: int) -> None:
    for seed in range(first, first + 25):
        made, kind = (random_program if seed % 5 else typed_program)(seed), KINDS[seed % len(KINDS)]
        arrays = made.arrays(seed)
        emulate(made.schedule, made.args, Target(kind, host="llvm -opt-level=1"))(*arrays)
        expected = made.reference(*arrays[:-1])
        np.testing.assert_allclose(arrays[-1], expected, rtol=1e-5, err_msg=f"seed {seed}, target {kind}")


@pytest.mark.parametrize("kind", ["cuda", "rocm"])
def test_random_programs_of_warps_compute_what_numpy_does(kind: str) -> None:
    for seed in range(12):
        made = warp_program(seed)
        arrays = made.arrays(seed)
        emulate(made.schedule, made.args, Target(kind, host="llvm -opt-level=1"))(*arrays)
        np.testing.assert_array_equal(arrays[-1], made.reference(*arrays[:-1]), err_msg=f"seed {seed}")
        source = tvm.build(made.schedule, made.args, "cuda").imported_modules[0].get_source()
        assert "__shfl_sync" in source


def _run(body: str, lanes: int = 64, kind: str = "cuda") -> tuple[Any, Any]:
    """Run a kernel of 64 threads ``tx`` on arrays ``A`` and ``C`` of integers."""
    lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
    func = program(f"with T.launch_thread('threadIdx.x', {lanes}) as tx:\n{lines}")
    a, c = np.arange(64, dtype="int32") * 7 % 23, np.full(64, -1, "int32")
    arrays = {"A": a, "C": c}
    emulate(IRModule({"main": func}), target=kind)(*_arguments(func, arrays))
    return a, c


def _arguments(func: PrimFunc, arrays: dict[str, Any]) -> list[Any]:
    return [arrays[func.buffer_map[p].name] if p in func.buffer_map else 5 for p in func.params]


def test_memory_of_a_thread_is_kept_beyond_a_barrier() -> None:
    a, c = _run(
        """
L = T.decl_buffer((2,), "int32", scope="local")
L[0] = A[tx]
L[1] = tx
T.evaluate(T.tvm_storage_sync("shared"))
C[tx] = L[0] * 100 + L[1]
"""
    )
    np.testing.assert_array_equal(c, a * 100 + np.arange(64))


def test_values_are_kept_beyond_a_barrier() -> None:
    a, c = _run(
        """
S = T.decl_buffer((64,), "int32", scope="shared")
double: T.int32 = tx * 2
read: T.int32 = A[tx]
S[tx] = read + double
T.evaluate(T.tvm_storage_sync("shared"))
C[tx] = S[63 - tx] + read + double
"""
    )
    both = a + 2 * np.arange(64)
    np.testing.assert_array_equal(c, both[::-1] + both)


def test_barriers_under_what_all_threads_agree_about() -> None:
    a, c = _run(
        """
S = T.decl_buffer((64,), "int32", scope="shared")
C[tx] = 0
for k in range(n):
    if k < 3:
        S[tx] = A[tx] + k
        T.evaluate(T.tvm_storage_sync("shared"))
        C[tx] = C[tx] + S[63 - tx]
        T.evaluate(T.tvm_storage_sync("shared"))
"""
    )
    np.testing.assert_array_equal(c, 3 * a[::-1] + 3)


@pytest.mark.parametrize(
    ("shuffle", "source"),
    [
        ("T.tvm_warp_shuffle(T.uint32(0xFFFFFFFF), A[tx], 3, 8, 32)", lambda i: i // 8 * 8 + 3),
        ("T.tvm_warp_shuffle(T.uint32(0xFFFFFFFF), A[tx], tx + 1, 32, 32)", lambda i: i // 32 * 32 + (i + 1) % 32),
        ("T.tvm_warp_shuffle_down(T.uint32(0xFFFFFFFF), A[tx], 5, 16, 32)", lambda i: i + 5 if i % 16 < 11 else i),
        ("T.tvm_warp_shuffle_up(T.uint32(0xFFFFFFFF), A[tx], 5, 16, 32)", lambda i: i - 5 if i % 16 >= 5 else i),
    ],
)
def test_shuffles(shuffle: str, source: Any) -> None:
    a, c = _run(f"C[tx] = {shuffle} + 1")
    np.testing.assert_array_equal(c, a[[source(i) for i in range(64)]] + 1)


def test_memory_of_a_warp() -> None:
    a, c = _run(
        """
W = T.decl_buffer((32,), "int32", scope="warp")
W[tx % 32] = A[tx]
C[tx] = W[31 - tx % 32]
"""
    )
    np.testing.assert_array_equal(c.reshape(2, 32), a.reshape(2, 32)[:, ::-1])


def test_adding_in_one_step() -> None:
    a, c = _run(
        "C[tx] = 0\nT.evaluate(T.tvm_storage_sync('shared'))\nT.evaluate(T.atomic_add(T.address_of(C[tx // 8]), A[tx]))"
    )
    np.testing.assert_array_equal(c[:8], a.reshape(8, 8).sum(1))


def test_a_barrier_that_not_all_threads_come_to() -> None:
    with pytest.raises(LoweringError, match="barrier under a condition that differs between threads: the branch"):
        _run("if tx < 5:\n    T.evaluate(T.tvm_storage_sync('shared'))\nC[tx] = 1")
    with pytest.raises(LoweringError, match="the loop over i depends on"):
        _run("for i in range(tx):\n    T.evaluate(T.tvm_storage_sync('shared'))\nC[tx] = 1")


def test_two_extents_for_one_axis() -> None:
    with pytest.raises(
        LoweringError, match=r"threadIdx.x with the extents 64 and 32: all loops .* must have the same extent"
    ):
        _run("with T.launch_thread('threadIdx.x', 32) as ty:\n    C[ty] = 1")


def test_extents_that_are_known_at_run_time() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="B")
    s = te.create_schedule(b.op)
    block, thread = s[b].split(b.op.axis[0], factor=32)
    s[b].bind(block, te.thread_axis("blockIdx.x"))
    s[b].bind(thread, te.thread_axis("threadIdx.x"))
    run = emulate(s, [a, b], "opencl")
    for size in (1, 31, 32, 100):
        x, y = np.random.default_rng(size).random(size, "float32"), np.zeros(size, "float32")
        run(x, y)
        np.testing.assert_allclose(y, x + 1)


def test_what_has_no_threads_is_refused() -> None:
    made = random_program(0)
    with pytest.raises(TargetError, match="launches no kernels"):
        emulate(made.schedule, made.args, "llvm")
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    with pytest.raises(LoweringError, match="did you forget to bind"):
        emulate(te.create_schedule(b.op), [a, b], "cuda")


def test_the_loops_show_blocks_and_regions() -> None:
    made = random_program(2)
    text = str(lower_for_emulation(tvm.lower(made.schedule, made.args), Target("cuda")))
    assert "T.parallel(" in text
    assert "launch_thread" not in text
    assert "tvm_storage_sync" not in text


def test_a_loop_that_is_bound_has_as_many_iterations_as_it_was_split_into() -> None:
    """All stages of a kernel launch the same threads, also where one has less to do than threads are there."""
    a = te.placeholder((6,), name="A")
    b = te.compute((6,), lambda i: a[i] + 1.0, name="B")
    c = te.compute((40,), lambda i: b[i % 6] * 2.0, name="C")
    s = te.create_schedule(c.op)
    tx = te.thread_axis((0, 16), "threadIdx.x")
    for tensor in (b, c):
        block, thread = s[tensor].split(tensor.op.axis[0], factor=16)
        s[tensor].bind(thread, tx)
    s[c].bind(block, te.thread_axis("blockIdx.x"))
    s[b].set_scope("shared")
    s[b].compute_at(s[c], block)
    x, y = np.random.default_rng(0).random(6, "float32"), np.zeros(40, "float32")
    emulate(s, [a, c], "cuda")(x, y)
    np.testing.assert_allclose(y, (x[np.arange(40) % 6] + 1) * 2, rtol=1e-6)


def test_parts_of_a_sum_in_local_memory() -> None:
    """The threads of a reduction each have a part, whatever memory the sum itself is in."""
    a = te.placeholder((12, 100), name="A")
    k = te.reduce_axis((0, 100), name="k")
    b = te.compute((12,), lambda i: te.sum(a[i, k], axis=k), name="B")
    c = te.compute((12,), lambda i: b[i] + 1.0, name="C")
    s = te.create_schedule(c.op)
    s[b].set_scope("local")
    tx = te.thread_axis((0, 64), "threadIdx.x")
    part = s.rfactor(b, s[b].split(s[b].op.reduce_axis[0], factor=64)[1])
    s[b].bind(s[b].op.reduce_axis[0], tx)
    s[part].compute_at(s[b], s[b].op.reduce_axis[0])
    block, row = s[c].split(c.op.axis[0], factor=4)
    s[c].bind(block, te.thread_axis("blockIdx.x"))
    s[c].bind(row, te.thread_axis("threadIdx.y"))
    s[b].compute_at(s[c], row)
    s[c].set_store_predicate(tx.var.equal(0))
    x, y = np.random.default_rng(0).random((12, 100), "float32"), np.zeros(12, "float32")
    emulate(s, [a, c], "cuda")(x, y)
    np.testing.assert_allclose(y, x.sum(1) + 1, rtol=1e-5)
