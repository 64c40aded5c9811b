"""From an answer to what the templates draw: highlighted lines, the timeline, titles, the compact link map.

Listings are drawn in chunks of :data:`CHUNK_LINES` lines.  Only the first ones travel with the page; the rest are
placeholders of known height, fetched by content hash when they come near the viewport.
"""

from __future__ import annotations

import difflib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup, escape
from pygments.lexer import Lexer
from pygments.lexers.asm import GasLexer, LlvmLexer
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, String, _TokenType

from app.artifacts import Answer, Line, Listing, Measurement, Step, Unit

CHUNK_LINES = 200
FIRST_CHUNKS = 2
LISTINGS_KEPT_LINES = 2_000_000
"""How many lines of listings a process remembers; the oldest go first."""
DIFF_LIMIT = 6_000
"""Lines a side that may differ; beyond, the middle is shown as replaced as a whole."""

# Highlighting

LEXERS: Mapping[str, type[Lexer]] = {"python": PythonLexer, "loops": PythonLexer, "llvm": LlvmLexer, "gas": GasLexer}

STYLES: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "c"),
    (Keyword, "k"),
    (String, "s"),
    (Number, "n"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Decorator, "f"),
    (Name.Builtin, "f"),
    (Name.Variable, "r"),
    (Name.Constant, "r"),
    (Name.Label, "f"),
)
"""Token type -> class; the first that contains the token wins."""
GAS_STYLES = ((Name.Function, "k"), *STYLES)
"""In assembly the function names of the lexer are mnemonics."""


def highlight(lines: Iterable[str], language: str) -> list[Markup]:
    """Return each line as escaped HTML with one-letter classes, always as many lines as came in."""
    texts = list(lines)
    lexer = LEXERS[language](stripnl=False, ensurenl=False)
    styles = GAS_STYLES if language == "gas" else STYLES
    out: list[list[str]] = [[]]
    tokens = list(lexer.get_tokens("\n".join(texts)))
    for index, (kind, value) in enumerate(tokens):
        style = next((name for root, name in styles if kind in root), "")
        if kind is Name and index + 1 < len(tokens) and tokens[index + 1][1].startswith("("):
            style = "f"
        for part, text in enumerate(value.split("\n")):
            if part:
                out.append([])
            if text:
                safe = str(escape(text))
                out[-1].append(f'<i class="{style}">{safe}</i>' if style else safe)
    out.extend([] for _ in range(len(texts) - len(out)))
    return [Markup("".join(line)) for line in out[: len(texts)]]


# Listings, by content hash


class ListingStore:
    """The listings that answers brought, by key: chunks, diffs and instruction help are asked for by it.

    Parameters
    ----------
    capacity : int
        Lines kept over all listings; at least the newest listing always stays.
    """

    def __init__(self, capacity: int = LISTINGS_KEPT_LINES) -> None:
        self._capacity = capacity
        self._listings: OrderedDict[str, Listing] = OrderedDict()
        self._lines = 0
        self._lock = threading.Lock()

    def add(self, answer: Answer) -> None:
        """Remember the listings of an answer."""
        with self._lock:
            for key, listing in answer.listings.items():
                if key not in self._listings:
                    self._listings[key] = listing
                    self._lines += len(listing.lines)
                self._listings.move_to_end(key)
            while self._lines > self._capacity and len(self._listings) > 1:
                _, old = self._listings.popitem(last=False)
                self._lines -= len(old.lines)

    def get(self, key: str) -> Listing | None:
        """Return a listing, or None when it was never seen or is forgotten."""
        with self._lock:
            return self._listings.get(key)


@dataclass(frozen=True)
class DrawnLine:
    """A line as the template shows it; ``mark`` is ``+``, ``-`` or empty in a diff."""

    number: int
    html: Markup
    linked: bool
    blank: bool
    mark: str = ""


@dataclass(frozen=True)
class Chunk:
    """A run of lines; ``lines`` is empty for a placeholder."""

    index: int
    size: int
    lines: list[DrawnLine] = field(default_factory=list)


