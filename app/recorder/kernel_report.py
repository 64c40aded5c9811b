"""What is told of kernels without a GPU: accesses of their warps, emulation, the sanitizer's report."""

from __future__ import annotations

from app.artifacts import KernelLaunch, KernelReport, MemoryAccess, Mode
from app.recorder.device_code import DeviceCode
from app.recorder.kernel_checks import check_kernels
from app.recorder.subjects import FunctionSubject
from compiler.ir.instrument import uninstrumented
from compiler.ir.origin import user_line
from compiler.tir.warp_access import KernelAccesses, WarpAccess, explain_kernels

MAX_ACCESSES, MAX_STEPS, MAX_LAUNCHES = 60, 64, 20


def report_kernels(function: FunctionSubject, code: DeviceCode, mode: Mode) -> KernelReport:
    """Return what is known of a function's kernels.

    Parameters
    ----------
    function : FunctionSubject
    code : DeviceCode
    mode : str
        What the user asked for: while he types, only what takes a moment is done.
    """
    with uninstrumented():
        kernels = explain_kernels(code.kernels)[:MAX_LAUNCHES]
        flops = sum(kernel.flops for kernel in kernels)
        checks = check_kernels(function, code.kind, flops, mode)
    return KernelReport(
        launches=[_launch(kernel, code) for kernel in kernels],
        accesses=[_access(kernel, access) for kernel in kernels for access in kernel.accesses][:MAX_ACCESSES],
        emulated=checks.emulated,
        error=checks.error,
        emulation=checks.emulation,
        faults=checks.faults,
        sanitizer=checks.sanitizer,
    )


def _launch(kernel: KernelAccesses, code: DeviceCode) -> KernelLaunch:
    compiled = code.report.kernels if code.report is not None else []
    occupancy = next((k.occupancy for k in compiled if k.name == kernel.name and k.occupancy is not None), None)
    return KernelLaunch(
        name=kernel.name,
        blocks=kernel.blocks,
        threads=kernel.threads,
        flops=kernel.flops,
        moved=kernel.moved,
        least=kernel.least,
        resident_blocks=occupancy.blocks if occupancy is not None else 0,
    )


def _access(kernel: KernelAccesses, access: WarpAccess) -> MemoryAccess:
    steps = [] if access.addresses is None else access.addresses[:MAX_STEPS].tolist()
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
        steps=steps,
        line=user_line(access.node.span),
        origins=sorted(access.node.span),
    )
