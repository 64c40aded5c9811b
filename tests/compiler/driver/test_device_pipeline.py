"""The pipeline of devices: host and device functions from what ``lower`` returns."""

from __future__ import annotations

import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir
from compiler.driver.device_pipeline import SplitModule, split_for_device
from compiler.ir.error import LoweringError, TargetError
from compiler.ir.expr.substitute import post_order_visit
from compiler.target.target import Target
from compiler.tir.sanitizer import sanitize
from compiler.tir.script import from_source


def _added(factor: int = 64, bound: bool = True) -> tvm.IRModule:
    a = te.placeholder((1024,), name="A")
    b = te.compute((1024,), lambda i: a[i] + 1.0, name="B")
    s = te.create_schedule(b.op)
    block, thread = s[b].split(b.op.axis[0], factor=factor)
    if bound:
        s[b].bind(block, te.thread_axis("blockIdx.x"))
        s[b].bind(thread, te.thread_axis("threadIdx.x"))
    return tvm.lower(s, [a, b])


def _row_sums() -> tvm.IRModule:
    a = te.placeholder((4, 64), name="A")
    k = te.reduce_axis((0, 64), name="k")
    b = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    s[b].bind(b.op.axis[0], te.thread_axis("blockIdx.x"))
    s[b].bind(b.op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    return tvm.lower(s, [a, b])


def _calls(func: tir.PrimFunc, name: str) -> list[tir.Call]:
    calls: list[tir.Call] = []
    post_order_visit(
        func.body, lambda n: calls.append(n) if isinstance(n, tir.Call) and getattr(n.op, "name", "") == name else None
    )
    return calls


@pytest.mark.parametrize("kind", ["cuda", "opencl", "metal", "webgpu", "vulkan", "rocm"])
def test_kernels_are_split_from_what_launches_them(kind: str) -> None:
    split = split_for_device(_added(), Target(kind))
    assert isinstance(split, SplitModule)
    ((_, kernel),) = split.device.items()
    assert kernel.attrs["tir.kernel_launch_params"] == ["blockIdx.x", "threadIdx.x"]
    assert kernel.attrs["target"] == Target(kind)
    assert [var.name_hint for var, _ in split.device.items()] == ["main_kernel"]
    ((_, host),) = split.host.items()
    assert host.attrs["target"].kind == "llvm"
    (launch,) = _calls(host, "tir.tvm_call_packed_lowered")
    assert launch.args[0].value == "main_kernel"


def test_the_host_is_that_of_the_target() -> None:
    split = split_for_device(_added(), Target("cuda", host="c"))
    assert [str(func.attrs["target"].kind) for _, func in split.host.items()] == ["c"]


def test_reductions_use_what_the_device_has() -> None:
    ((_, shuffling),) = split_for_device(_row_sums(), Target("cuda")).device.items()
    assert _calls(shuffling, "tir.tvm_warp_shuffle_down")
    ((_, sharing),) = split_for_device(_row_sums(), Target("webgpu")).device.items()
    assert not _calls(sharing, "tir.tvm_warp_shuffle_down")
    assert len(_calls(sharing, "tir.tvm_storage_sync")) >= int(np.log2(64))


def test_instruments_see_every_pass() -> None:
    class Names(tvm.instrument.PassInstrument):
        def __init__(self) -> None:
            self.names: list[str] = []

        def run_before_pass(self, mod: tvm.IRModule, info: object) -> None:
            self.names.append(info.name)  # type: ignore[attr-defined]

    names, module = Names(), _added()
    with tvm.transform.PassContext(instruments=[names]):
        split_for_device(module, Target("cuda"))
    in_order = ["tir.ThreadSync", "tir.LowerThreadAllreduce", "tir.SplitHostDevice", "tir.MakePackedAPI"]
    assert [name for name in dict.fromkeys(names.names) if name in in_order] == in_order
    assert names.names[-1] == "tir.LowerIntrin"


def test_refusals() -> None:
    with pytest.raises(LoweringError, match="did you forget to bind its loops to thread axes"):
        split_for_device(_added(bound=False), Target("cuda"))
    with pytest.raises(TargetError, match="has no device to launch kernels on"):
        split_for_device(_added(), Target("llvm"))


def test_loops_bound_to_threads_need_no_blocks() -> None:
    doubled = from_source(
        "@T.prim_func\n"
        "def main(A: T.Buffer((256,)), B: T.Buffer((256,))):\n"
        "    for b in T.thread_binding(4, thread='blockIdx.x'):\n"
        "        for t in T.thread_binding(64, thread='threadIdx.x'):\n"
        "            B[b * 64 + t] = A[b * 64 + t] * T.float32(2)\n"
    )
    split = split_for_device(tvm.lower(doubled), Target("cuda"))
    (kernel,) = split.device.functions.values()
    a, b = np.arange(256, dtype="float32"), np.zeros(256, "float32")
    assert sanitize(doubled, [a, b]).reports == []
    np.testing.assert_array_equal(b, a * 2)
    assert {str(tag) for tag in kernel.attrs["tir.kernel_launch_params"]} == {"blockIdx.x", "threadIdx.x"}