def draw_chunk(listing: Listing, index: int) -> Chunk:
    """Return a chunk of a listing with its lines highlighted."""
    start = index * CHUNK_LINES
    lines = listing.lines[start : start + CHUNK_LINES]
    html = highlight((line.text for line in lines), listing.language)
    drawn = [
        DrawnLine(start + offset + 1, text, bool(line.origins), not line.text.strip())
        for offset, (line, text) in enumerate(zip(lines, html, strict=True))
    ]
    return Chunk(index, len(lines), drawn)


def chunks(listing: Listing, first: int = FIRST_CHUNKS) -> list[Chunk]:
    """Return all chunks of a listing: the first ones drawn, the rest as placeholders."""
    count = -(-len(listing.lines) // CHUNK_LINES)
    return [
        draw_chunk(listing, index)
        if index < first
        else Chunk(index, min(CHUNK_LINES, len(listing.lines) - index * CHUNK_LINES))
        for index in range(count)
    ]


# The link map


def line_links(lines: Iterable[Line]) -> dict[str, list[Any]]:
    """Return the lines' origins in a compact form: distinct sets once, and for each line the number of its set.

    Set 0 is the empty one.
    """
    numbers: dict[tuple[int, ...], int] = {(): 0}
    of_line = [numbers.setdefault(tuple(line.origins), len(numbers)) for line in lines]
    return {"sets": [list(origins) for origins in numbers], "lines": of_line}


def origin_rows(answer: Answer) -> list[list[Any]]:
    """Return the origin table as ``[id, level, line or 0, parents]``, which is all that linking needs."""
    return [[row.id, row.level, row.line or 0, row.parents] for row in answer.origins]


# Differences


@dataclass(frozen=True)
class Diff:
    """Two listings merged into one, lines marked as added or removed; line numbers are those of their own side."""

    before: Listing
    after: Listing
    lines: list[DrawnLine]
    links: dict[str, list[Any]]
    added: int
    removed: int


def diff(before: Listing, after: Listing) -> Diff:
    """Return the merged lines of two listings, as ``difflib`` aligns them."""
    old, new = [line.text for line in before.lines], [line.text for line in after.lines]
    old_html, new_html = highlight(old, before.language), highlight(new, after.language)
    drawn: list[DrawnLine] = []
    origins: list[Line] = []

    def take(side: Listing, html: list[Markup], span: range, mark: str) -> None:
        for index in span:
            line = side.lines[index]
            drawn.append(DrawnLine(index + 1, html[index], bool(line.origins), not line.text.strip(), mark))
            origins.append(line)

    for tag, i1, i2, j1, j2 in _opcodes(old, new):
        if tag == "equal":
            take(after, new_html, range(j1, j2), "")
        else:
            take(before, old_html, range(i1, i2), "-")
            take(after, new_html, range(j1, j2), "+")
    added = sum(line.mark == "+" for line in drawn)
    removed = sum(line.mark == "-" for line in drawn)
    return Diff(before, after, drawn, line_links(origins), added, removed)


def _opcodes(old: list[str], new: list[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """Align two texts; what they share at both ends is cut off first, which makes huge listings cheap."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    yield "equal", 0, head, 0, head
    if max(len(middle_old), len(middle_new)) > DIFF_LIMIT:
        yield "replace", head, len(old) - tail, head, len(new) - tail
    else:
        matcher = difflib.SequenceMatcher(None, middle_old, middle_new, autojunk=False)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes():
            yield tag, i1 + head, i2 + head, j1 + head, j2 + head
    yield "equal", len(old) - tail, len(old), len(new) - tail, len(new)


# The timeline


@dataclass(frozen=True)
class Stop:
    """A step that can be chosen; ``id`` survives a recompilation that keeps the step."""

    id: str
    step: Step
    position: int

    @property
    def size(self) -> str:
        """What the step did to the program's size: lines, or instructions."""
        delta = self.step.delta
        if self.step.group in ("llvm", "assembly"):
            return f"{delta['instructions']:,}" if "instructions" in delta else ""
        if not self.step.changed:
            return "="
        lines = delta.get("lines", 0)
        return signed(lines) if lines else "±0"


@dataclass(frozen=True)
class Chip:
    """One button of the strip: a step, or several steps folded together (a phase, a run of one primitive)."""

    label: str
    stop: Stop
    small: str
    dim: bool = False
    members: list[Stop] = field(default_factory=list)
    """Steps inside, shown when the chip is opened."""

    @property
    def hidden(self) -> int:
        """How many of the steps inside changed nothing."""
        return sum(not stop.step.changed for stop in self.members)


@dataclass(frozen=True)
class Row:
    """A named group of the strip."""

    key: str
    title: str
    chips: list[Chip]


def signed(number: int) -> str:
    """Return ``+24`` or, with a true minus sign, ``−6``."""
    return f"+{number:,}" if number > 0 else f"−{-number:,}" if number < 0 else "0"


def stops(unit: Unit) -> list[Stop]:
    """Return the steps of a unit with ids made of group, name and how often the name came before."""
    seen: dict[tuple[str, str], int] = {}
    out = []
    for position, step in enumerate(unit.steps):
        nth = seen[step.group, step.name] = seen.get((step.group, step.name), -1) + 1
        out.append(Stop(f"{step.group}:{step.name}:{nth}", step, position))
    return out


def _schedule_chips(steps: list[Stop]) -> list[Chip]:
    runs: list[list[Stop]] = []
    for stop in steps:
        if runs and runs[-1][0].step.name == stop.step.name:
            runs[-1].append(stop)
        else:
            runs.append([stop])
    chips = []
    for run in runs:
        name = run[0].step.name
        lines = sorted({stop.step.line for stop in run if stop.step.line})
        small = f"line {lines[0]}" if len(lines) == 1 else f"lines {lines[0]}–{lines[-1]}" if lines else "definition"
        label = f"{name} ×{len(run)}" if len(run) > 1 else name
        chips.append(Chip(label, run[-1], small, members=run if len(run) > 1 else []))
    return chips


def _phase_chips(steps: list[Stop]) -> list[Chip]:
    phases: dict[int | None, list[Stop]] = {}
    for stop in steps:
        phases.setdefault(stop.step.phase, []).append(stop)
    chips = []
    for phase, members in phases.items():
        lines = sum(stop.step.delta.get("lines", 0) for stop in members)
        changed = any(stop.step.changed for stop in members)
        small = "=" if not changed else signed(lines) if lines else "±0"
        label = f"Phase {phase}" if phase is not None else members[0].step.name
        chips.append(Chip(label, members[-1], small, dim=not changed, members=members))
    return chips


def _single_chips(steps: list[Stop]) -> list[Chip]:
    return [Chip(stop.step.name, stop, stop.size, dim=not stop.step.changed) for stop in steps]


ROWS: tuple[tuple[str, str, Callable[[list[Stop]], list[Chip]]], ...] = (
    ("schedule", "Schedule", _schedule_chips),
    ("lowering", "Lowering", _phase_chips),
    ("llvm", "LLVM", _single_chips),
)


def timeline(unit: Unit | None) -> list[Row]:
    """Return the strip of a unit; empty rows are left out."""
    if unit is None:
        return []
    every = stops(unit)
    rows = []
    for key, title, fold in ROWS:
        mine = [stop for stop in every if stop.step.group == key]
        if mine:
            rows.append(Row(key, title, fold(mine)))
    return rows


# Panes


@dataclass(frozen=True)
class View:
    """What a visitor looks at: the unit, the chosen step of each text pane, and what it is compared with."""

    unit: int = 0
    loops: str = ""
    against: str = ""
    llvm: str = ""
    asm: str = ""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> View:
        """Read a view that a client sent; what is not understood falls back to the default."""
        unit = raw.get("unit")
        texts = {name: str(raw.get(name) or "")[:200] for name in ("loops", "against", "llvm", "asm")}
        return cls(unit=unit if isinstance(unit, int) and 0 <= unit < 10_000 else 0, **texts)


@dataclass(frozen=True)
class Text:
    """A text pane: the listing that it shows and the words of its title."""

    pane: str
    stop: Stop | None = None
    listing: Listing | None = None
    against: Stop | None = None
    diff: Diff | None = None

    @property
    def chunks(self) -> list[Chunk]:
        return chunks(self.listing) if self.listing else []

    @property
    def links(self) -> dict[str, list[Any]]:
        return self.diff.links if self.diff else line_links(self.listing.lines if self.listing else ())

    @property
    def facts(self) -> list[str]:
        """The words of the title, most telling first."""
        if self.listing is None or self.stop is None:
            return []
        if self.diff is not None and self.against is not None:
            return [f"{describe(self.against)} → {describe(self.stop)}", f"+{self.diff.added} −{self.diff.removed}"]
        facts = [describe(self.stop)] if self.pane != "asm" else []
        facts += [fact for name, value in self.listing.summary.items() if (fact := _fact(name, value))]
        if self.pane == "loops":
            facts.append(_count(len(self.listing.lines), "line"))
        facts.append(f"{self.listing.linked:.0%} linked".replace("%", " %"))
        return facts


def describe(stop: Stop) -> str:
    """Return how a title names a step: ``phase 3, MakePackedAPI``, ``optimised``."""
    step = stop.step
    return f"phase {step.phase} · {step.name}" if step.phase is not None else step.name


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


_PLURALS = {"spills": "spill", "instructions": "instruction", "lanes": "lane"}


def _fact(name: str, value: float | str) -> str:
    if isinstance(value, str):
        return value
    if name.endswith(" bits"):
        return f"{value:g}-bit {name[: -len(' bits')]}s" if value else ""
    if name == "fma":
        return f"{value:,} FMA"
    return _count(int(value), _PLURALS[name]) if name in _PLURALS else f"{value:,g} {name}"


@dataclass(frozen=True)
class Page:
    """All that the templates need of an answer and a view."""

    answer: Answer
    view: View
    unit: Unit | None
    rows: list[Row]
    loops: Text
    llvm: Text
    asm: Text
    loop_stops: list[Stop]
    asm_stops: list[Stop]

    @property
    def data(self) -> dict[str, Any]:
        """What the scripts of the page read of an answer."""
        return {
            "status": self.answer.status,
            "origins": origin_rows(self.answer),
            "problems": self.answer.problems,
            "measurements": self.answer.measurements,
            "unit": self.view.unit,
        }


def page(answer: Answer, view: View) -> Page:
    """Choose what each pane shows: the step of the view where it still exists, else the last of its kind."""
    unit = answer.units[min(view.unit, len(answer.units) - 1)] if answer.units else None
    every = [stop for stop in stops(unit) if stop.step.listing in answer.listings] if unit else []
    lowering = [stop for stop in every if stop.step.group == "lowering"]
    llvm = [stop for stop in every if stop.step.group == "llvm"]
    assembly = [stop for stop in every if stop.step.group == "assembly"]
    return Page(
        answer=answer,
        view=view,
        unit=unit,
        rows=timeline(unit),
        loops=_text("loops", lowering, view.loops, answer, view.against),
        llvm=_text("llvm", llvm, view.llvm, answer),
        asm=_text("asm", assembly, view.asm, answer),
        loop_stops=lowering,
        asm_stops=assembly,
    )


def _text(pane: str, choices: list[Stop], wanted: str, answer: Answer, against: str = "") -> Text:
    stop = next((stop for stop in choices if stop.id == wanted), choices[-1] if choices else None)
    if stop is None or stop.step.listing is None:
        return Text(pane)
    listing = answer.listings[stop.step.listing]
    other = next((choice for choice in choices if choice.id == against), None)
    if other is None or other.step.listing is None:
        return Text(pane, stop, listing)
    return Text(pane, stop, listing, other, diff(answer.listings[other.step.listing], listing))


# Numbers


def duration(seconds: float) -> str:
    """Return a time with three digits and the unit that fits: ``842 µs``, ``12.3 ms``."""
    for limit, factor, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if seconds < limit:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def how_measured(measurement: Measurement) -> str:
    """Return the conditions of a measurement in a line."""
    spread = measurement.spread / measurement.seconds if measurement.seconds else 0.0
    return f"median of {measurement.repeats}, ± {spread / 2:.1%}, {_count(measurement.threads, 'thread')}"
