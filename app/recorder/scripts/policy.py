"""Execution of native code while a script is recorded.

While the user types, a kernel runs for a moment at most, and a measurement is answered from the calls that fit into it.
When the user asked to run, everything runs in full and what was measured is kept with how it was taken.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from app.artifacts import MOMENTARY, Measurement
from app.protocol import Request
from app.recorder.measuring.measure import Timing
from app.recorder.recorder import Recorder
from app.recorder.scripts.allowance import Allowance
from app.recorder.scripts.environment import CPU
from app.recorder.scripts.frames import current_line
from app.recorder.scripts.script import Transcript
from app.recorder.scripts.watchdog import Watchdog
from compiler.ir import dtype as dt
from compiler.ir.instrument import Instrument, uninstrumented
from compiler.runtime.arrays.ndarray import NDArray, numpy_dtype
from compiler.runtime.graph.graph_executor import GraphExecutor
from compiler.runtime.timing.clock import stopwatch
from compiler.te.definition.flops import schedule_flops
from compiler.te.scheduling.schedule import Schedule

if TYPE_CHECKING:
    from compiler.ir.instrument.interface import Callee

MOMENT_SECONDS = 2.0
"""How long a kernel may run while the user types."""
MOMENT_PATIENCE_SECONDS = 5 * MOMENT_SECONDS
"""How long it may while it waits for a processor."""
GRAPH_SECONDS = 2.5
"""How long a model may run while the user types, its kernels compiled on the way."""
GRAPH_PATIENCE_SECONDS = 5 * GRAPH_SECONDS
"""How long it may while it waits for a processor: what it computes does not depend on who else uses the machine."""
SAMPLE_SECONDS = 0.1
"""How long a measurement goes on while the user types; one call is timed however long it takes."""
GRAPH_KERNELS = 12
"""Kernels of a model that are surely not all compiled in that time: larger ones are not begun."""


def _forget(output: NDArray) -> None:
    """Let a result that was not computed look like none: what memory happens to hold could pass for one."""
    if dt.is_float(output.dtype):
        output.copyfrom(np.full(output.shape, np.nan, numpy_dtype(output.dtype)))


class CallPolicy(Instrument):
    """Decides what happens when the script calls or measures a built function.

    Parameters
    ----------
    recorder : Recorder
        Tells which function a built module is the code of.
    before_native : callable
        Called before native code runs, with the script's line: the moment to send a snapshot.
    watchdog : Watchdog, optional
        Watches over each kernel, while the user types.
    """

    def __init__(
        self,
        request: Request,
        recorder: Recorder,
        transcript: Transcript,
        before_native: Callable[[int | None], None],
        watchdog: Watchdog | None,
    ) -> None:
        self._mode = request.mode
        self._momentary = request.mode in MOMENTARY
        self._threads = request.options.threads
        self._recorder = recorder
        self._transcript = transcript
        self._before_native = before_native
        self._timed: dict[tuple[int, str], float] = {}
        self._watchdog = watchdog
        self._graph_allowance: Allowance | None = None
        self._stopped: set[int] = set()
        self.starved = False  # whether a model was broken off that would have come to its end on an idle machine
        self.measurements: list[Measurement] = []

    def before_call(self, callee: Callee, name: str, args: Sequence[Any]) -> None:
        line = current_line()
        self._before_native(line)
        if isinstance(callee, GraphExecutor):
            small = len({name for _, name in callee.calls()}) <= GRAPH_KERNELS
            self._graph_allowance = Allowance(GRAPH_SECONDS, GRAPH_PATIENCE_SECONDS) if small else None
        elif self._watchdog is not None:
            self._watchdog.begin(line)

    def compile_lazily(self) -> bool | None:
        """While the user types, most kernels of a model are never called: their code is made when they are."""
        return True if self._momentary else None

    def stop_graph(self, executor: GraphExecutor) -> bool | None:
        """While the user types, a model runs for a moment only."""
        if not self._momentary or (self._graph_allowance is not None and self._graph_allowance.left > 0):
            return None
        self._stopped.add(id(executor))
        self.starved = self.starved or (self._graph_allowance is not None and self._graph_allowance.starved)
        self._transcript.note(f"live preview: {self._why_stopped()}; press Run")
        for index in range(executor.num_outputs):
            _forget(executor.get_output(index))
        return True

    def has_broken_off(self) -> bool:
        """Return whether a model was not run to its end."""
        return bool(self._stopped)

    def _watched(self, line: int | None) -> AbstractContextManager[None]:
        return nullcontext() if self._watchdog is None else self._watchdog.watching(line)

    def after_call(self, callee: Callee, name: str, seconds: float) -> None:
        if self._watchdog is not None:
            self._watchdog.end()
        if id(callee) not in self._stopped:
            self._timed[id(callee), name] = seconds

    def measure(self, callee: Callee, name: str, number: int, repeat: int, args: Sequence[Any]) -> list[float] | None:
        """While the user types, answer from a few timed calls; a model that does not run to its end has no time."""
        self._before_native(current_line())
        if self._mode == "run":
            return None
        graph = isinstance(callee, GraphExecutor)
        seconds = self._sample_graph(callee, name, args, repeat) if graph else self._sample(callee, name, args, repeat)
        self._transcript.note(
            f"live preview: timed {len(seconds)} {'call' if len(seconds) == 1 else 'calls'}; press Run to benchmark"
            if seconds
            else f"live preview: not timed, as {self._why_stopped()}; press Run to benchmark"
        )
        return seconds or [math.nan]

    def _why_stopped(self) -> str:
        """Return why a model was not run to its end."""
        if self._graph_allowance is None:
            return f"a model of more than {GRAPH_KERNELS} kernels is not run while you type"
        if self._graph_allowance.starved:
            return "the server is busy and the model did not come to its end"
        return f"the model runs for more than {GRAPH_SECONDS:g} s"

    def _sample(self, callee: Callee, name: str, args: Sequence[Any], repeat: int) -> list[float]:
        """Return the times of some calls of a kernel; a call that the script made before has warmed it up."""
        first = self._timed.get((id(callee), name))
        if first is None:
            first = self._timed[id(callee), name] = self._time_once(callee, name, args)
        return [first] if first >= SAMPLE_SECONDS else self._time_calls(callee, name, args, repeat)

    def _sample_graph(self, executor: Callee, name: str, args: Sequence[Any], repeat: int) -> list[float]:
        """Return the times of some runs of a model, none where it does not come to its end in time."""
        if id(executor) not in self._stopped:
            executor.get_function(name)(*args)  # this makes the code too
        return [] if id(executor) in self._stopped else self._time_calls(executor, name, args, repeat)

    def _time_calls(self, callee: Callee, name: str, args: Sequence[Any], repeat: int) -> list[float]:
        """Time calls one by one: as many as were asked for, or as fit into :data:`SAMPLE_SECONDS`."""
        until = time.perf_counter() + SAMPLE_SECONDS
        seconds = [self._time_once(callee, name, args)]
        while len(seconds) < repeat and time.perf_counter() < until:
            seconds.append(self._time_once(callee, name, args))
        return seconds

    def _time_once(self, callee: Callee, name: str, args: Sequence[Any]) -> float:
        watched = nullcontext() if isinstance(callee, GraphExecutor) else self._watched(current_line())
        with uninstrumented(), watched:
            elapsed = stopwatch()
            callee.get_function(name)(*args)
            return elapsed()

    def measured(self, callee: Callee, name: str, number: int, seconds: list[float]) -> None:
        if self._mode == "run":
            self.measurements.append(self._measurement(callee, name, Timing(seconds, number)))

    def _measurement(self, callee: Callee, name: str, timing: Timing) -> Measurement:
        function = self._recorder.function_of(callee)
        flops = schedule_flops(function.source) if function and isinstance(function.source, Schedule) else None
        return Measurement(
            name=function.name if function is not None else name,
            kind="kernel",
            seconds=timing.median,
            spread=timing.spread,
            disturbed=timing.is_disturbed,
            repeats=len(timing.seconds),
            number=timing.number,
            threads=self._threads,
            flops=flops,
            gflops=flops / timing.median / 1e9 if flops else None,
            cpu=CPU,
            target=str(function.target) if function is not None else "",
            line=function.line if function is not None else None,
        )
