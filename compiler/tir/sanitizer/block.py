"""Execution of a thread block from barrier to barrier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.ir.expr.primexpr import Call, StringImm
from compiler.ir.origin import user_line
from compiler.tir.sanitizer.reports import Fault, Report, SanitizerResult, Site
from compiler.tir.sanitizer.shadow_memory import Timeline
from compiler.tir.sanitizer.thread_source import Steps
from compiler.tir.statements.stmt import Evaluate


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
    """Return whether all threads of a block or warp wait at one barrier for it."""
    barrier = group[0].barrier
    if barrier is None or _is_for_warps(barrier) != of_warp:
        return False
    return all(thread.barrier is barrier for thread in group)


def _is_for_warps(barrier: Evaluate) -> bool:
    scope = barrier.value.args[0] if isinstance(barrier.value, Call) else None
    return isinstance(scope, StringImm) and scope.value == "warp"


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
