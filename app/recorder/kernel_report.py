"""What is told of kernels without a GPU: accesses of their warps, emulation, the sanitizer's report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from app.artifacts import FaultSite, KernelFault, KernelLaunch, KernelReport, MemoryAccess, Mode
from app.recorder.device_code import DeviceCode
from app.recorder.failures import brief, clean
from app.recorder.subjects import FunctionSubject
from compiler import te
from compiler.driver.build import build
from compiler.driver.emulate import emulate
from compiler.driver.sanitize import random_arguments, sanitize
from compiler.ir.error import TVMError
from compiler.ir.instrument import uninstrumented
from compiler.ir.origin import user_line
from compiler.target.target import Target
from compiler.te.operation import PlaceholderOp
from compiler.te.schedule import Schedule
from compiler.te.tensor import Tensor
from compiler.tir.function import PrimFunc
from compiler.tir.sanitizer import Report
from compiler.tir.warp_access import KernelAccesses, WarpAccess, explain_kernels

MAX_ACCESSES, MAX_STEPS, MAX_LAUNCHES = 60, 64, 20
FLOPS: dict[Mode, float] = {"run": 5e9}
"""Operations of a program that is emulated; a mode that is not here checks nothing."""
SANITIZED: dict[Mode, int] = {"compile": 5_000, "run": 100_000}
"""Accesses that the sanitizer checks."""
TOLERANCE = 1e-3
"""Of the largest value, as far as the emulated result may be away: sums may be added in another order."""


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
        emulated, error, emulation = _emulated(function, code, flops, mode)
        faults, sanitizer = _sanitized(function, code, mode)
    return KernelReport(
        launches=[_launch(kernel, code) for kernel in kernels],
        accesses=[_access(kernel, access) for kernel in kernels for access in kernel.accesses][:MAX_ACCESSES],
        emulated=emulated,
        error=error,
        emulation=clean(emulation),
        faults=faults,
        sanitizer=clean(sanitizer),
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


# emulation

_Verdict = tuple[Literal["ok", "wrong", "unchecked"], float | None, str]
Array = np.ndarray[Any, np.dtype[Any]]


def _emulated(function: FunctionSubject, code: DeviceCode, flops: float, mode: Mode) -> _Verdict:
    """Run the kernels on the CPU, and the definition without its schedule; compare what they write."""
    if mode not in FLOPS:
        return "unchecked", None, "Run emulates the kernels on the CPU"
    if not isinstance(function.source, Schedule) or not function.args or function.lowered is None:
        return "unchecked", None, "only schedules of tensor expressions have a definition to compare with"
    if flops > FLOPS[mode]:
        return "unchecked", None, "the computation is too large"
    try:
        return _compared(function, code)
    except TVMError as error:
        return "unchecked", None, brief(error)


def _compared(function: FunctionSubject, code: DeviceCode) -> _Verdict:
    assert function.lowered is not None
    args: Sequence[Any] = function.args or ()
    func = next(func for _, func in function.lowered.items() if isinstance(func, PrimFunc))
    given = random_arguments(func)
    expected = [array.copy() for array in given]
    outputs = [i for i, arg in enumerate(args) if isinstance(arg, Tensor) and not isinstance(arg.op, PlaceholderOp)]
    definition = te.create_schedule([args[i].op for i in outputs])
    build(definition, args, "llvm")(*expected)
    started = time.perf_counter()
    emulate(function.lowered, target=Target(code.kind if code.kind != "nvptx" else "cuda"))(*given)
    took = time.perf_counter() - started
    largest = max((float(np.abs(expected[i].astype("float64")).max(initial=0.0)) for i in outputs), default=0.0)
    error = max((_difference(given[i], expected[i]) for i in outputs), default=0.0)
    verdict: Literal["ok", "wrong"] = "ok" if error <= TOLERANCE * max(largest, 1.0) else "wrong"
    return verdict, error, f"run on the CPU in {took:.2g} s, against the definition without its schedule"


def _difference(result: Array, expected: Array) -> float:
    return float(np.abs(result.astype("float64") - expected.astype("float64")).max(initial=0.0))


# sanitizer


def _sanitized(function: FunctionSubject, code: DeviceCode, mode: Mode) -> tuple[list[KernelFault], str]:
    """Run the threads of the kernels one by one, and return their faults."""
    if mode not in SANITIZED or function.lowered is None:
        return [], ""
    try:
        target = Target(code.kind if code.kind != "nvptx" else "cuda")
        result = sanitize(function.lowered, target=target, max_accesses=SANITIZED[mode])
    except TVMError as error:
        return [], brief(error)
    limit = "" if result.complete else ", then it stopped: the rest was not checked"
    said = f"{result.accesses:,} accesses of {result.threads:,} threads checked{limit}"
    return [_fault(report) for report in result.reports], said


def _fault(report: Report) -> KernelFault:
    sites = [FaultSite(text=clean(s.text.strip())[:2_000], line=s.line, thread=dict(s.thread)) for s in report.sites]
    return KernelFault(kind=report.fault.value, message=clean(report.message), sites=sites)
