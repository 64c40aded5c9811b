"""What a search has found so far: geometry of its charts, decisions and what became of them, reasons in words.

All coordinates are computed here, and tested; the template only prints the SVG.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import msgspec
from msgspec import UNSET, UnsetType

from app.artifacts import NOISE, Measurement
from app.panes.numbers import EXCEEDING, duration, number
from app.searches import Decision, Value

HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 176, 58, 150, 20, 34
LABEL_DISTANCE = 13
LABEL_WIDTH = 44
ALGORITHMS = ("winograd", "strassen")
"""What the names of decisions end with that say by which algorithm something is computed."""
TEMPLATE = "template "
"""What the ways to a candidate begin with that has the primitives of the script's schedule."""
MAX_SECONDS = 1e6
"""Longer times are not drawn: a log may claim any."""
REACH = 100.0
"""How far beyond the measured times expectations are drawn; those still farther off are drawn there."""
LEAST_MARKS = 3
NEAR = 1.25
"""How far beyond the measured times the scale of their chart goes at least, to lines of what they are compared with."""
FROM_PYTHON = "NumPy’s time includes calls from Python, about a microsecond for each of its functions"
PAUSE = 30.0
"""Seconds between two candidates that count at most, such as those of another day."""
MAX_DECISIONS = 40
FEATURES = {
    "estimate": "estimated cycles of a call", "operations": "operations of a call", "instructions": "instructions",
    "iterations": "loop iterations", "register_loads": "loads and stores of registers", "gathers": "elements gathered",
    "L1_bytes": "bytes into the first cache", "L1_runs": "runs of neighbours into the first cache",
    "L2_bytes": "bytes into the second cache", "memory_bytes": "bytes from memory", "calls": "calls of functions",
    "guards": "guarded iterations", "parallel": "parallel iterations", "lanes": "lanes of a vector",
    "unrolled": "instructions written out", "tile_registers": "registers of a tile",
    "innermost": "extent of the innermost loop", "depth": "depth of the loops",
    "scalar_share": "share that is not in vectors", "stores": "vector stores", "buffers": "buffers",
}  # fmt: skip
"""The features of the cost model in words, in their order."""
PLAIN = ("scalar_share", "buffers")
"""Those that are not logarithms."""


