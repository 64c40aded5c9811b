"""Differences: two listings merged, lines marked as added or removed, long unchanged stretches folded."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from app.artifacts import Line, Listing
from app.panes.highlighting import highlight
from app.panes.listings import DrawnLine, LineLinks, line_links

MAX_ALIGNED = 6_000
"""Lines a side that are aligned; longer stretches are shown as replaced."""
MAX_THOROUGH = 1_000
"""Lines a side up to which frequent lines may anchor the alignment, which takes quadratic time."""
CONTEXT = 20
"""Unchanged lines shown on either side of a change; more of them are folded."""
MAX_SHOWN = 4_000
"""Lines of a difference that are drawn."""

Opcode = tuple[str, int, int, int, int]


@dataclass(frozen=True)
class Diff:
    """Two listings merged; line numbers are those of their own side."""

    before: Listing
    after: Listing
    lines: list[DrawnLine]
    links: LineLinks
    added: int
    removed: int


class _Merger:
    """Collects the lines of a difference with their origins."""

    def __init__(self) -> None:
        self.drawn: list[DrawnLine] = []
        self.origins: list[Line] = []

    def take(self, side: Listing, start: int, stop: int, mark: str) -> None:
        """Show lines ``[start, stop)`` of a side, as far as there is room."""
        shown = min(stop, start + max(0, MAX_SHOWN - len(self.drawn)))
        lines = side.lines[start:shown]
        for number, html in enumerate(highlight((line.text for line in lines), side.language), start + 1):
            self.drawn.append(DrawnLine(number, html, mark))
        self.origins.extend(lines)
        if shown < stop:
            self.fold(f"{stop - shown:,} more lines")

    def fold(self, text: str) -> None:
        """Show one line in the place of many."""
        self.drawn.append(DrawnLine(0, Markup("… {}").format(text), "…"))
        self.origins.append(Line(""))

    def unchanged(self, side: Listing, start: int, stop: int, total: int) -> None:
        """Show unchanged lines, folding those that are far from any change."""
        head = start + CONTEXT if start else start
        tail = stop - CONTEXT if stop < total else stop
        if tail - head <= CONTEXT:
            self.take(side, start, stop, "")
            return
        self.take(side, start, head, "")
        self.fold(f"{tail - head:,} unchanged lines")
        self.take(side, tail, stop, "")


def diff(before: Listing, after: Listing) -> Diff:
    """Return the merged lines of two listings, as ``difflib`` aligns them."""
    merger = _Merger()
    added = removed = 0
    for tag, i1, i2, j1, j2 in _opcodes([x.text for x in before.lines], [x.text for x in after.lines]):
        if tag == "equal":
            merger.unchanged(after, j1, j2, len(after.lines))
            continue
        added, removed = added + j2 - j1, removed + i2 - i1
        merger.take(before, i1, i2, "-")
        merger.take(after, j1, j2, "+")
    return Diff(before, after, merger.drawn, line_links(merger.origins), added, removed)


def _opcodes(old: list[str], new: list[str]) -> Iterator[Opcode]:
    """Align two texts; what they share at both ends is cut off first, which makes huge listings cheap."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    longest = max(len(middle_old), len(middle_new))
    yield "equal", 0, head, 0, head
    if longest > MAX_ALIGNED:
        yield "replace", head, len(old) - tail, head, len(new) - tail
    else:
        matcher = difflib.SequenceMatcher(None, middle_old, middle_new, autojunk=longest > MAX_THOROUGH)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes():
            yield tag, i1 + head, i2 + head, j1 + head, j2 + head
    yield "equal", len(old) - tail, len(old), len(new) - tail, len(new)
