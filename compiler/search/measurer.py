"""Measures candidates, each in a process of its own that may crash, hang, or compute something else.

A candidate is built in a child, which is a fork of this process: it has the definition, the inputs, the expected result
and the reference kernel, and what it does to memory ends with it.  Several are built at the same time; one at a time is
checked and then compared with the reference (:mod:`compiler.search.pairing`), while the others are stopped: they would
take memory and caches from it.  A child has limits of processor time, which the system enforces, and by the clock,
after which it is killed::

    parent                 child 1            child 2
      fork ─────────────────→ build
      fork ──────────────────────────────────────→ build
      "go" ─────────────────→ check, compare     (stopped)
           ←── Measurement ── end
           ──────────────────────────────────────→ build, on
      "go" ──────────────────────────────────────→ check, compare

Where processes cannot fork, candidates are built and run in this one, without limits.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, Protocol

import numpy as np

from compiler.ir.error import ArgumentError, TVMError, require_seconds, show
from compiler.ir.instrument import uninstrumented
from compiler.ir.module import IRModule
from compiler.runtime.arrays.ndarray import array
from compiler.runtime.machine import available_cores
from compiler.runtime.modules.module import Module
from compiler.runtime.numpy_types import NumPyArray
from compiler.runtime.parallel.threads import num_threads, set_num_threads
from compiler.search.pairing import Pairing, Patience, paired
from compiler.tir.statements.function import PrimFunc

Kernel = Callable[..., object]
"""A built function, called with arrays."""
Build = Callable[[], Kernel]

_CLOCK_PER_PROCESSOR = 8
"""How many times its processor time a child may take by the clock: others need the processors, too."""
_BUILD_OF_DEFAULT, _LEAST_BUILD = 10.0, 2.0
"""A candidate may take so many times as long to build as the default does, and so many seconds in any case."""
REFUSALS = (TVMError, ArithmeticError, LookupError, TypeError, ValueError, RuntimeError)
"""What a candidate raises that cannot be built or run."""
_FLUSHED = 1 << 27
_MAY_STOP = sys.platform == "linux"
"""Whether children can be stopped: they are, where one that stays so ends with this process."""
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Limits:
    """What a child may take.

    Attributes
    ----------
    build, run : float
        Seconds of processor time to build a candidate, less where the default takes much less, and to check and compare
        it.
    clock : float
        Seconds by the clock for each of both; several times the processor time if 0.
    """

    build: float = 15.0
    run: float = 10.0
    clock: float = 0.0

    def __post_init__(self) -> None:
        for seconds in (self.clock, self.build, self.run):
            require_seconds("search", "a limit of time", seconds)

    def by_clock(self, seconds: float) -> float:
        """Return the limit by the clock of what may take so much processor time."""
        return self.clock or _CLOCK_PER_PROCESSOR * seconds


@dataclass(frozen=True)
class Measurement:
    """What became of a candidate."""

    kind: str = "ok"
    """``ok``, or why there is no time: ``refused`` (it cannot be built), ``wrong`` (it computes something else),
    ``crashed``, ``hung``.
    """
    message: str = ""
    """What was wrong."""
    pairing: Pairing | None = None
    """The comparison with the reference."""
    seconds: float = 0.0
    """Processor time of building."""
    compared: float = 0.0
    """Processor time of checking and comparing."""
    timestamp: float = field(default_factory=time.time)
    """When it was measured, in seconds since 1970."""


def apart(calls: Sequence[Callable[[], Any]], seconds: float, parallel: int = 1) -> list[Any]:
    """Return what calls return, each in a process of its own that ``seconds`` by the clock end.

    Of one that raises, crashes or hangs, it is a measurement that says so.
    """

    def made(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Exception as raised:  # what a program defines may raise anything
            return Measurement("refused", f"{type(raised).__name__}: {raised}")

    of_all_threads = seconds * available_cores()
    limits = Limits(of_all_threads, of_all_threads, seconds)
    measurer = Measurer((), num_threads(), parallel, limits)
    return list(measurer.children([partial(made, call) for call in calls], lambda result: result))


def program_of(build: Build) -> IRModule:
    """Return the program that a call builds; raises ArgumentError unless it is a ``partial`` of one."""
    program = build.args[0] if isinstance(build, partial) and build.args else None
    if isinstance(program, PrimFunc):
        program = IRModule({"main": program})
    if not isinstance(program, IRModule):
        raise ArgumentError("search: what is built elsewhere must be a program")
    return program


class Measuring(Protocol):
    """What a search measures with: a :class:`Measurer`, or what stands for it in tests."""

    def expect(self, build: Build) -> Measurement:
        """Take the default's results as what is to be computed, and the default as the reference."""

    def measure(self, builds: Sequence[Build], patience: Patience | None = None) -> Iterator[Measurement]:
        """Measure candidates beside the reference, in their order."""

    def refer(self, build: Build) -> None:
        """Take another kernel as the reference."""


