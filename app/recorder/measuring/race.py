"""Races an edited kernel against the original on the same inputs, in alternating rounds."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import msgspec

from app.artifacts import Measurement, Options
from app.protocol import Failed, Measured, Progress
from app.recorder.measuring.ladder import Ladder
from app.recorder.measuring.measure import Timing, compare, time_call, time_in_turns
from app.recorder.measuring.measured_program import MeasuredProgram
from compiler.ir.error import ArgumentError
from compiler.target.target import Target

__all__ = ["Race", "Speedup", "ratio_words", "speedup"]


class Race(Ladder):
    """Measures a kernel and the one that it was made from.

    Parameters
    ----------
    program, original : MeasuredProgram
        With their schedules; the results of the first are compared with those of the second.
    target : Target
        Of both, so that it is the schedules that race.
    emit : callable
        Receives the events.
    seed : int
        The seed of the random inputs.
    """

    def __init__(
        self,
        program: MeasuredProgram,
        original: MeasuredProgram,
        target: Target,
        options: Options,
        emit: Callable[[Progress | Measured | Failed], None],
        seed: int = 0,
    ) -> None:
        super().__init__(program, target, options, emit, seed)
        self._original = original

    def run_last(self, name: str) -> None:
        """Measure NumPy and the machine's peak, then both kernels alternately.

        Parameters
        ----------
        name : str
            Of the edited kernel.
        """
        self._measure([(name, None, partial(self._race, name))])

    def _race(self, name: str) -> Measurement:
        edited, original = ([(p.shape, p.dtype) for p in x.parameters] for x in (self._program, self._original))
        if edited != original or self._program.outputs != self._original.outputs:
            raise ArgumentError(f"{name} takes different arguments from the original, so the two cannot be compared")
        arrays, prepare = self._loaded(self._program.lowered())
        original_arrays, prepare_original = self._loaded(self._original.lowered())
        calls = prepare(), prepare_original()
        firsts = time_call(calls[0]), time_call(calls[1])
        expected = [original_arrays[i].view().copy() for i in self._original.outputs]
        check = compare([arrays[i].view().copy() for i in self._program.outputs], expected)
        if not check.ok:
            return self._measurement("kernel", name, None, check, None)
        timing, original_timing = time_in_turns(calls, firsts)
        self._emit(Measured(measurement=self._measurement("kernel", "original", original_timing, None, None)))
        measured = self._measurement("kernel", name, timing, check, None)
        return msgspec.structs.replace(measured, note=ratio_words(timing, original_timing))


@dataclass(frozen=True, slots=True)
class Speedup:
    """How much faster one thing is than another: quartiles of the ratios of neighbouring repeats."""

    low: float
    middle: float
    high: float


def speedup(edited: Timing, original: Timing) -> Speedup:
    """Return how much faster one call is than another.

    Parameters
    ----------
    edited, original : Timing
        Measured alternately.
    """
    ratios = [b / a for a, b in zip(edited.seconds, original.seconds, strict=True)]
    return Speedup(*statistics.quantiles(ratios, n=4, method="inclusive"))


def ratio_words(edited: Timing, original: Timing) -> str:
    """Return how much faster one kernel is than another, and how sure that is.

    Parameters
    ----------
    edited, original : Timing
        Measured alternately.

    Returns
    -------
    str
        The median of the ratios of neighbouring repeats, and their quartiles.
    """
    ratio = speedup(edited, original)
    verdict = ": no difference beyond the noise" if ratio.low <= 1 <= ratio.high else ""
    words = f"{ratio.middle:.2f}× as fast as the original ({ratio.low:.2f} to {ratio.high:.2f}"
    return f"{words} in {len(edited.seconds)} rounds){verdict}"
