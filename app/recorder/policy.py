"""How native code runs while a script is being watched.

While the user types, a kernel runs at most once for a moment, and a measurement is answered from that one timed call.
When the user asked to run, everything runs in full and what was measured is kept with how it was taken.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from app.artifacts import Measurement, Mode
from app.recorder.script import Transcript, current_line
from app.recorder.watch import Watcher
from app.recorder.watchdog import Watchdog
from compiler.ir.instrument import Instrument, uninstrumented
from compiler.runtime.graph_executor import GraphExecutor

MOMENT_SECONDS = 2.0
"""How long a kernel may run while the user types."""
GRAPH_SECONDS = 2.5
"""How long a model may run while the user types, its kernels compiled on the way."""
GRAPH_KERNELS = 12
"""Kernels of a model that are surely not all compiled in that time: larger ones are not begun."""


class CallPolicy(Instrument):
    """Decides what happens when the script calls or measures a built function.

    Parameters
    ----------
    before_native : callable
        Called before native code runs, with the script's line: the moment to send a snapshot.
    watchdog : Watchdog, optional
        Watches over each kernel, while the user types.
    """

    def __init__(
        self,
        mode: Mode,
        watcher: Watcher,
        transcript: Transcript,
        describe: Callable[[Any, str, list[float], int], Measurement],
        before_native: Callable[[int | None], None],
        watchdog: Watchdog | None,
    ) -> None:
        self._mode = mode
        self._watcher = watcher
        self._transcript = transcript
        self._describe = describe
        self._before_native = before_native
        self._timed: dict[tuple[int, str], float] = {}
        self._watchdog = watchdog
        self._graph_until = 0.0
        self._left: set[int] = set()
        self.measurements: list[Measurement] = []

    def before_call(self, built: Any, name: str, args: Any) -> None:
        line = current_line()
        self._before_native(line)
        if isinstance(built, GraphExecutor):
            small = len({name for _, name in built.calls()}) <= GRAPH_KERNELS
            self._graph_until = time.perf_counter() + (GRAPH_SECONDS if small else 0.0)
        elif self._watchdog is not None:
            self._watchdog.begin(line)

    def compile_lazily(self) -> bool | None:
        """While the user types, most kernels of a model are never called: their code is made when they are."""
        return True if self._mode == "compile" else None

    def stop_graph(self, executor: Any) -> bool | None:
        if self._mode != "compile" or time.perf_counter() < self._graph_until:
            return None
        self._left.add(id(executor))
        self._transcript.note("while you type, a model does not run to its end; Run runs all of it")
        return True

    def _watched(self, line: int | None) -> AbstractContextManager[None]:
        return nullcontext() if self._watchdog is None else self._watchdog.watching(line)

    def after_call(self, built: Any, name: str, seconds: float) -> None:
        if self._watchdog is not None:
            self._watchdog.end()
        if id(built) not in self._left:
            self._timed[id(built), name] = seconds

    def measure(self, built: Any, name: str, number: int, repeat: int, args: Any) -> list[float] | None:
        if self._mode == "run":
            self._before_native(current_line())
            return None
        seconds = self._timed.get((id(built), name))
        if seconds is None:
            line = current_line()
            self._before_native(line)
            if isinstance(built, GraphExecutor):
                seconds = self._time_graph(built, name, args)
            else:
                with uninstrumented(), self._watched(line):
                    started = time.perf_counter()
                    built.get_function(name)(*args)
                    seconds = time.perf_counter() - started
            self._timed[id(built), name] = seconds
        self._transcript.note(
            "while you type, a model that does not run to its end has no time; Run measures it"
            if math.isnan(seconds)
            else "while you type, a measurement is answered from one call of the kernel; Run measures in full"
        )
        return [seconds] * repeat

    def _time_graph(self, executor: GraphExecutor, name: str, args: Any) -> float:
        """Return the time of one run of a model, not a number where it does not come to its end."""
        if id(executor) not in self._left:
            executor.get_function(name)(*args)  # what this takes includes making the code
        if id(executor) in self._left:
            return math.nan
        started = time.perf_counter()
        executor.get_function(name)(*args)
        return time.perf_counter() - started

    def measured(self, built: Any, name: str, number: int, seconds: list[float]) -> None:
        if self._mode == "run":
            self.measurements.append(self._describe(built, name, seconds, number))