@dataclass(frozen=True)
class Place:
    """Where a kernel runs in a program, which leaves in the caches what it does."""

    before: Callable[[], object]
    """Runs the rest of the program, up to the kernel."""
    arrays: Sequence[Any]
    """The kernel's arguments there."""


@dataclass
class _Child:
    pid: int
    pipe: Connection
    deadline: float
    has_begun: bool = False
    """Whether it would end with this process: before that it may not be stopped."""
    is_built: bool = False
    is_running: bool = False
    stopped: float | None = None
    """When it was stopped while another one is compared; its limit by the clock is that much later."""

    def stop(self) -> None:
        if _MAY_STOP and self.has_begun and self.stopped is None:
            os.kill(self.pid, signal.SIGSTOP)
            self.stopped = time.monotonic()

    def go_on(self) -> None:
        if self.stopped is not None:
            os.kill(self.pid, signal.SIGCONT)
            self.deadline += time.monotonic() - self.stopped
            self.stopped = None


@dataclass
class Measurer:
    """Measures kernels on the same arrays.

    Parameters
    ----------
    arrays : sequence of array
        The arguments of the kernels; those that they write are told by what the first one changes.
    threads : int
        Threads of parallel loops. One is timed by the processor time of its thread, several by the clock.
    parallel : int
        Candidates that are built at the same time.
    is_flushing : bool
        Whether caches are flushed before each turn.
    place : Place, optional
        Where kernels are timed, a call in each turn.
    tolerance : float
        The difference from the expected result that is allowed, as a share of its size; by data type if 0.
    is_apart : bool
        Whether candidates have processes of their own, where they can; without, there are no limits, and one that
        crashes ends all.
    """

    arrays: Sequence[NumPyArray]
    threads: int = 1
    parallel: int = 1
    limits: Limits = field(default_factory=Limits)
    patience: Patience = field(default_factory=Patience)
    is_flushing: bool = False
    place: Place | None = None
    tolerance: float = 0.0
    is_apart: bool = True
    _reference: Kernel | None = field(default=None, init=False)
    _expected: list[NumPyArray] = field(default_factory=list, init=False)
    _enough: float = field(default=0.0, init=False)

    def expect(self, build: Build) -> Measurement:
        """Take the default's results as what is to be computed, and the default as the reference.

        It is run in a child, too: its measurement has no pairing, but says if it cannot be run.
        """
        (found,) = self.children([partial(self._compiled, build)], self._results)
        if isinstance(found, Measurement):
            return found
        self._expected = found
        self.refer(build)
        return Measurement()

    def refer(self, build: Build) -> None:
        """Take another kernel, one that was measured, as the reference."""
        started = time.process_time()
        with uninstrumented():
            self._reference = self._compiled(build)
        self._enough = max(self._enough, _LEAST_BUILD, _BUILD_OF_DEFAULT * (time.process_time() - started))

    def measure(self, builds: Sequence[Build], patience: Patience | None = None) -> Iterator[Measurement]:
        """Measure candidates beside the reference, in their order."""
        run = self.limits.run + (patience or self.patience).seconds
        patient = replace(self.limits, build=min(self.limits.build, self._enough), run=run)

        def compare(kernel: Kernel) -> Measurement:
            return self._compared(kernel, patience or self.patience)

        yield from self.children([partial(self._compiled, build) for build in builds], compare, patient)

    def _compiled(self, build: Build) -> Kernel:
        """Build a kernel with its machine code, which otherwise each child would make, where others wait for it."""
        kernel = build()
        _call(kernel, self.arrays)
        return kernel

    # in a child

    def _results(self, kernel: Kernel) -> list[NumPyArray]:
        copies = self._copies()
        kernel(*copies)
        return copies

    def _compared(self, kernel: Kernel, patience: Patience) -> Measurement:
        assert self._reference is not None
        copies = self._copies()
        kernel(*copies)
        if wrong := wrong_result(copies, self._expected, self.tolerance):
            return Measurement("wrong", wrong)
        reference = self._reference
        clock = time.thread_time if self.threads == 1 else time.perf_counter
        flushed = np.zeros(_FLUSHED if self.is_flushing else 0, "uint8")
        before: Callable[[], object] = partial(np.add, flushed, 1, out=flushed)
        if self.place is not None:
            copies, before, patience = list(self.place.arrays), self.place.before, replace(patience, turn=0.0)
        return Measurement(pairing=paired(_call(kernel, copies), _call(reference, copies), patience, clock, before))

    def _copies(self) -> list[NumPyArray]:
        """Return arguments that are aligned as those of programs are; two kernels are compared on the same ones."""
        return [array(values).view() for values in self.arrays]

    def _serve(
        self, build: Callable[[], Any], work: Callable[[Any], Any], pipe: Connection | None = None, run: float = 0.0
    ) -> Any:
        """Build a candidate, wait until it is its turn, and do the work, in a child within ``run`` seconds."""
        set_num_threads(self.threads)
        started = time.process_time()
        try:
            with uninstrumented():
                kernel = build()
                seconds = time.process_time() - started
                if pipe is not None:
                    pipe.send("built")
                    pipe.recv()
                    _limit_processor_time(run)
                made = work(kernel)
        except REFUSALS as error:
            return Measurement("refused", f"{type(error).__name__}: {error}")
        if not isinstance(made, Measurement):
            return made
        return replace(made, seconds=seconds, compared=time.process_time() - started - seconds)

    # in the parent

    def children(
        self, builds: Sequence[Callable[[], Any]], work: Callable[[Any], Any], limits: Limits | None = None
    ) -> Iterator[Any]:
        """Yield what came of each candidate: what the work gave, or a measurement that says why it gave nothing."""
        allowed = limits or self.limits
        if not (self.is_apart and hasattr(os, "fork")):
            yield from (self._serve(build, work) for build in builds)
            return
        waiting, running = list(enumerate(builds)), dict[int, _Child]()
        done: dict[int, Any] = {}
        told = 0
        try:
            while waiting or running:
                while waiting and len(running) < max(self.parallel, 1):
                    at, build = waiting.pop(0)
                    running[at] = self._start(build, work, allowed)
                self._let_one_run(running, allowed)
                self._listen(running, done)
                while told in done:
                    yield done.pop(told)
                    told += 1
        finally:
            for child in running.values():
                _end(child)

    def _start(self, build: Callable[[], Any], work: Callable[[Any], Any], limits: Limits) -> _Child:
        ours, theirs = Pipe()
        pid = os.fork()
        if not pid:
            try:  # whatever happens, a child ends here and does not go on with the program
                _become_child(limits)
                theirs.send("begun")
                theirs.send(self._serve(build, work, theirs, limits.run))
            finally:
                os._exit(0)
        theirs.close()
        return _Child(pid, ours, time.monotonic() + limits.by_clock(limits.build))

    def _let_one_run(self, running: dict[int, _Child], limits: Limits) -> None:
        built = [at for at, child in running.items() if child.is_built]
        building = [child for child in running.values() if not child.is_built]
        if not built:
            for child in building:
                child.go_on()
            return
        for child in building:
            child.stop()
        if not any(child.is_running for child in running.values()):
            chosen = running[min(built)]
            chosen.is_running, chosen.deadline = True, time.monotonic() + limits.by_clock(limits.run)
            chosen.pipe.send("go")

    def _listen(self, running: dict[int, _Child], done: dict[int, Any]) -> None:
        """Wait until a child says something or its time is over."""
        waited = {at: c for at, c in running.items() if c.is_running or not (c.is_built or c.stopped)}
        left = max(min(c.deadline for c in waited.values()) - time.monotonic(), 0.0)
        ready = wait([c.pipe for c in waited.values()], left)
        for at, child in waited.items():
            if child.pipe in ready:
                try:
                    said = child.pipe.recv()
                except (EOFError, ConnectionError):
                    done[at] = _died(running.pop(at))
                    continue
                if said == "begun":
                    child.has_begun = True
                elif said == "built":
                    child.is_built = True
                else:
                    done[at] = said
                    _end(running.pop(at))
            elif time.monotonic() >= child.deadline:
                done[at] = _died(running.pop(at), "run" if child.is_running else "build")


