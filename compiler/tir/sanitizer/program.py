"""Execution of a function whose kernels are checked."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from compiler.ir.expr.primexpr import Var
from compiler.ir.expr.substitute import free_vars
from compiler.ir.origin import user_line
from compiler.tir.analysis.memory import used_buffers
from compiler.tir.analysis.thread_axes import launch_of
from compiler.tir.analysis.uniformity import is_for_warps
from compiler.tir.expressions.evaluation import Array, Value, numpy_dtype
from compiler.tir.interpreter import bind_arguments
from compiler.tir.printing.python_expression import FunctionReturn, PythonExpression
from compiler.tir.printing.python_source import PythonSource
from compiler.tir.sanitizer.reports import Fault, Report, SanitizerResult, Site
from compiler.tir.sanitizer.shadow_memory import ShadowMemory, Timeline
from compiler.tir.sanitizer.thread import LimitReached, Thread
from compiler.tir.sanitizer.thread_source import Steps, ThreadSource
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AttrStmt, Evaluate, For, Stmt
from compiler.tir.transform.calls.kernel_code import KernelCode, with_device_memory
from compiler.tir.transform.threads.emulate_shuffles import EmulateShuffles
from compiler.tir.transform.threads.emulate_tensor_cores import EmulateTensorCores


@dataclass(slots=True, eq=False)
class RunningThread:
    """A thread that runs."""

    timeline: Timeline
    steps: Steps
    barrier: Evaluate | None = None  # the one that it waits at; None once it has ended

    def advance(self) -> None:
        """Run as far as the next barrier, or to the end."""
        self.barrier = next(self.steps, None)

    def pass_barrier(self, of_warp: bool) -> None:
        """Go on behind the barrier."""
        if of_warp:
            self.timeline.warp_barriers += 1
        else:
            self.timeline.block_barriers += 1
        self.advance()

    def site(self) -> Site:
        """Return where the thread waits, or that it has ended."""
        if self.barrier is None:
            return Site("the end of the kernel", None, self.timeline.axes)
        return Site(str(self.barrier).strip().splitlines()[-1], user_line(self.barrier.span), self.timeline.axes)


def run_block(threads: Sequence[RunningThread], result: SanitizerResult) -> None:
    """Run the threads of a block to their ends, or until some wait at a barrier that others do not come to."""
    for thread in threads:
        thread.advance()
    while any(thread.barrier is not None for thread in threads):
        released = False
        for group, of_warp in ((threads, False), *((warp, True) for warp in _warps(threads))):
            if _all_wait(group, of_warp):
                for thread in group:
                    thread.pass_barrier(of_warp)
                released = True
        if not released:
            _report_divergence(threads, result)
            return


def _warps(threads: Sequence[RunningThread]) -> list[list[RunningThread]]:
    warps: dict[int, list[RunningThread]] = {}
    for thread in threads:
        warps.setdefault(thread.timeline.warp, []).append(thread)
    return list(warps.values())


def _all_wait(group: Sequence[RunningThread], of_warp: bool) -> bool:
    barrier = group[0].barrier
    if barrier is None or is_for_warps(barrier) != of_warp:
        return False
    return all(thread.barrier is barrier for thread in group)


def _report_divergence(threads: Sequence[RunningThread], result: SanitizerResult) -> None:
    """Report two threads that should wait together, and do not."""
    for group in (*_warps(threads), threads):
        waiting = next((thread for thread in group if thread.barrier is not None), None)
        other = next((thread for thread in group if waiting and thread.barrier is not waiting.barrier), None)
        if waiting is not None and other is not None:
            where = "has ended" if other.barrier is None else "waits at another one"
            message = (
                f"one thread waits at a barrier, and another one, which must come to it as well, {where}; move the "
                "barrier out of the condition that differs between them"
            )
            report = Report(Fault.DIVERGENT_BARRIER, message, (waiting.site(), other.site()))
            result.add((Fault.DIVERGENT_BARRIER, waiting.barrier, other.barrier), report)
            return


MAX_ACCESSES = 2_000_000
"""Accesses of a run; about two seconds."""


def sanitize(
    func: PrimFunc, arrays: Sequence[object], warp_size: int = 32, max_accesses: int = MAX_ACCESSES
) -> SanitizerResult:
    """Run a function thread by thread, and report what its kernels do wrong.

    Two accesses of one element by two threads race if one of them is a write and no barrier lies between them; writes
    of one and the same value do not.  Blocks are never ordered.  All threads of a block must come to the same barriers.
    Kernels run as a device would run them: barriers are not inserted here. There is an array or number for each
    parameter; arrays are changed in place.
    """
    values, memories = bind_arguments(func, arrays, "sanitize")
    source = _HostSource(values, warp_size, max_accesses)
    for buffer, _, flat in memories:
        source.add_memory(buffer.data, flat)
    run = source.function(with_device_memory(func.body))
    with np.errstate(all="ignore"), suppress(FunctionReturn):
        try:
            run()
        except LimitReached:
            source.result.complete = False
        finally:
            for _, array, flat in memories:
                array[...] = flat.reshape(array.shape)
    return source.result


class _HostSource(PythonSource):
    """The source of the host's part, which launches kernels."""

    def __init__(self, fixed: dict[Var, object], warp_size: int, max_accesses: int) -> None:
        super().__init__(fixed)
        self._warp_size = warp_size
        self._max_accesses = max_accesses
        self.result = SanitizerResult()

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        if launch_of(n) is None:
            super().visit_AttrStmt(n)
        else:
            self._launch(n)

    def visit_For(self, n: For) -> None:
        if launch_of(n) is None:
            super().visit_For(n)
        else:
            self._launch(n)

    def _launch(self, n: Stmt) -> None:
        kernel = KernelCode(n)
        extents = [axis.extent for axis in (*kernel.blocks, *kernel.threads)]
        axes = set(kernel.variables.values())
        read, written = used_buffers(kernel.code)
        layouts = [(*buffer.shape, *buffer.strides, buffer.elem_offset) for buffer in (*read, *written)]
        free = [var for var in free_vars((*extents, kernel.code, *layouts)) if var not in axes]
        pointers = [var for var in free if var in self._memory]
        scalars = [var for var in free if var not in self._memory and var.dtype != "handle"]
        launch = self._constant(_Launch(kernel, pointers, scalars, self._warp_size, self._max_accesses, self.result))
        memories = ", ".join(f"({self.memory_of(pointer)})" for pointer in pointers)
        self._line(f"{launch}.run([{memories}], [{', '.join(self.visit(var) for var in scalars)}])")