class Trial(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A record of a log, as the page reads it; anybody may have written it."""

    kind: str
    seconds: float | None = None
    message: str = ""
    predicted: float | None = None
    error: float | None = None
    timestamp: float = 0.0
    choices: str | None = None
    """The numbers of its decisions, separated by spaces; None for the default."""
    features: list[float] | UnsetType = UNSET

    @property
    def time(self) -> float | None:
        """Seconds of a call, if it has a plausible time."""
        return self.seconds if self.kind == "ok" and self.seconds and 0 < self.seconds < MAX_SECONDS else None

    @property
    def is_disturbed(self) -> bool:
        """Whether its time varied more than noise does."""
        return self.error is not None and self.error > NOISE


@dataclass(frozen=True)
class Point:
    """A candidate in a chart."""

    x: float
    y: float
    trial: int
    title: str
    kind: str
    """``best``, ``disturbed``, ``chosen``, or empty."""


@dataclass(frozen=True)
class Mark:
    """A line across a chart or a mark of a scale, and its label, with more words where the pointer is."""

    place: float
    label: str
    label_place: float = 0.0
    kind: str = ""
    title: str = ""


@dataclass(frozen=True)
class SearchChart:
    """A chart of times on logarithmic scales, in the coordinates of the SVG."""

    width: float
    points: list[Point]
    line: list[tuple[float, float]]
    rows: list[Mark]
    columns: list[Mark]
    rules: list[Mark]
    summary: str
    height: int = HEIGHT
    left: int = LEFT
    top: int = TOP

    @property
    def right(self) -> float:
        return self.width - RIGHT

    @property
    def base(self) -> int:
        return HEIGHT - BOTTOM


def references(
    trials: Sequence[Trial], measurements: Sequence[Measurement], table: Sequence[Decision] = ()
) -> list[tuple[str, str, float]]:
    """Return kind, name and time of what a search is compared with.

    The script's own schedule has the time of the default's record, measured as candidates are: without calls from
    Python.  The peak is the least time that the operations of the definition take; Winograd's and Strassen's algorithms
    have fewer.  One that a candidate exceeds was measured while others used the machine.
    """
    has_fewer = any(name.rpartition(".")[2] in ALGORITHMS and value for name, value in table)
    peak = "direct peak" if has_fewer else "peak"
    flops = max((m.flops or 0.0 for m in measurements), default=0.0)
    best = min((trial.time for trial in trials if trial.time), default=math.inf)
    lines: list[tuple[str, str, float]] = []
    for m in measurements:
        seconds = flops / m.gflops / 1e9 if m.kind == "peak" and m.gflops and flops else m.seconds
        name = {"numpy": "NumPy", "peak": peak, "prefix": "unscheduled"}.get(m.kind, "your schedule")
        is_busy = m.disturbed or (name == "peak" and best * EXCEEDING < seconds)
        if m.kind in ("numpy", "peak", "prefix", "kernel") and 0 < seconds < MAX_SECONDS:
            lines.append((m.kind, f"{'≈ ' if m.estimated else ''}{name}{' !' if is_busy else ''}", seconds))
    default = [trial.time for trial in trials if trial.choices is None and trial.time]
    if default:
        name = "your schedule" if any(kind == "kernel" for kind, _, _ in lines) else "default"
        lines = [line for line in lines if line[0] != "kernel"] + [("kernel", name, default[-1])]
    return lines


def best_of(trials: Sequence[Trial]) -> int | None:
    """Return the fastest candidate."""
    timed = [(trial.time, at) for at, trial in enumerate(trials) if trial.time and trial.choices is not None]
    return min(timed)[1] if timed else None


def progress_chart(
    trials: Sequence[Trial],
    measurements: Sequence[Measurement],
    room: int,
    by_seconds: bool,
    chosen: int | None,
    table: Sequence[Decision] = (),
) -> SearchChart | None:
    """Return the times of candidates, and the best so far, against trials or seconds.

    At least half of the scale is theirs, if they differ; lines farther off are drawn at its edges.
    """
    candidates = [(at, trial) for at, trial in enumerate(trials) if trial.choices is not None]
    lines = references(trials, measurements, table)
    times = [trial.time for _, trial in candidates if trial.time]
    if not times and not lines:
        return None
    reach = max(NEAR, math.sqrt(max(times) / min(times))) if len(times) > 1 else math.inf
    low, high = min(times, default=1.0) / reach, max(times, default=1.0) * reach
    scaled = [*times, *(seconds for _, _, seconds in lines if low <= seconds <= high)]
    across = _logarithmic(scaled, HEIGHT - BOTTOM, TOP)
    stamps = [trial.timestamp for _, trial in candidates]
    positions: Sequence[float] = _seconds(stamps) if by_seconds else range(1, 1 + len(stamps))
    last, right = max([*positions, 1.0]), max(room, 340) - RIGHT

    def x(position: float) -> float:
        return round(LEFT + (right - LEFT) * max(0.0, position) / last, 1)

    points, line, best, winner = [], list[tuple[float, float]](), math.inf, best_of(trials)
    for position, (at, trial) in zip(positions, candidates, strict=True):
        if trial.time is None:
            continue
        points.append(_point(x(position), across(trial.time), at, trial, winner, chosen))
        if trial.time < best:
            line += [(x(position), across(best))] if line else []
            line.append((x(position), across(trial.time)))
            best = trial.time
    if line:
        line.append((x(last), line[-1][1]))
    unit = " s" if by_seconds else ""
    quarters = dict.fromkeys(round(last * part / 4) for part in range(1, 5))
    ends = [Mark(x(value), f"{value}{unit}") for value in quarters]
    words = f"{len(candidates)} candidates, the best {duration(best)}" if points else "no candidate has a time yet"

    def rule(kind: str, name: str, seconds: float) -> Mark:
        label, title = f"{name} {duration(seconds)}", FROM_PYTHON if kind == "numpy" else ""
        if low <= seconds <= high:
            return Mark(across(seconds), label, kind=kind, title=title)
        place, arrow, side = (HEIGHT - BOTTOM, "↓", "below") if seconds < low else (TOP, "↑", "above")
        title = ". ".join(filter(None, (f"{name}: {side} what the scale shows", title)))
        return Mark(place, f"{arrow} {label}", kind=f"{kind} beyond", title=title)

    rules = _apart([rule(*each) for each in lines])
    said = "; ".join([words, *(rule.label for rule in rules)])
    return SearchChart(right + RIGHT, points, line, _scale(scaled, across), ends, rules, said)


def _seconds(stamps: Sequence[float]) -> list[float]:
    """Return when candidates were measured, from the first on; of what lies between searches, little counts."""
    return list(accumulate(min(max(after - before, 0.0), PAUSE) for before, after in pairwise([*stamps[:1], *stamps])))


def cloud(trials: Sequence[Trial], room: int, chosen: int | None) -> SearchChart | None:
    """Return the times that the cost model expected against those measured; exact predictions are on the diagonal."""
    seen = [
        (at, trial, trial.predicted)
        for at, trial in enumerate(trials)
        if trial.time and trial.predicted and 0 < trial.predicted < MAX_SECONDS
    ]
    if len(seen) < 2:
        return None
    right = min(max(room, 340), 560) - RIGHT
    measured = [trial.time or 0.0 for _, trial, _ in seen]
    low, high = min(measured) / REACH, max(measured) * REACH
    times = measured + [min(max(predicted, low), high) for _, _, predicted in seen]
    winner = best_of(trials)
    up, along = _logarithmic(times, HEIGHT - BOTTOM, TOP), _logarithmic(times, LEFT, right)
    points = [
        _point(along(min(max(p, low), high)), up(trial.time or 0.0), at, trial, winner, chosen) for at, trial, p in seen
    ]
    diagonal = [(along(value), up(value)) for value in (min(times), max(times))]
    within = sum(max(p, t.time or 0.0) <= 2 * min(p, t.time or 0.0) for _, t, p in seen)
    said = f"{within} of {len(seen)} predictions within a factor of two"
    return SearchChart(right + RIGHT, points, diagonal, _scale(times, up), _scale(times, along, LABEL_WIDTH), [], said)


def _point(x: float, y: float, at: int, trial: Trial, best: int | None, chosen: int | None) -> Point:
    kind = "chosen" if at == chosen else "best" if at == best else "disturbed" if trial.is_disturbed else ""
    words = [f"Candidate {at + 1}: {duration(trial.time or 0.0)}"]
    words += [f"expected {duration(trial.predicted)}"] if trial.predicted else []
    words += ["disturbed"] if trial.is_disturbed else []
    return Point(x, y, at, ", ".join(words), kind)


def _logarithmic(values: Sequence[float], start: float, end: float) -> Callable[[float], float]:
    low, high = math.log(min(values)) - 0.05, math.log(max(values)) + 0.05

    def place(value: float) -> float:
        return round(start + (end - start) * (math.log(value) - low) / (high - low), 1)

    return place


def _scale(values: Sequence[float], place: Callable[[float], float], apart: int = LABEL_DISTANCE) -> list[Mark]:
    """Return a few marks at round values: 1, 2 and 5 times powers of ten, or finer ones where values are close.

    Labels of neighbours do not overlap.
    """
    first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    inside: list[float] = []
    finer = [[n / parts for n in range(parts, 10 * parts)] for parts in (2, 10, 100)]
    for leads in ([1.0, 2.0, 5.0], *finer):
        every = [lead * 10.0**power for power in range(first, last + 1) for lead in leads]
        inside = [value for value in every if min(values) * 0.96 <= value <= max(values) * 1.04]
        if len(inside) >= LEAST_MARKS:
            break
    kept: list[Mark] = []
    for value in inside[:: 1 + len(inside) // 7]:
        if not kept or abs(place(value) - kept[-1].place) >= apart:
            kept.append(Mark(place(value), duration(value)))
    return kept


def _apart(rules: list[Mark]) -> list[Mark]:
    """Move overlapping labels apart, none below the chart."""
    placed: list[Mark] = []
    for rule in sorted(rules, key=lambda rule: rule.place):
        above = placed[-1].label_place + LABEL_DISTANCE if placed else 0.0
        placed.append(replace(rule, label_place=max(rule.place + 3.5, above)))
    lowest = HEIGHT - BOTTOM + 3.5
    for at, rule in reversed(list(enumerate(placed))):
        placed[at] = replace(rule, label_place=min(rule.label_place, lowest))
        lowest = placed[at].label_place - LABEL_DISTANCE
    return placed


@dataclass(frozen=True)
class Option:
    """A choice of a decision: how many candidates made it, and the best time with it."""

    name: str
    key: str
    """The decision as JSON."""
    words: str
    count: int
    seconds: float | None
    wish: str
    """``pinned``, ``banned``, or empty."""


@dataclass(frozen=True)
class DecisionTree:
    """A block, and its decisions with their options, the best first."""

    block: str
    decisions: list[tuple[str, list[Option]]]


def decisions(
    trials: Sequence[Trial], table: Sequence[Decision], pinned: Sequence[Decision] = (), banned: Sequence[Decision] = ()
) -> list[DecisionTree]:
    """Return what was decided, by block, in the order of the rules.

    Parameters
    ----------
    table : sequence of Decision
        What the numbers of the trials mean.
    """
    seen: dict[str, dict[str, list[tuple[Value, float | None]]]] = {}
    wishes = {key_of(d): word for word, some in (("pinned", pinned), ("banned", banned)) for d in some}
    for trial in trials:
        for name, value in made_of(trial, table):
            seen.setdefault(name, {}).setdefault(key_of((name, value)), []).append((value, trial.time))
    for name, value in (*pinned, *banned):
        seen.setdefault(name, {}).setdefault(key_of((name, value)), [])
    blocks: dict[str, list[tuple[str, list[Option]]]] = {}
    for name, values in list(seen.items())[:MAX_DECISIONS]:
        options = [_option(name, key, made, wishes.get(key, "")) for key, made in values.items()]
        options.sort(key=lambda option: option.seconds or math.inf)
        block, _, rest = name.partition(".")
        blocks.setdefault(block, []).append((rest or block, options))
    return [DecisionTree(block, some) for block, some in blocks.items()]


def made_of(trial: Trial, table: Sequence[Decision]) -> list[Decision]:
    """Return the decisions of a trial."""
    numbers = [int(n) for n in (trial.choices or "").split() if n.isdecimal() and len(n) < 7]
    return [table[n] for n in numbers if n < len(table)]


def _option(name: str, key: str, made: Sequence[tuple[Value, float | None]], wish: str) -> Option:
    value = made[0][0] if made else msgspec.json.decode(key, type=Decision)[1]
    return Option(name, key, option_words(value), len(made), min((s for _, s in made if s), default=None), wish)


def option_words(value: Value) -> str:
    """Return a choice in words: sizes of a tile with crosses between."""
    if str(value).startswith(TEMPLATE):
        return "the script’s primitives"
    words = " × ".join(map(str, value)) if isinstance(value, list) else str(value)
    return {"True": "yes", "False": "no"}.get(words, words)


def key_of(decision: Decision) -> str:
    """Return a decision as JSON."""
    return msgspec.json.encode(decision).decode()


def failures(trials: Sequence[Trial]) -> list[tuple[str, str, int]]:
    """Return kind and reason of the candidates without a time, and how many there are, the most frequent first."""
    counts = Counter((trial.kind[:40], trial.message[:500]) for trial in trials if trial.kind != "ok")
    return [(kind, message, count) for (kind, message), count in counts.most_common(50)]


@dataclass(frozen=True)
class Reason:
    """A feature of a candidate beside the best's."""

    words: str
    mine: str
    best: str
    times: str


def reasons(mine: Sequence[float] | UnsetType, best: Sequence[float] | UnsetType) -> list[Reason]:
    """Return the features in which a candidate differs from the best, the largest differences first."""
    if not isinstance(mine, list) or not isinstance(best, list) or not len(mine) == len(best) == len(FEATURES):
        return []
    found = []
    for (name, words), a, b in zip(FEATURES.items(), mine, best, strict=True):
        if not (abs(a) < 100 and abs(b) < 100) or abs(a - b) < 0.01:
            continue
        plain = name in PLAIN
        values = (a, b) if plain else (2.0**a, 2.0**b)
        times = f"{values[0] - values[1]:+.3g}" if plain else f"{2.0 ** (a - b):.3g}×"
        found.append((abs(a - b), Reason(words, number(values[0]), number(values[1]), times)))
    return [reason for _, reason in sorted(found, key=lambda item: -item[0])]