def _call(kernel: Kernel, arrays: Sequence[Any]) -> Callable[[], object]:
    """Return what calls a kernel; what Python does for its arguments, 50 us if not in caches, is done before."""
    return kernel.entry_func.prepare(tuple(arrays)) if isinstance(kernel, Module) else partial(kernel, *arrays)


def difference(made: NumPyArray, wanted: NumPyArray) -> float:
    """Return how far a result is from the expected one, as a share of its size; infinite where NaNs differ."""
    if np.array_equal(made, wanted):  # arguments that are only read: what follows takes thirty times as long
        return 0.0
    a, b = (np.asarray(x, "float64" if x.dtype.kind in "fV" else x.dtype) for x in (made, wanted))
    if b.dtype.kind != "f":
        return float("inf")
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True) or not np.isfinite(a[finite]).all():
        return float("inf")
    if not finite.any():
        return 0.0
    size = np.abs(b[finite]) + np.sqrt(np.mean(b[finite] ** 2)) + 1e-30
    return float(np.max(np.abs(a[finite] - b[finite]) / size))


def wrong_result(made: Sequence[NumPyArray], expected: Sequence[NumPyArray], tolerance: float) -> str:
    """Return what is wrong with arguments after a call; empty if nothing is.  A ``tolerance`` of 0 is by data type."""
    for at, (is_now, wanted) in enumerate(zip(made, expected, strict=True)):
        if (worst := difference(is_now, wanted)) > (tolerance or _tolerance(wanted)):
            return f"argument {at} differs from the definition's result by {worst:.3g}"
    return ""


