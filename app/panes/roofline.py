"""Geometry of the roofline of a ladder.

Peak and bandwidth are measured.  How many bytes a step moves is modelled, of its loops and the last cache.

References
----------
S. Williams, A. Waterman, D. Patterson: Roofline: an insightful visual performance model for multicore architectures.
Communications of the ACM 52 (4), 2009.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from app.artifacts import Measurement
from app.panes.charts import MAX_RATE, MIN_RATE, by_threads
from app.panes.numbers import EXCEEDING, number

LEFT, RIGHT, TOP, BOTTOM = 56, 30, 22, 34
"""Around the plot; at the top stand the unit and the roof's figures, where no point comes."""
HEIGHT = 170
MIN_WIDTH, MAX_WIDTH = 300, 560
MARGIN = 1.6
"""Factor between the outermost values and the frame."""
MAX_TICKS = 7

LABEL_WIDTH, LABEL_HEIGHT = 26, 11
"""Room that the label of a point takes, in pixels, from the point on."""
RADIUS, LABEL_OFFSET = 4, 7
"""Of a point, and from its middle to its label."""


@dataclass(frozen=True)
class Point:
    """A step at its intensity and rate."""

    x: float
    y: float
    label: str
    title: str
    above: bool = False
    """Whether it is above the roof, so that the machine was not the same when they were measured."""
    label_y: float = 0.0
    """Of its label's middle, away from those of other points."""


@dataclass(frozen=True)
class Mark:
    """A mark of an axis."""

    place: float
    label: str


@dataclass(frozen=True)
class Roofline:
    """A drawing in user units; all coordinates are those of the SVG."""

    width: int
    height: int
    left: int
    right: int
    top: int
    base: int
    roof: list[tuple[float, float]]
    """Where the roof begins, bends and ends."""
    peak: str
    bandwidth: str
    points: list[Point]
    columns: list[Mark]
    rows: list[Mark]
    lower: list[tuple[float, float]] = field(default_factory=list)
    """Of arithmetic that this kernel does little of: where its roof leaves the other, and where it ends."""
    lower_peak: str = ""

    @property
    def above(self) -> int:
        """How many points are above the roof."""
        return sum(point.above for point in self.points)

    @property
    def summary(self) -> str:
        """The drawing in words."""
        roofs = f"roof of {self.bandwidth} and {self.peak}"
        if self.lower:
            roofs += f", and of {self.lower_peak}"
        return "; ".join([roofs, *(point.title for point in self.points)])


@dataclass(frozen=True)
class Scale:
    """A logarithmic axis between two places."""

    low: float
    high: float
    first: float
    last: float

    def place(self, value: float) -> float:
        """Return where a value is drawn."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return round(self.first + share * (self.last - self.first), 2)

    def marks(self) -> list[Mark]:
        """Return marks at powers of ten, so many that they have room."""
        powers = range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
        chosen = list(powers)[:: 1 + len(powers) // MAX_TICKS]
        return [Mark(self.place(10.0**power), number(10.0**power)) for power in chosen]


def roofline(measurements: Sequence[Measurement], room: int) -> Roofline | None:
    """Return the roofline of a ladder; None if the peak, the bandwidth, or the bytes of every step are unknown.

    Parameters
    ----------
    room : int
        Width to fit into, in pixels.
    """
    peak = next((m.gflops for m in measurements if m.kind == "peak" and m.gflops), 0.0)
    timed = [m for m in measurements if m.kind == "bandwidth" and m.seconds]
    bandwidth = next((m.traffic / m.seconds / 1e9 for m in timed if m.traffic), 0.0)
    kernels, _ = by_threads(measurements)
    steps = [
        (m, m.flops / m.traffic, m.gflops) for m in kernels if m.flops and m.traffic and m.gflops and not m.estimated
    ]
    values = [peak, bandwidth, *(value for _, *pair in steps for value in pair)]
    if not steps or not all(MIN_RATE <= value <= MAX_RATE for value in values):
        return None
    width = min(MAX_WIDTH, max(MIN_WIDTH, room))
    ridge = peak / bandwidth
    intensities, rates = [ridge, *(x for _, x, _ in steps)], [peak, *(y for *_, y in steps)]
    across = Scale(min(intensities) / MARGIN, max(intensities) * MARGIN, LEFT, width - RIGHT)
    low = min(rates) / MARGIN
    up = Scale(low, peak * MARGIN, TOP + HEIGHT, TOP)
    begin = max(across.low, low / bandwidth)
    roof = [(begin, begin * bandwidth), (ridge, peak), (across.high, peak)]
    return Roofline(
        width=width,
        height=TOP + HEIGHT + BOTTOM,
        left=LEFT,
        right=width - RIGHT,
        top=TOP,
        base=TOP + HEIGHT,
        roof=[(across.place(x), up.place(y)) for x, y in roof],
        peak=f"{number(peak)} GFLOP/s",
        bandwidth=f"{number(bandwidth)} GB/s",
        points=_labelled([_point(m, x, y, across, up, min(peak, bandwidth * x)) for m, x, y in steps]),
        columns=across.marks(),
        rows=up.marks(),
    )


def _labelled(points: Sequence[Point]) -> list[Point]:
    """Return the points with labels that cover neither each other nor other points: what is in the way moves down."""
    placed: list[Point] = []
    for point in sorted(points, key=lambda point: point.y):
        label_y = point.y
        while (free := _free_below(point, label_y, placed, points)) is not None:
            label_y = free
        placed.append(replace(point, label_y=label_y))
    return placed


def _free_below(point: Point, label_y: float, placed: Sequence[Point], points: Sequence[Point]) -> float | None:
    """Return the place below what a label would cover; None if it covers nothing."""
    labels = [other.label_y + LABEL_HEIGHT for other in placed if abs(other.x - point.x) < LABEL_WIDTH]
    reach = LABEL_HEIGHT / 2 + RADIUS
    circles = [other.y + reach for other in points if LABEL_OFFSET - RADIUS < other.x - point.x < LABEL_WIDTH]
    heights = [*((free, LABEL_HEIGHT) for free in labels), *((free, reach) for free in circles)]
    return min(
        (free for free, height in heights if abs(free - height - label_y) < height and free > label_y), default=None
    )


def _point(m: Measurement, x: float, y: float, across: Scale, up: Scale, roof: float) -> Point:
    title = f"{m.name}: {number(y)} GFLOP/s at {number(x)} FLOP/byte (modelled), {y / roof:.0%} of the roof there"
    label, above = str(m.step if m.step is not None else "•"), y > EXCEEDING * roof
    return Point(across.place(x), up.place(min(y, up.high)), f"{label} !" if above else label, title, above)
