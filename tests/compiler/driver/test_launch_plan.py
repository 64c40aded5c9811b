"""What a function launches, as a plan and as a call of the built function."""

from __future__ import annotations

import pytest

import compiler as tvm
from compiler import te
from compiler.driver.build import build
from compiler.driver.launch_plan import launch_plan
from compiler.ir.error import LoweringError
from compiler.target.target import Target
from tests.compiler.driver.gpu_programs import random_program

WEBGPU = Target("webgpu")
OPENCL = Target("opencl")


def _bound(s, tensor, threads):
    block, thread = s[tensor].split(tensor.op.axis[0], factor=threads)
    s[tensor].bind(block, te.thread_axis("blockIdx.x"))
    s[tensor].bind(thread, te.thread_axis("threadIdx.x"))


def two_kernels():
    """A function with memory of its own between two kernels."""
    a = te.placeholder((100,), name="A")
    b = te.compute((100,), lambda i: a[i] * 2.0, name="B")
    c = te.compute((100,), lambda i: b[99 - i] + a[i], name="C")
    s = te.create_schedule(c.op)
    _bound(s, b, 10)
    _bound(s, c, 25)
    return tvm.lower(s, [a, c])


def test_memory_and_launches_are_those_of_the_host():
    plan = launch_plan(two_kernels(), WEBGPU)
    assert [(m.dtype, m.elements, m.parameter) for m in plan.memory] == [
        ("float32", 100, 0), ("float32", 100, 1), ("float32", 100, None)
    ]  # fmt: skip
    first, second = plan.launches
    assert (first.blocks, first.threads) == ((10, 1, 1), (10, 1, 1))
    assert (second.blocks, second.threads) == ((4, 1, 1), (25, 1, 1))
    assert {2} < set(first.memory)
    assert set(second.memory) == {0, 1, 2}
    assert all(f"fn {launch.kernel}(" in plan.source for launch in plan.launches)


@pytest.mark.parametrize("seed", range(12))
def test_the_plan_is_what_a_call_launches(seed):
    program = random_program(seed)
    plan = launch_plan(tvm.lower(program.schedule, program.args), OPENCL)
    built = build(program.schedule, program.args, "opencl")
    arrays = [tvm.nd.array(array) for array in program.arrays(seed)]
    addresses = {array.view().ctypes.data: position for position, array in enumerate(arrays)}
    launched = []

    def launch(name, arguments, extents):
        memory = tuple(addresses.get(getattr(argument, "value", None), "own") for argument in arguments)
        extents = [tuple(extents.get(f"{axis}.{along}", 1) for along in "xyz") for axis in ("blockIdx", "threadIdx")]
        launched.append((name, memory, *extents))

    built.imported_modules[0].launcher = launch
    built(*arrays)
    own = {position for position, memory in enumerate(plan.memory) if memory.parameter is None}
    assert launched == [
        (each.kernel, tuple("own" if m in own else m for m in each.memory), each.blocks, each.threads)
        for each in plan.launches
    ]


def test_shared_memory_is_added_up():
    a = te.placeholder((4, 64), name="A")
    c = te.compute((4, 64), lambda i, j: a[i, j] + a[i, 63 - j], name="C")
    s = te.create_schedule(c.op)
    shared = s.cache_read(a, "shared", [c])
    thread = te.thread_axis("threadIdx.x")
    s[c].bind(c.op.axis[0], te.thread_axis("blockIdx.x"))
    s[c].bind(c.op.axis[1], thread)
    s[shared].compute_at(s[c], c.op.axis[0])
    s[shared].bind(shared.op.axis[1], thread)
    (launch,) = launch_plan(tvm.lower(s, [a, c]), WEBGPU).launches
    assert launch.shared_bytes == 64 * 4


def test_sizes_that_are_not_constant_are_refused():
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="B")
    s = te.create_schedule(b.op)
    _bound(s, b, 8)
    with pytest.raises(LoweringError, match="known only at run time"):
        launch_plan(tvm.lower(s, [a, b]), WEBGPU)


def test_a_function_of_the_host_alone_is_refused():
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    with pytest.raises(tvm.TVMError, match="bind"):
        launch_plan(tvm.lower(te.create_schedule(b.op), [a, b]), WEBGPU)
