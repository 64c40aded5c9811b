"""Measured cycles per iteration of the hot loop, next to those of LLVM's model."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from app.panes.numbers import number

MAX_VALUE = 1e18
_ARITHMETIC = re.compile(r"\s+v?(?:(?P<fused>fn?m(?:add|sub)\d+)|add|sub|mul|div)(?P<kind>[ps])(?P<type>[sd])\s")
_REGISTER_BITS = {"z": 512, "y": 256, "x": 128}
_BITS = {"s": 32, "d": 64}
NEAR = 1.15
"""Ratio between measured and predicted cycles up to which they agree."""


class MeasuredCall(msgspec.Struct, frozen=True):
    """A single-threaded call of a function, with the measurement sent by the page."""

    seconds: float
    frequency: float
    """Clock frequency in cycles per second."""
    flops: float

    @classmethod
    def read(cls, values: Mapping[str, str]) -> MeasuredCall | None:
        """Read a measured call from a request; None if it is missing or implausible."""
        try:
            call = cls(*(float(values.get(name, "")) for name in ("seconds", "frequency", "flops")))
        except ValueError:
            return None
        sound = all(math.isfinite(v) and 0 < v < MAX_VALUE for v in (call.seconds, call.frequency, call.flops))
        return call if sound else None


@dataclass(frozen=True)
class MeasuredLoop:
    """The measured cycles of a loop iteration."""

    cycles: float
    frequency: float
    model: float
    """Cycles according to the model."""

    @property
    def words(self) -> str:
        """Description of the cycles, in comparison with the model."""
        text = (
            f"Measured: {number(self.cycles)} cycles an iteration at {number(self.frequency / 1e9)} GHz, measured too"
        )
        ratio = self.cycles / self.model
        if ratio > NEAR:
            return (
                f"{text}: {number(ratio)}× those of the model. The rest is what it leaves out: waiting for memory, and "
                "the function’s other loops."
            )
        if ratio < 1 / NEAR:
            return f"{text}: {number(ratio)}× those of the model, which knows this processor only roughly."
        return f"{text}: {number(ratio)}× those of the model. The loop runs as fast as its instructions allow."


def measured_loop(call: MeasuredCall, lines: Iterable[str], model: float) -> MeasuredLoop | None:
    """Return the cycles per iteration, assuming that the loop does all floating-point operations of a call.

    Parameters
    ----------
    lines : iterable of str
        The instructions of an iteration.
    model : float
        Cycles per iteration according to the model.

    Returns
    -------
    MeasuredLoop or None
        None if the loop has no known floating-point operations.
    """
    flops = loop_flops(lines)
    if not flops:
        return None
    iterations = call.flops / flops
    return MeasuredLoop(call.seconds * call.frequency / iterations, call.frequency, model)


def loop_flops(lines: Iterable[str]) -> int:
    """Return the number of floating-point operations of x86 instructions; a fused multiply-add counts as two."""
    return sum(_flops(line) for line in lines)


def _flops(line: str) -> int:
    match = _ARITHMETIC.match(line)
    if match is None:
        return 0
    widths = [bits for letter, bits in _REGISTER_BITS.items() if f"%{letter}mm" in line]
    lanes = 1 if match["kind"] == "s" else max(widths, default=128) // _BITS[match["type"]]
    return lanes * (2 if match["fused"] else 1)
