"""Reports on kernels without a GPU: warp accesses, emulation, sanitizer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from app.artifacts import Mode
from app.kernel_reports import KernelLaunch, KernelReport, MemoryAccess, WarpSteps
from app.recorder.gpus.device_code import DeviceCode
from app.recorder.gpus.kernel_checks import check_kernels
from app.recorder.units.subjects import FunctionSubject
from compiler.driver.launch_plan import shared_bytes
from compiler.ir.expr.primexpr import IntImm
from compiler.ir.instrument import uninstrumented
from compiler.ir.module import IRModule
from compiler.ir.origin import user_line
from compiler.tir.statements.function import PrimFunc
from compiler.tir.warp_access import KernelAccesses, Walkthrough, WarpAccess, explain_kernels, walk_through

MAX_ACCESSES, MAX_LAUNCHES = 60, 20


def report_kernels(function: FunctionSubject, code: DeviceCode, mode: Mode) -> KernelReport:
    """Report on the kernels of a function.

    Parameters
    ----------
    mode : str
        The mode of the request, which limits the work.
    """
    with uninstrumented():
        kernels = explain_kernels(code.kernels)[:MAX_LAUNCHES]
        flops = sum(kernel.flops for kernel in kernels)
        accesses = [(kernel, access) for kernel in kernels for access in kernel.accesses]
        shapes = _shapes(function)
        checks = check_kernels(function, code.kind, flops, mode)
    return KernelReport(
        launches=[_launch(kernel, _dynamic_bytes(code.kernels, kernel.name)) for kernel in kernels],
        accesses=[_access(kernel, access, shapes) for kernel, access in accesses[:MAX_ACCESSES]],
        emulated=checks.emulated,
        error=checks.error,
        emulation=checks.emulation,
        faults=checks.faults,
        sanitized=checks.sanitized,
        sanitizer=checks.sanitizer,
    )


def _dynamic_bytes(kernels: IRModule, name: str) -> int:
    kernel = kernels[name]
    return shared_bytes(kernel, "shared.dyn") if isinstance(kernel, PrimFunc) else 0


def _launch(kernel: KernelAccesses, dynamic_bytes: int) -> KernelLaunch:
    return KernelLaunch(
        name=kernel.name,
        blocks=kernel.blocks,
        threads=kernel.threads,
        flops=kernel.flops,
        moved=kernel.moved,
        least=kernel.least,
        matrix_types=_matrix_types(kernel),
        dynamic_bytes=dynamic_bytes,
    )


def _matrix_types(kernel: KernelAccesses) -> str:
    """Return the tensor core data types that do most of a kernel's operations; empty if other operations dominate."""
    most = max(kernel.matrix_flops, key=lambda types: kernel.matrix_flops[types], default="")
    return most if most and 2 * kernel.matrix_flops[most] > kernel.flops else ""


def _access(kernel: KernelAccesses, access: WarpAccess, shapes: Mapping[str, list[int]]) -> MemoryAccess:
    return MemoryAccess(
        kernel=kernel.name,
        buffer=access.buffer,
        scope=access.scope,
        writes=access.writes,
        size=access.size,
        pattern=access.pattern or "",
        sectors=access.sectors or 0.0,
        least_sectors=access.least_sectors or 0.0,
        ways=access.ways or 0,
        executions=access.executions,
        moved=(access.moved or 0.0) if access.scope == "global" else 0.0,
        exact=access.exact,
        shape=shapes.get(access.buffer, []) if access.scope == "global" else [],
        element=access.site.element,
        steps=None if access.addresses is None else _steps(walk_through(access.site)),
        line=user_line(access.node.span),
        origins=sorted(access.node.span),
    )


def _steps(walk: Walkthrough) -> WarpSteps:
    """Return the access patterns of warps, each once."""
    lanes = walk.addresses.reshape(-1, walk.addresses.shape[-1])
    busy = lanes >= 0
    first = np.where(busy, lanes, np.iinfo("int64").max).min(axis=1)
    first = np.where(busy.any(axis=1), first, 0)
    patterns, which = np.unique(np.where(busy, lanes - first[:, None], -1), axis=0, return_inverse=True)
    return WarpSteps(
        blocks=walk.blocks,
        iterations=walk.iterations,
        all_iterations=walk.all_iterations,
        warps=walk.addresses.shape[2],
        patterns=patterns.tolist(),
        places=list(zip(which.reshape(-1).tolist(), first.tolist(), strict=True)),
    )


def _shapes(function: FunctionSubject) -> dict[str, list[int]]:
    """Return the constant shapes of a function's arguments by name."""
    module = function.lowered.functions.values() if function.lowered is not None else ()
    buffers = [buffer for func in module if isinstance(func, PrimFunc) for buffer in func.buffer_map.values()]
    shapes = {
        buffer.name: [extent.value for extent in buffer.shape if isinstance(extent, IntImm)] for buffer in buffers
    }
    return {buffer.name: shapes[buffer.name] for buffer in buffers if len(shapes[buffer.name]) == len(buffer.shape)}