def _tolerance(array: NumPyArray) -> float:
    """Return what rounding may change where sums are made in another order."""
    return {8: 1e-9, 4: 1e-3}.get(array.dtype.itemsize, 5e-2)


def _become_child(limits: Limits) -> None:
    """Let the system end this process when its processor time is over, and be the only one that is interrupted."""
    gc.disable()
    faulthandler.disable()  # what crashes is told by its record
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if _MAY_STOP:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _limit_processor_time(limits.build)


def _limit_processor_time(seconds: float) -> None:
    """Let the system end this process after some more seconds, without a file of its memory."""
    import resource

    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    end = math.ceil(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (end if hard == resource.RLIM_INFINITY else min(end, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _end(child: _Child) -> tuple[int, float]:
    """End a child; return its status as ``os.waitstatus_to_exitcode`` gives it, and its processor time."""
    child.pipe.close()
    os.kill(child.pid, signal.SIGKILL)  # it was not waited for, so the number is still its own
    _, status, used = os.wait4(child.pid, 0)
    return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime


def _died(child: _Child, doing: str = "") -> Measurement:
    """Return what is to be known of a child that sent no measurement, or is ``doing`` something for too long."""
    status, spent = _end(child)
    if doing or status == -signal.SIGXCPU:
        made = Measurement("hung", f"it took too long to {doing}" if doing else "it took too much processor time")
    else:
        name = signal.Signals(-status).name if status < 0 else show(status)
        made = Measurement("crashed", f"its process ended with {name}")
    return replace(made, compared=spent) if child.is_running else replace(made, seconds=spent)
