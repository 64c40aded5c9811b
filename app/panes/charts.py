"""Geometry of the benchmark chart: bars of kernels, NumPy and the machine's peak as lines.

All coordinates are computed here, and tested; the template only prints the SVG.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from app.artifacts import Measurement
from app.panes.numbers import DIGITS, exceeds, number
from app.panes.sources import sources, wording

MIN_PITCH, MAX_PITCH = 34, 92
"""Limits of the distance between the centres of two bars, which depends on the width of the chart."""
UPRIGHT_PITCH = 62
"""Minimum pitch for horizontal labels; below it they are slanted, without the speedup."""
SLANTED_BOTTOM = 62
SLANTED_LETTERS = 13
NARROW_DIGITS = 2
"""Significant digits of the values above bars with slanted labels; three would overlap."""
BAR_SHARE = 0.52
"""Width of a bar relative to the pitch."""
LETTER = 6.4
"""Letter width of labels."""
LEFT, RIGHT, TOP, BOTTOM = 48, 116, 34, 36
"""Margins of the plot; at the top there is space for the unit and the value of the tallest bar."""
PLOT_HEIGHT = 128
ROOM = 760
"""Default width of a chart."""
VALUE_ABOVE, VALUE_HEIGHT, LINE_GAP = 5, 10, 3
"""From a bar up to the base line of its value, the height of that value's letters, and what is free around a line."""
LABEL_DISTANCE = 13
"""Minimum distance between the base lines of two rule labels."""
LOG_RATIO = 30.0
"""Ratio of the tallest to the shortest bar from which the scale is logarithmic."""
MIN_LOG_HEIGHT = 0.05
"""Height of the shortest bar on a logarithmic scale, relative to the plot."""
MIN_RATE, MAX_RATE = 1e-12, 1e15
"""Plausible range of rates in either unit; scripts may claim any, and others are not drawn."""


Scale = Literal["auto", "linear", "log"]
GhostKind = Literal["reference", "predicted", "single"]
"""Kind of comparison beside a bar: an earlier ladder, a prediction, or the same on one thread."""
MAX_FACTOR = 2.0
"""Ratio between prediction and measurement from which the prediction counts as wrong."""


@dataclass(frozen=True)
class Bar:
    """A measured kernel."""

    x: float
    y: float
    width: float
    height: float
    label: str
    value: str
    value_y: float
    """Base line of the value."""
    factor: str
    title: str
    slanted: bool = False
    current: bool = False
    wrong: bool = False
    reported: bool = False
    """Whether the time was reported by the script."""
    estimated: bool = False
    """Whether the time is an estimate."""
    step: int | None = None
    """Number of primitives of the prefix that it opens."""

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


@dataclass(frozen=True)
class Ghost:
    """A comparison beside a bar."""

    kind: GhostKind
    x: float
    y: float
    width: float
    height: float
    title: str


@dataclass(frozen=True)
class BarComparisons:
    """The comparisons for the bars of a ladder.

    Attributes
    ----------
    reference : sequence of Measurement
        An earlier ladder.
    predictions : mapping of int to float
        Predicted speedups over the first step, by step.
    """

    reference: Sequence[Measurement] = ()
    predictions: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Rule:
    """A horizontal line across the chart: NumPy or the peak."""

    kind: str
    y: float
    label_y: float
    label: str


@dataclass(frozen=True)
class Tick:
    """A tick of the scale."""

    y: float
    label: str


@dataclass(frozen=True)
class Chart:
    """A bar chart, in the coordinates of the SVG."""

    width: int
    height: int
    left: int
    right: int
    base: float
    unit: str
    summary: str
    logarithmic: bool = False
    bars: list[Bar] = field(default_factory=list)
    ghosts: list[Ghost] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    ticks: list[Tick] = field(default_factory=list)


