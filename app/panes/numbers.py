"""Formatting of numbers and units."""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.artifacts import NOISE, Measurement
from app.panes.sources import wording
from app.units import size

WRITTEN_OUT = 1e-6, 1e15
"""Range of numbers written without exponent."""


DIGITS = 3
"""Default number of significant digits."""


def number(value: float, digits: int = DIGITS) -> str:
    """Format a number with significant digits and no trailing zeros: ``0.31``, ``48.6``, ``1,240``."""
    if value == 0:
        return "0"
    if not WRITTEN_OUT[0] <= abs(value) < WRITTEN_OUT[1]:  # NaN too
        return f"{value:.{digits}g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{min(decimals, 6)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def signed(value: int) -> str:
    """Format a number with sign, ``+24`` or ``−6`` with a true minus sign."""
    return f"+{value:,}" if value > 0 else f"−{-value:,}" if value < 0 else "0"


def count(value: int, noun: str) -> str:
    """Format a number with a noun: ``1 line``, ``24 lines``."""
    return f"{value:,} {noun}" if value == 1 else f"{value:,} {noun}s"


def duration(seconds: float) -> str:
    """Format a time with three digits: ``842 µs``, ``12.3 ms``."""
    for limit, factor, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if seconds < limit * (1 - 5e-4):  # 1000 of a unit is 1 of the next
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def operations(value: float) -> str:
    """Format a number of operations with an SI prefix: ``265 M``."""
    for unit in ("", " k", " M"):
        if value < 1000:
            return f"{value:.3g}{unit}"
        value /= 1000
    return f"{value:.3g} G"


def graph_fact(name: str, value: float) -> str:
    """Format a statistic of a graph: ``12`` operators, ``657 KB`` of bytes read."""
    return size(value) if "bytes" in name else f"{value:,.0f}"


def listing_fact(name: str, value: float | str) -> str:
    """Format an entry of a listing's summary: ``512-bit``, ``64 FMA``, ``1 spill``."""
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
    """Format a change: ``+24 lines``, ``−1 kernel``, ``same length`` if the size is unchanged."""
    return f"{signed(value)} {noun if abs(value) == 1 else f'{noun}s'}" if value else "same length"


def percent(share: float) -> str:
    """Format a fraction as whole percent: ``94%``."""
    return f"{share:.0%}"


BUSY = "measured while the machine was busy"
"""What the heading of measurements says, of which some are marked."""
DISTURBED = "disturbed: processor time"
"""What is said of times of a thread that others kept from running."""
CROWDED = "disturbed: others used the processors too"
"""What is said of those of several threads, which only the clock tells."""


def how_measured(measurement: Measurement) -> str:
    """Format the conditions of a measurement; empty for an estimate, whose note has them."""
    if measurement.estimated:
        return ""
    disturbed = DISTURBED if measurement.threads == 1 else CROWDED
    threads = count(measurement.threads, "thread") + (f", {disturbed}" if measurement.disturbed else "")
    if measurement.repeats < 2:
        return f"single run of {count(measurement.number, 'call')}, {threads}"
    where = f" on {measurement.host}" if measurement.host else ""
    spread = measurement.spread / measurement.seconds if measurement.seconds else 0.0
    noise = ", noisy" if spread > NOISE else ""
    return f"median of {measurement.repeats}, ± {spread / 2:.1%}{noise}, {threads}{where}"


def since(measurement: Measurement, before: Sequence[Measurement]) -> str:
    """Format how a time differs from that of the same kernel or step before; empty where there was none.

    Differences within both interquartile ranges, or of less than :data:`NOISE` where others used the processors, are
    none.
    """
    same = (measurement.kind, measurement.name, measurement.step)
    earlier = next((m for m in before if (m.kind, m.name, m.step) == same and not m.estimated), None)
    if (
        measurement.kind not in ("kernel", "prefix")
        or earlier is None
        or measurement.estimated
        or not (earlier.seconds and measurement.seconds)
    ):
        return ""
    difference = abs(earlier.seconds - measurement.seconds)
    is_noise = earlier.disturbed or measurement.disturbed
    doubt = max(earlier.spread + measurement.spread, NOISE * earlier.seconds if is_noise else 0.0)
    certain = f"{number(earlier.seconds / measurement.seconds)}× as fast"
    return f"was {duration(earlier.seconds)}: {'no certain difference' if difference <= doubt else certain}"


def machine_of(measurement: Measurement) -> str:
    """Format the machine of a measurement: its name if it is one of several, and its processor."""
    return f"{measurement.host} ({measurement.cpu})" if measurement.host else measurement.cpu


EXCEEDING = 1.1
"""Ratio to the peak beyond which the measurement of the peak must have been disturbed."""


def exceeds(peak: Measurement, measurements: Sequence[Measurement]) -> bool:
    """Return whether something with no more threads was faster than a measured peak."""
    others = [other for other in measurements if other is not peak and other.threads <= peak.threads]
    return any((other.gflops or 0.0) > EXCEEDING * (peak.gflops or 0.0) for other in others)


def busy(measurements: Sequence[Measurement]) -> str:
    """Return the mark in the heading of measurements taken while others used the machine; empty for others."""
    peaks = [m for m in measurements if m.kind == "peak"]
    marked = any(m.disturbed for m in measurements) or any(exceeds(peak, measurements) for peak in peaks)
    return BUSY if marked else ""


def conditions(measurements: Sequence[Measurement]) -> list[str]:
    """Format the common conditions of measurements: threads, processor, source, whether they were checked."""
    kernels = [m for m in measurements if m.kind in ("kernel", "prefix")]
    if not kernels:
        return []
    shared = [count(kernels[-1].threads, "thread"), *sorted({machine_of(m) for m in kernels})]
    if all(m.checked == "ok" for m in kernels):
        mark = "same results as" if busy(measurements) else "✓ results of"
        shared.append(f"{mark} the unscheduled definition")
    if len({m.source for m in kernels}) == 1:
        shared.append(wording(kernels[-1].source).label)
    return [text for text in shared if text]
