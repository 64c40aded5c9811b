"""Tuning callbacks: write records and print progress after each batch."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from os import PathLike

from compiler.classic.autotvm.measure import MeasureInput, MeasureResult
from compiler.classic.autotvm.task.record import encode
from compiler.classic.autotvm.tuner import Tuner, flops
from compiler.ir.error import expected
from compiler.runtime.log_lines import append_lines
from compiler.runtime.timing.clock import is_disturbed

__all__ = ["Monitor", "log_to_file", "progress_bar"]

Callback = Callable[[Tuner, Sequence[MeasureInput], Sequence[MeasureResult]], None]

_PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def log_to_file(file_out: str | PathLike[str], protocol: str = "json") -> Callback:
    """Return a callback that appends records to a file, as ``json``."""

    def write(tuner: Tuner, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        append_lines(file_out, (encode(inp, res, protocol) for inp, res in zip(inputs, results, strict=True)))

    return write


def progress_bar(total: int, prefix: str = "", si_prefix: str = "G") -> Callback:
    """Return a callback that prints how far a tuner is, its best candidate's speed, and disturbed measurements.

    The unit of the speed has a prefix: none, ``k``, ``M``, ``G`` or ``T``.
    """
    if si_prefix not in _PREFIXES:
        expected("progress_bar", "si_prefix", f"one of {', '.join(map(repr, _PREFIXES))}", si_prefix)
    done = disturbed = 0

    def show(tuner: Tuner, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        nonlocal done, disturbed
        done += len(inputs)
        disturbed += sum(is_disturbed(c for c in res.costs if isinstance(c, float)) for res in results)
        words = f" | {disturbed} disturbed" if disturbed else ""
        if tuner.best_config is None:
            faults = (f" | {cost}" for res in results for cost in res.costs if isinstance(cost, Exception))
            words += next(faults, "").partition("\n")[0]
        speed = f"{tuner.best_flops / _PREFIXES[si_prefix]:7.2f} {si_prefix}FLOPS"
        sys.stdout.write(f"{prefix} Best: {speed} | Progress: ({done}/{total}){words}\n")

    return show


class Monitor:
    """A callback that notes how fast each candidate was."""

    def __init__(self) -> None:
        self.scores: list[float] = []
        self.timestamps: list[float] = []

    def __call__(self, tuner: Tuner, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        for inp, res in zip(inputs, results, strict=True):
            self.scores.append(flops((inp, res)))
            self.timestamps.append(res.timestamp)

    def reset(self) -> None:
        """Forget all of them."""
        self.scores.clear()
        self.timestamps.clear()

    def trial_scores(self) -> list[float]:
        """Return the floating-point operations a second of each candidate in order; 0 if something went wrong."""
        return self.scores

    def trial_timestamps(self) -> list[float]:
        """Return when each candidate was measured, in seconds since 1970."""
        return self.timestamps
