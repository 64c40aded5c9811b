"""Formatting of numbers and units."""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.artifacts import NOISE, Measurement
from app.panes.sources import wording
from app.units import size

WRITTEN_OUT = 1e-6, 1e15
"""Sizes of numbers that are written without an exponent."""


DIGITS = 3
"""Significant digits of a number."""


def number(value: float, digits: int = DIGITS) -> str:
    """Return a number with some significant digits and no needless zeros: ``0.31``, ``48.6``, ``1,240``."""
    if value == 0:
        return "0"
    if not WRITTEN_OUT[0] <= abs(value) < WRITTEN_OUT[1]:  # NaN too
        return f"{value:.{digits}g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{min(decimals, 6)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def signed(value: int) -> str:
    """Return ``+24`` or, with a true minus sign, ``−6``."""
    return f"+{value:,}" if value > 0 else f"−{-value:,}" if value < 0 else "0"


def count(value: int, noun: str) -> str:
    """Return a number with its noun: ``1 line``, ``24 lines``."""
    return f"{value:,} {noun}" if value == 1 else f"{value:,} {noun}s"


def duration(seconds: float) -> str:
    """Return a time with three digits and the unit that fits: ``842 µs``, ``12.3 ms``."""
    for limit, factor, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if seconds < limit * (1 - 5e-4):  # what would be written as 1000 of a unit is 1 of the next
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def operations(value: float) -> str:
    """Return a number of operations in thousands, millions or billions: ``265 M``."""
    for unit in ("", " k", " M"):
        if value < 1000:
            return f"{value:.3g}{unit}"
        value /= 1000
    return f"{value:.3g} G"


def graph_fact(name: str, value: float) -> str:
    """Return a fact about a graph: ``12`` operators, ``657 KB`` of bytes read."""
    return size(value) if name.startswith("bytes") else f"{value:,.0f}"


def listing_fact(name: str, value: float | str) -> str:
    """Return an entry of a listing's summary: ``512-bit``, ``64 FMA``, ``1 spill``."""
    if isinstance(value, str):
        return value
    if name.endswith(" bits"):
        return f"{value:g}-bit" if value else "scalar"
    if name == "fma":
        return f"{value:,} FMA"
    if value == 1 and name.endswith("s"):
        name = _SINGULARS.get(name, name[:-1])
    return f"{value:,g} {name}" if isinstance(value, float) else f"{value:,} {name}"


_SINGULARS = {"branches": "branch"}


def change(value: int, noun: str) -> str:
    """Return what changed by how much: ``+24 lines``, ``−1 kernel``, ``same length`` where the size is as before."""
    return f"{signed(value)} {noun if abs(value) == 1 else f'{noun}s'}" if value else "same length"


def percent(share: float) -> str:
    """Return a share as whole percent: ``94%``."""
    return f"{share:.0%}"


def how_measured(measurement: Measurement) -> str:
    """Return the conditions of a measurement in a line; nothing of an estimate, whose note says how it was made."""
    if measurement.estimated:
        return ""
    threads = count(measurement.threads, "thread")
    if measurement.repeats < 2:
        return f"single run of {count(measurement.number, 'call')}, {threads}"
    where = f" on {measurement.host}" if measurement.host else ""
    spread = measurement.spread / measurement.seconds if measurement.seconds else 0.0
    noise = ", noisy" if spread > NOISE else ""
    return f"median of {measurement.repeats}, ± {spread / 2:.1%}{noise}, {threads}{where}"


def machine_of(measurement: Measurement) -> str:
    """Return which machine measured: its name, where it is one of several, and its processor."""
    return f"{measurement.host} ({measurement.cpu})" if measurement.host else measurement.cpu


def conditions(measurements: Sequence[Measurement]) -> list[str]:
    """Return what a benchmark's measurements have in common: threads, processor, source, that they were checked."""
    kernels = [m for m in measurements if m.kind in ("kernel", "prefix")]
    if not kernels:
        return []
    shared = [count(kernels[-1].threads, "thread"), *sorted({machine_of(m) for m in kernels})]
    if all(m.checked == "ok" for m in kernels):
        shared.append("✓ results of the unscheduled definition")
    if len({m.source for m in kernels}) == 1:
        shared.append(wording(kernels[-1].source).label)
    return [text for text in shared if text]