class _Launch:
    """One kernel, ready to be launched with memory and values."""

    def __init__(
        self,
        kernel: KernelCode,
        pointers: Sequence[Var],
        scalars: Sequence[Var],
        warp_size: int,
        max_accesses: int,
        result: SanitizerResult,
    ) -> None:
        self._kernel = kernel
        self._pointers, self._scalars = pointers, scalars
        self._warp_size, self._max_accesses, self._result = warp_size, max_accesses, result
        shuffles = EmulateShuffles(self._kernel.position, self._kernel.count, warp_size)
        code = shuffles.visit(EmulateTensorCores(kernel.position, kernel.count).lowered(kernel.code))
        self._exchanges = shuffles.exchanges
        axes = [*self._kernel.blocks, *self._kernel.threads]
        self._tags = [axis.tag for axis in axes]
        source = ThreadSource([*(self._kernel.variables[tag] for tag in self._tags), *scalars])
        self._program = source.generator(code)

    def run(self, memories: Sequence[tuple[Array, bytearray | None]], scalars: Sequence[Value]) -> None:
        """Run all blocks, one after the other; what several of them write is compared nevertheless."""
        values = dict(zip(self._scalars, scalars, strict=True))
        extents = {
            axis.tag: int(PythonExpression(values).value(axis.extent))
            for axis in (*self._kernel.blocks, *self._kernel.threads)
        }
        whole = {
            pointer: ShadowMemory(data, written, shared=True)
            for pointer, (data, written) in zip(self._pointers, memories, strict=True)
        }
        blocks = [range(extents[axis.tag]) for axis in self._kernel.blocks]
        threads = [range(extents[axis.tag]) for axis in reversed(self._kernel.threads)]
        for number, block in enumerate(product(*blocks)):
            shared = self._exchange(prod(map(len, threads)))
            group: list[RunningThread] = []
            for position, reverse in enumerate(product(*threads)):
                if position % self._kernel.memory_width(self._warp_size) == 0:
                    warp: dict[Var, ShadowMemory] = {}
                axes = dict(zip(self._tags, (*block, *reversed(reverse)), strict=True))
                timeline = Timeline(number, position // self._warp_size, axes)
                thread = Thread(timeline, whole, shared, warp, self._result, self._max_accesses)
                group.append(RunningThread(timeline, self._program(thread, *axes.values(), *scalars)))
            self._result.threads += len(group)
            run_block(group, self._result)

    def _exchange(self, threads: int) -> dict[Var, ShadowMemory]:
        """Return the memory that shuffles go through, for full warps; nobody waits for threads that do not exist."""
        size = -(-threads // self._warp_size) * self._warp_size
        kinds = {buffer.data: numpy_dtype(buffer.dtype) for buffer in self._exchanges}
        return {data: ShadowMemory(np.zeros(size, kind), None, shared=True) for data, kind in kinds.items()}
