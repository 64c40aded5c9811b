"""Measures several programs of one definition in turns, so that their times were taken under the same conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from app.artifacts import Problem
from app.protocol import Failed, Measured, Message, Progress, Request
from app.recorder.definitions import definition_of
from app.recorder.measuring.ladder import Ladder, alone
from app.recorder.measuring.measure import Check, Timing, time_call, time_in_turns
from app.recorder.measuring.program_measurement import read_recorded
from compiler.driver.build import build
from compiler.ir.error import TVMError
from compiler.runtime.arrays.ndarray import array
from compiler.runtime.device import cpu
from compiler.runtime.timing.clock import Duration
from compiler.target.target import Target

SLOWEST_SECONDS = 2.0
"""The time of a call above which a program does not take part, as all others would wait for it."""
ATTEMPTS = 3
"""How often a batch is measured on a busy machine, until nobody disturbs it."""


@dataclass(frozen=True, slots=True)
class _Runner:
    """A program that takes part: its place among the contenders, or None for NumPy."""

    place: int | None
    call: Callable[[], object]
    first: Duration
    check: Check | None = None


class Batch(Ladder):
    """Measures contenders in turns; the program is the definition that each must compute."""

    def run_contenders(self, texts: Sequence[str]) -> None:
        """Measure NumPy and all contenders, whose measurements are named after their places: ``0``, ``1``.

        Parameters
        ----------
        texts : sequence of str
            The contenders, which anybody may have written.
        """
        self._arrays = [array(a, cpu(0)) for a in self._inputs]  # of all: none has better memory than others
        with alone(self._options.threads):
            call, source = self._numpy_call()
            runners = [] if call is None else [_Runner(None, call, time_call(call))]
            for place, text in enumerate(texts):
                self._emit(Progress(done=place, total=len(texts) + 1, label="builds and checks"))
                try:
                    runners.append(self._admitted(place, text))
                except TVMError as error:
                    problem = Problem(kind=type(error).__name__, message=str(error))
                    self._emit(Failed(label=str(place), problem=problem))
            self._emit(Progress(done=len(texts), total=len(texts) + 1, label="measures all in turns"))
            for runner, timing in zip(runners, _timed(runners), strict=True):
                kind, name = ("numpy", "NumPy") if runner.place is None else ("kernel", str(runner.place))
                measured = self._measurement(kind, name, timing, runner.check, None)  # type: ignore[arg-type]
                note = source if runner.place is None else measured.note
                self._emit(
                    Measured(measurement=msgspec.structs.replace(measured, note=note, definition=self._definition))
                )

    def _admitted(self, place: int, text: str) -> _Runner:
        """Build a contender, and check it.

        Raises
        ------
        TVMError
            If it computes something else, its result is wrong, or it is too slow.
        """
        program, target, _ = read_recorded(text)
        if definition_of(program) != self._definition:
            raise TVMError("it computes something else than the problem defines")
        if not program.is_derived():
            raise TVMError("its loops do not follow from the definition by the primitives that were recorded")
        function = build(program.lowered(), target=Target(target)).get_function("main")
        arrays = self._arrays
        for output in self._program.outputs:
            arrays[output].copyfrom(self._inputs[output])  # or it finds there what another computed
        first = time_call(call := function.prepare(tuple(arrays)))
        check = self._check([arrays[i].view().copy() for i in self._program.outputs], None)
        if check is None or not check.ok:
            raise TVMError("its result is wrong" if check else "its result takes too long to check")
        if first > SLOWEST_SECONDS:
            raise TVMError(f"a call takes {first:.1f} s: those of a board take at most {SLOWEST_SECONDS:g}")
        return _Runner(place, call, first, check)


def _timed(runners: Sequence[_Runner]) -> list[Timing]:
    """Time the runners in turns, again where others use the machine; the least disturbed attempt counts."""
    best: list[Timing] = []
    for _ in range(ATTEMPTS if runners else 0):
        timings = time_in_turns([runner.call for runner in runners], [runner.first for runner in runners])
        if not best or _disturbed(timings) < _disturbed(best):
            best = timings
        if not _disturbed(best):
            break
    return best


def _disturbed(timings: Sequence[Timing]) -> int:
    return sum(timing.is_disturbed for timing in timings)


def measure_batch(request: Request, send: Callable[[Message], None]) -> None:
    """Measure the contenders of a request in turns.

    Parameters
    ----------
    request : Request
        With the definition and the contenders, which anybody may have written.
    send : callable
        Takes each message.
    """
    try:
        program, target, _ = read_recorded(request.program)
        batch = Batch(program, Target(target), request.options, send, request.seed, request.numpy)
    except TVMError as error:
        send(Failed(label="program", problem=Problem(kind=type(error).__name__, message=str(error))))
        return
    batch.run_contenders(request.contenders)
