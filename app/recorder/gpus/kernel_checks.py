"""Checks kernels without a GPU: compares emulated results, and runs the sanitizer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from app.artifacts import Mode
from app.kernel_reports import FaultSite, KernelFault, SanitizerResult
from app.recorder.scripts.failures import brief, clean
from app.recorder.units.schedules import BlockSchedule
from app.recorder.units.subjects import FunctionSubject
from compiler import te
from compiler.driver.build import build
from compiler.driver.emulate import emulate
from compiler.driver.sanitize import random_arguments, sanitize
from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import IntImm
from compiler.ir.module import IRModule
from compiler.target.target import Target
from compiler.te.definition.operation import PlaceholderOp
from compiler.te.definition.tensor import Tensor
from compiler.te.scheduling.schedule import Schedule
from compiler.tir.analysis.thread_axes import thread_axes
from compiler.tir.sanitizer import Report
from compiler.tir.statements.function import PrimFunc

FLOPS: dict[Mode, float] = {"run": 5e9}
"""The maximum number of operations of emulated programs, by mode; other modes check nothing."""
SANITIZED: dict[Mode, int] = {"compile": 5_000, "run": 100_000}
"""The maximum number of accesses that the sanitizer checks, by mode."""
TOLERANCE = 1e-3
"""The tolerance of emulated results relative to the largest value, as sums may be reordered."""

Array = np.ndarray[Any, np.dtype[Any]]
_Verdict = tuple[Literal["ok", "wrong", "unchecked"], float | None, str]


@dataclass(frozen=True, slots=True)
class KernelChecks:
    """The results of checking the kernels of a function.

    Attributes
    ----------
    emulated : str
        ``ok``, ``wrong`` or ``unchecked``.
    error : float, optional
        The largest difference.
    emulation : str
        What was compared, or why nothing was.
    faults : list of KernelFault
        The faults found by the sanitizer.
    sanitized : str
        The extent of the sanitizer's run: ``all``, ``part`` or ``nothing``.
    sanitizer : str
        What the sanitizer ran, or why it did not run.
    """

    emulated: Literal["ok", "wrong", "unchecked"]
    error: float | None
    emulation: str
    faults: list[KernelFault]
    sanitized: SanitizerResult
    sanitizer: str


def check_kernels(function: FunctionSubject, kind: str, flops: float, mode: Mode) -> KernelChecks:
    """Run the kernels of a function on the CPU, by emulation and in the sanitizer.

    Parameters
    ----------
    function : FunctionSubject
        A lowered function with thread bindings.
    kind : str
        The kind of device.
    flops : float
        The number of operations of the kernels.
    mode : str
        The mode of the request, which limits the work.
    """
    return _Checks(function, Target(kind if kind != "nvptx" else "cuda"), mode).run(flops)


class _Checks:
    """The checks of one function."""

    def __init__(self, function: FunctionSubject, target: Target, mode: Mode) -> None:
        self._function, self._target, self._mode = function, target, mode
        self._interpreted: list[Array] | None = None
        """The arguments after a complete run of the sanitizer, if there was one."""

    def run(self, flops: float) -> KernelChecks:
        if opened := self._open_sizes():
            return KernelChecks("unchecked", None, opened, [], "nothing", opened)
        faults, sanitized, sanitizer = self._sanitized()
        emulated, error, emulation = self._emulated(flops)
        return KernelChecks(emulated, error, clean(emulation), faults, sanitized, clean(sanitizer))

    def _open_sizes(self) -> str:
        """Say which sizes the function leaves open, so that there are no arrays to run it on."""
        if self._function.lowered is None:
            return ""
        func = _only_function(self._function.lowered)
        shapes = [extent for buffer in func.buffer_map.values() for extent in buffer.shape]
        names = dict.fromkeys(str(extent) for extent in shapes if not isinstance(extent, IntImm))
        return f"sizes are open ({', '.join(names)}): with numbers in their place, kernels run here" if names else ""

    def _arguments(self) -> list[Array]:
        assert self._function.lowered is not None
        return random_arguments(_only_function(self._function.lowered))

    def _sanitized(self) -> tuple[list[KernelFault], SanitizerResult, str]:
        """Run the kernels in the sanitizer, and return their faults."""
        if self._mode not in SANITIZED or self._function.lowered is None:
            return [], "nothing", ""
        try:
            arrays = self._arguments()
            limit = SANITIZED[self._mode]
            result = sanitize(self._function.lowered, target=self._target, arrays=arrays, max_accesses=limit)
        except TVMError as error:
            return [], "nothing", brief(error)
        if result.complete:
            self._interpreted = arrays
        stopped = "" if result.complete else ", then it stopped: the rest was not checked"
        summary = f"{result.accesses:,} accesses of {result.threads:,} threads checked{stopped}"
        return [_fault(report) for report in result.reports], "all" if result.complete else "part", summary

    def _emulated(self, flops: float) -> _Verdict:
        """Emulate the kernels and compare their results with the reference."""
        if self._mode not in FLOPS:
            return "unchecked", None, "Run emulates the kernels on the CPU"
        if self._function.lowered is None:
            return "unchecked", None, "it was not lowered"
        if flops > FLOPS[self._mode]:
            return "unchecked", None, "the computation is too large"
        try:
            return self._compared()
        except TVMError as error:
            return "unchecked", None, brief(error)

    def _compared(self) -> _Verdict:
        assert self._function.lowered is not None
        given, expected = self._arguments(), self._arguments()
        definition = _definition(self._function)
        if definition is not None:
            definition(*expected)
            against = "the definition without its schedule"
        elif self._interpreted is not None:
            expected = self._interpreted
            against = "the interpreter, thread by thread: there is no definition without threads"
        else:
            return (
                "unchecked",
                None,
                (
                    "there is no definition without threads, and the program is too large for the interpreter; "
                    f"it runs at most {SANITIZED[self._mode]:,} accesses"
                ),
            )
        emulated = emulate(self._function.lowered, target=self._target)
        started = time.perf_counter()
        emulated(*given)
        took = time.perf_counter() - started
        verdict, error = _judged(given, expected)
        return verdict, error, f"run on the CPU in {took:.2g} s, against {against}"


def _definition(function: FunctionSubject) -> Callable[..., object] | None:
    """Return an equivalent function without threads; None if there is only the scheduled one."""
    if isinstance(function.source, Schedule) and function.args:
        results = [arg.op for arg in function.args if isinstance(arg, Tensor) and not isinstance(arg.op, PlaceholderOp)]
        return build(te.create_schedule(results), function.args, "llvm")
    if isinstance(function.schedule, BlockSchedule) and function.primitives:
        unscheduled = function.schedule.programs[0]
        if not thread_axes(_only_function(unscheduled).body):
            return build(unscheduled, target="llvm")
    return None


def _only_function(module: IRModule) -> PrimFunc:
    return next(func for _, func in module.items() if isinstance(func, PrimFunc))


def _judged(given: Sequence[Array], expected: Sequence[Array]) -> tuple[Literal["ok", "wrong"], float]:
    """Compare each argument, relative to its largest value."""
    errors = [_difference(*pair) for pair in zip(given, expected, strict=True)]
    right = all(error <= TOLERANCE * _scale(array) for error, array in zip(errors, expected, strict=True))
    return ("ok" if right else "wrong"), max(errors, default=0.0)


def _scale(expected: Array) -> float:
    finite = np.abs(expected[np.isfinite(expected)].astype("float64"))
    return float(finite.max(initial=1.0))


def _difference(result: Array, expected: Array) -> float:
    """Return the largest difference, infinite if only one side is finite."""
    differing = ~np.isclose(result, expected, rtol=0, atol=0, equal_nan=True)
    difference = np.abs(result[differing].astype("float64") - expected[differing].astype("float64"))
    return float(np.nan_to_num(difference, nan=np.inf).max(initial=0.0))


def _fault(report: Report) -> KernelFault:
    sites = [FaultSite(text=clean(s.text.strip())[:2_000], line=s.line, thread=dict(s.thread)) for s in report.sites]
    return KernelFault(kind=report.fault.value, message=clean(report.message), sites=sites)
