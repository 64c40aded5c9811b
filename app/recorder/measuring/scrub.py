"""Measures several programs in turns: what a number of a script does to the time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from app.artifacts import Measurement, Options, Problem
from app.protocol import Failed, Measured, Progress
from app.recorder.measuring.ladder import Ladder, alone, reason_of
from app.recorder.measuring.measure import MAX_REPEATS, RUNG_SECONDS, Check, Timing, time_call, time_rounds
from app.recorder.measuring.measured_program import MeasuredProgram
from compiler.ir.structural import structural_equal
from compiler.runtime.timing.clock import Duration
from compiler.target.target import Target
from compiler.te.definition.numpy_reference import NoNumPyProgram

PREPARING_SECONDS = 60.0
"""By the clock, after which no further program is built."""
ROUNDS_SECONDS = 8.0
"""About how long all rounds take by the clock."""


class Candidate(Ladder):
    """A program that is measured in turns with others."""

    def prepare(self, others: list[Candidate]) -> tuple[Callable[[], object], Duration, Check | None]:
        """Build the program, call it once, and compare its result with that of its definition.

        Returns
        -------
        callable, Duration, Check or None
            The call, and what its first one gave.

        Parameters
        ----------
        others : list of Candidate
            Prepared before: those of the same definition share inputs and the result.
        """
        definition = self._program.definition()
        same = next((other for other in others if structural_equal(definition, other._program.definition())), None)
        if same is not None:
            self._inputs, self._expected = same._inputs, same._expected
        else:
            self._expect()
        arrays, prepare = self._loaded(self._program.lowered())
        first = time_call(call := prepare())
        return call, first, self._check([arrays[at].view().copy() for at in self._program.outputs], None)

    def _expect(self) -> None:
        try:
            self._expected, _ = self._program.reference(self._inputs)
        except NoNumPyProgram:
            self._expected = None  # then the result of the unscheduled definition is expected

    def told(self, label: str, timing: Timing | None, check: Check | None) -> Measurement:
        """Return what was measured."""
        return self._measurement("kernel", label, timing, check, None)


@dataclass(frozen=True, slots=True)
class _Ready:
    label: str
    candidate: Candidate
    call: Callable[[], object]
    first: Duration
    check: Check | None


class Scrub:
    """Programs that are measured in turns, as a number of a script is scrubbed.

    Parameters
    ----------
    emit : callable
        Receives the events; a later measurement of a name takes the place of the one before.
    """

    def __init__(self, options: Options, emit: Callable[[Progress | Measured | Failed], None]) -> None:
        self._options = options
        self._emit = emit
        self._entered: list[tuple[str, Candidate]] = []

    def add(self, label: str, program: MeasuredProgram, target: Target, seed: int) -> None:
        """Add a program; equal seeds give programs of the same arguments the same inputs."""
        self._entered.append((label, Candidate(program, target, self._options, self._emit, seed)))

    def run(self) -> None:
        """Build and check each program, then time them in rounds."""
        with alone(self._options.threads):
            ready = self._prepared()
            slow = [each for each in ready if each.first.clock > RUNG_SECONDS]
            self._tell(slow, [Timing([each.first], 1) for each in slow])  # of a slow call there is no other
            quick = [each for each in ready if each.first.clock <= RUNG_SECONDS]
            calls, firsts = [each.call for each in quick], [each.first for each in quick]
            for number, timings in enumerate(time_rounds(calls, firsts, ROUNDS_SECONDS) if quick else ()):
                last = timings
                if number == 0:  # a rough curve, until all rounds are done
                    self._tell(quick, timings)
                self._emit(Progress(done=number + 1, total=MAX_REPEATS, label="measuring all in turns"))
            if quick:
                self._tell(quick, last)

    def _prepared(self) -> list[_Ready]:
        end = time.monotonic() + PREPARING_SECONDS
        ready: list[_Ready] = []
        for number, (label, candidate) in enumerate(self._entered):
            self._emit(Progress(done=number, total=len(self._entered), label=f"measuring {label}"))
            if time.monotonic() > end:
                self._fail(label, "NotMeasured", "there was no time left for it")
                continue
            try:
                call, first, check = candidate.prepare([each.candidate for each in ready])
            except Exception as exc:  # if one fails for any reason, continue with the others
                self._fail(label, type(exc).__name__, reason_of(exc))
                continue
            if check is not None and not check.ok:
                self._emit(Measured(measurement=candidate.told(label, None, check)))
            else:
                ready.append(_Ready(label, candidate, call, first, check))
        return ready

    def _fail(self, label: str, kind: str, message: str) -> None:
        self._emit(Failed(label=label, problem=Problem(kind=kind, message=message)))

    def _tell(self, ready: list[_Ready], timings: list[Timing]) -> None:
        for each, timing in zip(ready, timings, strict=True):
            self._emit(Measured(measurement=each.candidate.told(each.label, timing, each.check)))
