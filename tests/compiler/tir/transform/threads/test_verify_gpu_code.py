"""Kernels that break a limit of their target are refused, with the line, the rule, and what would make them legal."""

from __future__ import annotations

import pytest

import compiler as tvm
from compiler import te
from compiler.driver.device_pipeline import split_for_device
from compiler.ir.error import LoweringError
from compiler.ir.origin import OriginTable, recording
from compiler.target.device_limits import device_limits
from compiler.target.target import Target
from compiler.tir.transform.threads.verify_gpu_code import VerifyGPUCode
from tests.compiler.tir.transform.programs import apply, program


def _copied(n: int, threads: int, lanes: int = 1) -> tvm.IRModule:
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="B")
    s = te.create_schedule(b.op)
    axis, vector = s[b].split(b.op.axis[0], factor=lanes)
    block, thread = s[b].split(axis, factor=threads)
    s[b].bind(block, te.thread_axis("blockIdx.x"))
    s[b].bind(thread, te.thread_axis("threadIdx.x"))
    s[b].vectorize(vector)
    return tvm.lower(s, [a, b])


def _staged(size: int) -> tvm.IRModule:
    a = te.placeholder((4, size), name="A")
    b = te.compute((4, size), lambda i, j: a[i, j] + 1.0, name="B")
    s = te.create_schedule(b.op)
    shared = s.cache_read(a, "shared", [b])
    _, thread = s[b].split(b.op.axis[1], factor=32)
    s[b].bind(b.op.axis[0], te.thread_axis("blockIdx.x"))
    tx = te.thread_axis("threadIdx.x")
    s[b].bind(thread, tx)
    s[shared].compute_at(s[b], b.op.axis[0])
    s[shared].bind(s[shared].split(s[shared].op.axis[1], factor=32)[1], tx)
    return tvm.lower(s, [a, b])


@pytest.mark.parametrize(("kind", "most"), [("cuda", 1024), ("webgpu", 256), ("cuda -max_threads_per_block=128", 128)])
def test_threads_of_a_block(kind: str, most: int) -> None:
    split_for_device(_copied(4096, most), Target(kind))
    with pytest.raises(
        LoweringError, match=rf"threadIdx.x has {most * 2:,} threads, and max_thread_x is {most:,}; split"
    ):
        split_for_device(_copied(4096, most * 2), Target(kind))


@pytest.mark.parametrize(
    ("kind", "most"), [("cuda", 48), ("webgpu", 16), ("metal -max_shared_memory_per_block=4096", 4)]
)
def test_shared_memory_of_a_block(kind: str, most: int) -> None:
    split_for_device(_staged(most * 256), Target(kind))
    needs = most * 1024 + 128
    with pytest.raises(
        LoweringError, match=f"a block has {needs:,} bytes of shared memory, and .* is {most * 1024:,}; stage"
    ):
        split_for_device(_staged(most * 256 + 32), Target(kind))


def test_bytes_of_a_vector() -> None:
    split_for_device(_copied(1024, 32, 4), Target("cuda"))
    split_for_device(_copied(1024, 32, 16), Target("opencl"))
    with pytest.raises(LoweringError, match="an access is 32 bytes wide, and max_vector_bytes is 16"):
        split_for_device(_copied(1024, 32, 8), Target("cuda"))


def test_the_line_of_the_schedule() -> None:
    with recording(OriginTable()):
        module = _copied(4096, 2048)
        with pytest.raises(LoweringError, match=r"has 2,048 threads \(line \d+\), and"):
            split_for_device(module, Target("cuda"))


def test_blocks_are_outside_of_threads() -> None:
    limits = device_limits(Target("cuda"))
    launches = (
        "with T.launch_thread('{0}', 8) as p:\n    with T.launch_thread('{1}', 8) as q:\n        C[p * 8 + q] = 1"
    )
    func = program(launches.format("blockIdx.x", "threadIdx.x"))
    assert apply(func, VerifyGPUCode(limits)) is func
    with pytest.raises(LoweringError, match=r"blockIdx.x is launched inside of threadIdx.x: .* reorder the axes"):
        apply(program(launches.format("threadIdx.x", "blockIdx.x")), VerifyGPUCode(limits))


def test_unbound_loops() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    with recording(OriginTable()):
        module = tvm.lower(te.create_schedule(b.op), [a, b])
        with pytest.raises(LoweringError, match="did you forget to bind its loops to thread axes"):
            split_for_device(module, Target("cuda"))