@dataclass(frozen=True)
class _Axis:
    """The vertical axis, from ``low`` at the base to ``top``."""

    low: float
    top: float

    @property
    def logarithmic(self) -> bool:
        return self.low > 0

    def height_of(self, value: float) -> float:
        """Return the height of a value in user units."""
        share = math.log(value / self.low) / math.log(self.top / self.low) if self.logarithmic else value / self.top
        return round(PLOT_HEIGHT * max(0.0, share), 2)

    def ticks(self) -> list[float]:
        """Return the values of the ticks; on a logarithmic axis every, every second or every third power of ten."""
        if not self.logarithmic:
            return _ticks(self.top)
        first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.top))
        return [10.0**power for power in range(first, last + 1, 1 + (last - first) // 6)]


def _axis(values: Sequence[float], scale: Scale) -> _Axis:
    """Return the axis for bars and rules of some values, ignoring zeros."""
    drawn = [value for value in values if value > 0]
    high, low = max(drawn, default=0.0), min(drawn, default=0.0)
    if low and (scale == "log" or (scale == "auto" and high / low > LOG_RATIO)):
        room = max(high / low, 10.0) ** MIN_LOG_HEIGHT
        return _Axis(low / room, high)
    return _Axis(0.0, _ceiling(high))


def chart(
    measurements: Sequence[Measurement],
    pending: int = 0,
    room: int = ROOM,
    scale: Scale = "auto",
    others: BarComparisons = BarComparisons(),
) -> Chart | None:
    """Return the chart of measured kernels, or None if there is nothing to draw.

    Parameters
    ----------
    measurements : sequence of Measurement
        Bars are ``kernel`` and ``prefix``, rules are ``numpy`` and ``peak``.  The unit is GFLOP/s if every bar has
        a rate, otherwise calls per second.
    pending : int
        Number of bars still to be measured, for which space is reserved.
    room : int
        Available width in pixels, as far as the minimum pitch allows.
    scale : str
        Vertical scale; ``auto`` is logarithmic if bars would be invisibly short otherwise.
    others : BarComparisons
        Comparisons for the bars.
    """
    kernels, single = by_threads(measurements)
    lines = [m for m in measurements if m.kind in ("numpy", "peak")]
    further = _further(kernels, others.reference)
    slots = len(kernels) + max(pending, len(further))
    if not slots and not lines:
        return None
    rated = all(m.gflops is not None for m in kernels if m.seconds)
    unit = "GFLOP/s" if rated else "calls/s"
    values = [_rate(m, rated) for m in kernels]
    rules = [(m, _rate(m, rated)) for m in lines if _rate(m, rated) > 0]
    compared = _compared(kernels, values, single, others, rated)
    rates = [(len(kernels) + at, m, _rate(m, rated)) for at, m in enumerate(further)]
    compared += [("reference", at, rate, f"{m.name}: the kept ladder") for at, m, rate in rates if rate > 0]
    axis = _axis([*values, *(value for _, value in rules), *(value for _, _, value, _ in compared)], scale)
    base = TOP + PLOT_HEIGHT
    pitch = max(MIN_PITCH, min(MAX_PITCH, (room - LEFT - RIGHT) / max(4, slots)))
    width = round(LEFT + max(4, slots) * pitch + RIGHT)

    return Chart(
        width=width,
        height=base + (BOTTOM if pitch >= UPRIGHT_PITCH else SLANTED_BOTTOM),
        left=LEFT,
        right=width - RIGHT,
        base=base,
        unit=unit,
        summary=summary(kernels, values, unit),
        logarithmic=axis.logarithmic,
        bars=_bars(kernels, values, base, pitch, axis.height_of, [base - axis.height_of(value) for _, value in rules]),
        ghosts=[_ghost(kind, at, value, title, base, pitch, axis.height_of) for kind, at, value, title in compared],
        rules=_spread(
            [Rule(m.kind, base - axis.height_of(v), 0, f"{_line_name(m, measurements)} {number(v)}") for m, v in rules]
        ),
        ticks=[Tick(base - axis.height_of(value), number(value)) for value in axis.ticks()],
    )


def by_threads(measurements: Sequence[Measurement]) -> tuple[list[Measurement], dict[int, Measurement]]:
    """Return the measurements of kernels and steps, and their single-threaded ones by step."""
    kernels = [m for m in measurements if m.kind in ("kernel", "prefix")]
    most = max((m.threads for m in kernels), default=1)
    single = {m.step: m for m in kernels if m.step is not None and m.kind == "prefix" and m.threads < most}
    twice = {m.step for m in kernels if m.threads == most} & set(single)
    return [m for m in kernels if not (m.step in twice and m.threads < most)], {
        s: single[s] for s in twice if s is not None
    }


_Compared = tuple[GhostKind, int, float, str]
"""Kind, index of the bar, value, and description."""


def _compared(
    kernels: Sequence[Measurement],
    values: Sequence[float],
    single: Mapping[int, Measurement],
    others: BarComparisons,
    rated: bool,
) -> list[_Compared]:
    reference = {m.step: m for m in others.reference if m.kind == "prefix"}
    first = next((value for value in values if value), 0.0)
    compared: list[_Compared] = []
    for at, m in enumerate(kernels):
        if m.step is None:
            continue
        if m.step in reference:
            earlier = reference[m.step]
            compared.append(("reference", at, _rate(earlier, rated), f"{earlier.name}: the kept ladder"))
        if m.step in single:
            compared.append(("single", at, _rate(single[m.step], rated), f"{m.name}: on one thread"))
        if m.step in others.predictions and m.step > 0:
            value = min(others.predictions[m.step] * first, MAX_RATE)
            compared.append(("predicted", at, value, f"{m.name}: predicted"))
    return [entry for entry in compared if entry[2] > 0]


def _further(kernels: Sequence[Measurement], reference: Sequence[Measurement]) -> list[Measurement]:
    """Return the steps of a kept ladder that come after those of a ladder."""
    last = max((m.step for m in kernels if m.step is not None), default=-1)
    return [m for m in by_threads(reference)[0] if m.step is not None and m.step > last] if kernels else []


def _ghost(
    kind: GhostKind, at: int, value: float, title: str, base: float, pitch: float, height_of: Callable[[float], float]
) -> Ghost:
    height = max(height_of(value), 1.5)
    width = BAR_SHARE * pitch
    left = LEFT + (at + (1 - BAR_SHARE) / 2) * pitch
    inset = width / 4 if kind == "single" else -2.0
    return Ghost(
        kind=kind,
        x=round(left + inset, 2),
        y=base - height,
        width=round(width - 2 * inset, 2),
        height=height,
        title=f"{title}, {number(value)}",
    )


def predictions_met(measurements: Sequence[Measurement], predictions: Mapping[int, float]) -> tuple[int, int] | None:
    """Return the number of correct predictions and of those that can be checked; None without predictions."""
    kernels, _ = by_threads(measurements)
    seconds = {m.step: m.seconds for m in kernels if m.step is not None and m.seconds > 0}
    pairs = [
        (seconds[0] / seconds[s], factor) for s, factor in predictions.items() if s and s in seconds and 0 in seconds
    ]
    met = sum(actual / MAX_FACTOR <= factor <= actual * MAX_FACTOR for actual, factor in pairs)
    return (met, len(pairs)) if pairs else None


def _bars(
    kernels: Sequence[Measurement],
    values: list[float],
    base: float,
    pitch: float,
    height_of: Callable[[float], float],
    lines: Sequence[float],
) -> list[Bar]:
    bars: list[Bar] = []
    slanted = pitch < UPRIGHT_PITCH
    letters = SLANTED_LETTERS if slanted else int(pitch / LETTER)
    digits = NARROW_DIGITS if slanted else DIGITS
    labels = _labels([(m.name, m.step) for m in kernels], letters)
    for index, (m, value) in enumerate(zip(kernels, values, strict=True)):
        height = max(height_of(value), 1.5) if value else 0.0
        factors = speedups(values[: index + 1])
        factor = f"{number(factors[0])}×" if factors else ""
        bars.append(
            Bar(
                x=round(LEFT + (index + (1 - BAR_SHARE) / 2) * pitch, 2),
                y=base - height,
                width=round(BAR_SHARE * pitch, 2),
                height=height,
                label=labels[index],
                value=f"{'≈ ' if m.estimated else ''}{number(value, digits)}" if value else "✗",
                value_y=_clear_of(lines, base - height - VALUE_ABOVE),
                factor="" if slanted else factor,
                estimated=m.estimated,
                title=", ".join([m.name, *_caveats(m), *_factor_words(factors), wording(m.source).label]),
                slanted=slanted,
                current=index == len(kernels) - 1,
                wrong=m.checked == "wrong",
                reported=m.source != "server",
                step=m.step,
            )
        )
    return bars


def _caveats(m: Measurement) -> list[str]:
    return [word for word, holds in (("estimated", m.estimated), ("disturbed", m.disturbed)) if holds]


def _clear_of(lines: Sequence[float], y: float) -> float:
    """Return the base line of a value, moved up past rules that would cross it."""
    for line in sorted(lines, reverse=True):
        if y - VALUE_HEIGHT - LINE_GAP < line < y + LINE_GAP:
            y = line - LINE_GAP
    return y


def speedups(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the speedup of the last rate over the previous and over the first one.

    Zero rates, which were not measured, are skipped; the result is None if the last rate is zero or the only one.
    """
    measured = [value for value in values if value]
    if len(measured) < 2 or not values[-1]:
        return None
    return measured[-1] / measured[-2], measured[-1] / measured[0]


def climb(measurements: Sequence[Measurement]) -> list[tuple[float, float] | None]:
    """Return the :func:`speedups` of each measurement of a ladder; empty if it has less than two steps."""
    kernels, _ = by_threads(measurements)
    rungs = [m for m in kernels if m.kind == "prefix"]
    if len(rungs) < 2:
        return []
    rates = [1.0 / m.seconds if m.seconds > 0 else 0.0 for m in rungs]
    factors = {id(m): speedups(rates[: index + 1]) for index, m in enumerate(rungs)}
    return [factors.get(id(m)) for m in measurements]


def _factor_words(factors: tuple[float, float] | None) -> list[str]:
    return [f"{number(factors[0])}× the previous step", f"{number(factors[1])}× the first"] if factors else []


def _line_name(m: Measurement, measurements: Sequence[Measurement]) -> str:
    """Return the name of a rule, noting an exceeded peak, which was measured while other programs ran."""
    if m.kind == "numpy":
        return "NumPy"
    return "noisy peak" if exceeds(m, measurements) else "peak"


def _rate(m: Measurement, rated: bool) -> float:
    """Return the rate of a measurement; zero if it is missing or implausible."""
    rate = (m.gflops or 0.0) if rated else 1.0 / (m.seconds or math.inf)
    return rate if MIN_RATE <= rate <= MAX_RATE else 0.0


_CALL = re.compile(r"(?:^|\.)(\w+)\(([^\W\d][\w.]*)?")


def _labels(steps: Sequence[tuple[str, int | None]], letters: int) -> list[str]:
    """Return short labels of names with their steps.

    Of a call it is the primitive, with its axis if several calls have the same one, or with the step, as the roofline
    has it, where that axis is cut off.
    """
    calls = [_CALL.search(name) for name, _ in steps]
    shorts = [call[1] if call else name for call, (name, _) in zip(calls, steps, strict=True)]
    labels = []
    for call, short, (_, step) in zip(calls, shorts, steps, strict=True):
        label = f"{short} {call[2]}" if call and call[2] and shorts.count(short) > 1 else short
        if len(label) > letters and label != short and step is not None:
            label = f"{step}: {short}"
        labels.append(label if len(label) <= letters else label[: letters - 1] + "…")
    return labels


def _ceiling(value: float) -> float:
    """Round up to 1, 1.5, 2, 3, 4, 5, 6, 8 or 10 times a power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10, 15) if step * power >= value)


def _ticks(top: float) -> list[float]:
    lead = round(top / 10 ** math.floor(math.log10(top)), 6)
    parts = 3 if lead in (1.5, 3.0, 6.0) else 4 if lead in (2.0, 4.0, 8.0) else 5
    return [top * index / parts for index in range(parts + 1)]


def _spread(rules: list[Rule]) -> list[Rule]:
    """Move overlapping labels of rules apart."""
    placed: list[Rule] = []
    for rule in sorted(rules, key=lambda rule: rule.y):
        label_y = rule.y + 3.5
        if placed:
            label_y = max(label_y, placed[-1].label_y + LABEL_DISTANCE)
        placed.append(Rule(rule.kind, rule.y, label_y, rule.label))
    return placed


def summary(kernels: Sequence[Measurement], values: Sequence[float], unit: str) -> str:
    """Return a description of the chart for screen readers."""
    values_text = [
        f"{m.name}: {'estimated ' if m.estimated else ''}{number(v)} {unit}" if v else f"{m.name}: wrong"
        for m, v in zip(kernels, values, strict=True)
    ]
    return "; ".join([*values_text, *(source.label for source in sources(kernels))]) or "nothing measured yet"
