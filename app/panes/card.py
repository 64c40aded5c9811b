"""What a link's preview card says: title, a loop nest or a graph in its colours, and the measured speed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from app.artifacts import Answer, Options, Origin, OriginId, Stage, Unit
from app.docstrings import described
from app.panes.numbers import number
from app.panes.selection import View, select

WIDTH, HEIGHT = 1200, 630
"""Pixels of its picture, as sites that show previews of links expect."""
ROWS = 8
"""Rows of loops, operators or code."""
TINTS = 8
MAX_RUNGS = 60
LEAST_RATE, MOST_RATE = 1e-3, 1e7
"""GFLOP/s that a link can believably tell."""


class KeptRung(msgspec.Struct, frozen=True, array_like=True):
    """The first fields of a measurement as links keep it: ``FIELDS`` of ``static/js/ladder-link.js``."""

    name: str | None
    kind: str | None
    seconds: float | None
    spread: float | None
    repeats: int | None
    number: int | None
    threads: int | None
    flops: float | None
    gflops: float
    traffic: float | None
    checked: str | None
    error: float | None
    cpu: str | None


@dataclass(frozen=True)
class CardRow:
    """A loop, an operator, the head of a stage or a line of code."""

    text: str
    detail: str = ""
    note: str = ""
    depth: int = 0
    tint: int = 0
    """From 1 to :data:`TINTS`; 0 for none."""


@dataclass(frozen=True)
class Card:
    """The content of a preview card."""

    title: str
    words: str
    rows: Sequence[CardRow]
    left_out: int = 0
    """Rows that there is no room for."""
    rate: str = ""
    """The best measured rate in GFLOP/s; empty where nothing was measured."""
    rate_notes: Sequence[str] = ()


def card_of(answer: Answer | None, script: str, title: str, words: str, view: Mapping[str, object]) -> Card:
    """Return the card of a link.

    Parameters
    ----------
    answer : Answer, optional
        What the script compiles to; without it, the script itself is shown.
    view : mapping
        The view of the link, which may hold a ladder.
    """
    rows = list(_rows(answer)) if answer is not None else []
    if not rows:
        rows = [CardRow(line) for line in _code(script)]
    rate, notes = _measured(view)
    return Card(title, words, rows[:ROWS], max(0, len(rows) - ROWS), rate, notes)


def _code(script: str) -> Iterator[str]:
    """Yield the lines of a script that say something, without its docstring."""
    told = (line for line in described(script).code.splitlines() if line.strip())
    yield from (line for line in told if not line.lstrip().startswith(("#", "import ", "from ")))


def _rows(answer: Answer) -> Iterator[CardRow]:
    selection = select(answer, View(), Options())
    if selection.graph is not None:
        yield from _operators(answer, selection.graph)
    elif selection.function is not None:
        yield from _loops(answer, selection.function)


def _operators(answer: Answer, graph: Unit) -> Iterator[CardRow]:
    drawings = [answer.drawings[step.drawing] for step in graph.steps if step.drawing in answer.drawings]
    typed = (drawing for drawing in drawings if any(node.type for node in drawing.nodes if node.kind == "operator"))
    drawing = next(typed, drawings[0] if drawings else None)
    if drawing is None:
        return
    shown = [node for node in drawing.nodes if node.kind == "operator"]
    colours = _Colours(answer.origins, [node.origins for node in shown])
    for node in shown:
        yield CardRow(node.label, node.type, tint=colours.of(node.origins))


def _loops(answer: Answer, function: Unit) -> Iterator[CardRow]:
    """Yield the nests of the stages, that with the most loops first."""
    stages = [stage for stage in function.schedule if stage.loops]
    colours = _Colours(answer.origins, [loop.origins for stage in stages for loop in stage.loops])
    for stage in sorted(stages, key=lambda stage: -len(stage.loops)):
        yield CardRow(stage.name, note=stage.placement)
        for loop in stage.loops:
            words = [loop.kind if loop.kind != "spatial" else "", loop.annotation]
            note = " ".join(filter(None, words))
            yield CardRow(loop.name, loop.extent, note, loop.depth, colours.of(loop.origins))
        yield CardRow(stage.body, depth=_depth(stage))


def _depth(stage: Stage) -> int:
    return max(loop.depth for loop in stage.loops) + 1


class _Colours:
    """Tints by the line of the script that something comes from, in the order of the lines.

    Of several lines it is the one that fewest others come from, as on the page.
    """

    def __init__(self, origins: Sequence[Origin], shown: Sequence[Sequence[OriginId]]) -> None:
        self._rows = {origin.id: origin for origin in origins}
        self._uses = Counter(line for ids in shown for line in self._lines(ids))
        lines = sorted({line for ids in shown if (line := self._primary(ids))})
        self._tints = {line: 1 + index % TINTS for index, line in enumerate(lines)}

    def of(self, ids: Sequence[OriginId]) -> int:
        """Return the tint of something with these origins; 0 for none."""
        return self._tints.get(self._primary(ids), 0)

    def _primary(self, ids: Sequence[OriginId]) -> int:
        return min(self._lines(ids), key=lambda line: (self._uses[line], -line), default=0)

    def _lines(self, ids: Sequence[OriginId]) -> set[int]:
        lines, seen, todo = set(), set(), list(ids)
        while todo:
            row = self._rows.get(todo.pop())
            if row is None or row.id in seen:
                continue
            seen.add(row.id)
            if row.level == "memory":
                continue
            if row.level == "source" and row.line:
                lines.add(row.line)
            todo += row.parents
        return lines


def _measured(view: Mapping[str, object]) -> tuple[str, list[str]]:
    """Return the last rate of a link's ladder, and what it is compared with: whoever made the link says so."""
    rungs = [rung for index in range(MAX_RUNGS) if (rung := _rung(view.get(f"rung{index}")))]
    steps = [rung for rung in rungs if rung.kind == "prefix"]
    if not steps:
        return "", []
    last = steps[-1]
    notes = [f"{number(last.gflops / steps[0].gflops, 3)}× the first step"] if len(steps) > 1 else []
    notes += [f"NumPy {number(rung.gflops, 3)} GFLOP/s" for rung in rungs if rung.kind == "numpy"][:1]
    return number(last.gflops, 3), [*notes, "as the link says, on", last.cpu or "an unknown machine"]


def _rung(text: object) -> KeptRung | None:
    """Return a measurement of a link that has a believable rate; whoever made the link may have written anything."""
    try:
        rung = msgspec.json.decode(text, type=KeptRung) if isinstance(text, str) else None
    except (msgspec.MsgspecError, RecursionError):
        return None
    return rung if rung is not None and LEAST_RATE <= rung.gflops <= MOST_RATE else None
