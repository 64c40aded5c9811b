"""Splits lowered functions into device functions and the host functions that launch them.

====== ==========================================================================================
part   what it does
====== ==========================================================================================
mixed  checks memory, lets threads wait for each other, reduces across threads, checks barriers, splits kernels off
host   makes calls and memory of the runtime's C interface, lowers intrinsics
device gives the memory of warps to their threads, lowers intrinsics
====== ==========================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from compiler.ir.error import TargetError
from compiler.ir.module import IRModule
from compiler.ir.transform import Pass, PassContext
from compiler.target.codegen.source import LANGUAGES
from compiler.target.codegen.source.data_types import require_stored_types
from compiler.target.device_limits import device_limits
from compiler.target.target import Target
from compiler.tir.statements.function import PrimFunc
from compiler.tir.transform.calls.annotate_device_regions import AnnotateDeviceRegions
from compiler.tir.transform.calls.bind_target import AnnotateEntryFunc, BindTarget
from compiler.tir.transform.calls.combine_context_call import CombineContextCall
from compiler.tir.transform.calls.kernel_code import refuse_tensor_cores
from compiler.tir.transform.calls.lower_device_kernel_launch import DEVICE_KERNEL_LAUNCH, LowerDeviceKernelLaunch
from compiler.tir.transform.calls.lower_tvm_builtin import LowerTVMBuiltin
from compiler.tir.transform.calls.make_packed_api import MakePackedAPI
from compiler.tir.transform.calls.split_host_device import SplitHostDevice
from compiler.tir.transform.function_passes import Filter
from compiler.tir.transform.legalize.bf16_compute_legalize import BF16ComputeLegalize
from compiler.tir.transform.legalize.bf16_storage_legalize import BF16StorageLegalize
from compiler.tir.transform.legalize.fp8_legalize import FP8ComputeLegalize, FP8StorageLegalize
from compiler.tir.transform.legalize.lower_dot_products import LowerDotProducts
from compiler.tir.transform.legalize.lower_intrin import LowerIntrin
from compiler.tir.transform.memory.merge_shared_memory_allocations import MergeSharedMemoryAllocations
from compiler.tir.transform.memory.static_shared_memory import StaticSharedMemory
from compiler.tir.transform.memory.verify_memory import VerifyMemory
from compiler.tir.transform.pass_base import prim_func_pass
from compiler.tir.transform.simplify import Simplify
from compiler.tir.transform.threads.infer_fragment import InferFragment
from compiler.tir.transform.threads.inject_ptx_async_copy import USE_ASYNC_COPY, InjectPTXAsyncCopy
from compiler.tir.transform.threads.lower_async_queues import LowerAsyncQueues
from compiler.tir.transform.threads.lower_thread_allreduce import LowerThreadAllreduce
from compiler.tir.transform.threads.lower_warp_memory import LowerWarpMemory
from compiler.tir.transform.threads.thread_sync import ThreadSync
from compiler.tir.transform.threads.verify_barriers import VerifyBarriers
from compiler.tir.transform.threads.verify_gpu_code import VerifyGPUCode

_DOT_PRODUCTS = ("cuda",)
"""Kinds of targets with an instruction for dot products of four numbers of 8 bits."""
_ASYNC_COPIES = ("cuda",)
"""Kinds of targets whose languages say asynchronous copies."""
_TENSOR_CORES = ("cuda",)
"""Kinds of targets whose languages have words for tensor cores."""
_TYPED_MEMORY = ("webgpu",)
"""Kinds of targets whose languages cannot say that memory holds elements of several types."""


class SplitModule(NamedTuple):
    """A module in two parts: kernels, and functions of the host, which take packed arguments and call them.

    The launch parameters of kernels are the attribute ``tir.kernel_launch_params``; their bodies begin with the thread
    axes that they launch.
    """

    host: IRModule
    device: IRModule


def split_for_device(module: IRModule, target: Target, packed: bool = True) -> SplitModule:
    """Lower functions that launch threads, and split what runs on the device from what runs on the host.

    For example, ``B[blockIdx_x * 64 + threadIdx_x] = A[…]`` in a function ``main`` for ``cuda`` becomes a kernel
    ``main_kernel(A, B)`` in the device module, and in the host module a function ``main`` that checks its arguments
    and says ``T.call_packed("main_kernel", A, B, 16, 64)``.  If the host's functions do not take packed arguments
    (``packed``), their parameters are those of ``module``.
    """
    if "gpu" not in target.keys:
        raise TargetError(f"split_for_device: target {str(target)!r} has no device to launch kernels on")
    language = LANGUAGES.get(target.kind)
    if language is not None:
        require_stored_types(language, module)
    if target.kind not in _TENSOR_CORES:  # before the limits: no smaller tile would help
        _refuse_tensor_cores(module, target)
    whole = target if target.host is not None else target.with_host("llvm")
    assert whole.host is not None
    mixed = _run(module, mixed_passes(whole, packed))
    return SplitModule(_run(mixed, host_passes(whole.host, packed)), _run(mixed, device_passes(whole)))


def _refuse_tensor_cores(module: IRModule, target: Target) -> None:
    for func in module.functions.values():
        if isinstance(func, PrimFunc):
            refuse_tensor_cores(func.body, f"build for {target.kind}")


def synchronize(module: IRModule, target: Target) -> IRModule:
    """Let the threads of each kernel wait for each other, and lower their reductions; nothing is split yet."""
    return _run(module, thread_passes(target))


def thread_passes(target: Target) -> list[Pass]:
    """Return the passes over functions with kernels in them, which stand in terms of threads afterwards."""
    return [
        BindTarget(target),
        BF16ComputeLegalize(),
        FP8ComputeLegalize(),
        VerifyMemory(),
        AnnotateEntryFunc(),
        *([StaticSharedMemory()] if target.kind in _TYPED_MEMORY else []),
        ThreadSync("shared"),
        ThreadSync("shared.dyn"),
        MergeSharedMemoryAllocations(),
        ThreadSync("warp"),
        InferFragment(),
        LowerThreadAllreduce(),
        VerifyGPUCode(device_limits(target)),
    ]


def mixed_passes(target: Target, packed: bool = True) -> list[Pass]:
    """Return the passes over functions of host and device together."""
    return [
        *thread_passes(target),
        *_async_copies(target),
        VerifyBarriers(),
        AnnotateDeviceRegions(),
        SplitHostDevice(),
        MakePackedAPI() if packed else prim_func_pass(_bind_host, opt_level=0, name="BindHost"),
        BF16StorageLegalize(),
        FP8StorageLegalize(),
        LowerDeviceKernelLaunch(),
    ]


def _async_copies(target: Target) -> list[Pass]:
    """Return the passes that make asynchronous stages of pipelines instructions, where the context asks for it."""
    if target.kind not in _ASYNC_COPIES or not PassContext.current().config.get(USE_ASYNC_COPY):
        return []
    return [InjectPTXAsyncCopy(aligned=True), LowerAsyncQueues()]


def host_passes(host: Target, packed: bool = True) -> list[Pass]:
    """Return the passes that make the host module of the mixed one."""
    if not packed:
        return [Filter(_runs_on_host), BindTarget(host)]
    return [Filter(_runs_on_host), BindTarget(host), LowerTVMBuiltin(), LowerIntrin(), CombineContextCall()]


def device_passes(target: Target) -> list[Pass]:
    """Return the passes that make the device module of the mixed one."""
    return [
        Filter(_runs_on_device),
        BindTarget(target.without_host()),
        LowerWarpMemory(),
        LowerDotProducts(target.kind in _DOT_PRODUCTS),
        Simplify(),
        LowerIntrin(),
    ]


def _runs_on_device(func: PrimFunc) -> bool:
    return func.attrs.get("calling_conv") == DEVICE_KERNEL_LAUNCH


def _runs_on_host(func: PrimFunc) -> bool:
    return not _runs_on_device(func)


def _bind_host(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Return a function that launches kernels as one of its target's host."""
    host = func.attrs["target"].host
    return func if host is None else func.with_attr("target", host)


def _run(module: IRModule, passes: Sequence[Pass]) -> IRModule:
    for each in passes:
        module = each.run_if_enabled(module)
    return module
