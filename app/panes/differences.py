"""Differences: two listings merged, lines marked as added or removed, long unchanged stretches folded.

Names that were only numbered anew are not a difference, and of changed lines the words that changed are marked.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from app.artifacts import Line, Listing
from app.panes.changed_words import Span, changed_spans, mark
from app.panes.highlighting import highlight
from app.panes.listings import DrawnLine, LineLinks, line_links
from app.panes.renaming import renamed, skeleton

MAX_ALIGNED = 6_000
"""Lines a side that are aligned; longer stretches are shown as replaced."""
MAX_THOROUGH = 1_000
"""Lines a side up to which frequent lines may anchor the alignment, which takes quadratic time."""
CONTEXT = 20
"""Unchanged lines shown on either side of a change; more of them are folded."""
MAX_MARKED = 200
"""Lines of a replaced block whose changed words are marked."""
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

    def take(
        self, side: Listing, start: int, stop: int, sign: str, changed: Mapping[int, list[Span]] | None = None
    ) -> None:
        """Show lines ``[start, stop)`` of a side, as far as there is room, with the columns that changed."""
        shown = min(stop, start + max(0, MAX_SHOWN - len(self.drawn)))
        lines = side.lines[start:shown]
        for number, html in enumerate(highlight((line.text for line in lines), side.language), start + 1):
            spans = changed.get(number - 1) if changed else None
            self.drawn.append(DrawnLine(number, mark(html, spans) if spans else html, sign))
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
    for tag, i1, i2, j1, j2 in aligned(before, after):
        if tag == "equal":
            merger.unchanged(after, j1, j2, len(after.lines))
            continue
        added, removed = added + j2 - j1, removed + i2 - i1
        old, new = _changed_columns(before, after, (i1, i2, j1, j2))
        merger.take(before, i1, i2, "-", old)
        merger.take(after, j1, j2, "+", new)
    return Diff(before, after, merger.drawn, line_links(merger.origins), added, removed)


def aligned(before: Listing, after: Listing) -> list[Opcode]:
    """Return which lines of two listings are equal, but for the names that a printer or a pass numbers."""
    if before.language != after.language:
        return list(_opcodes([x.text for x in before.lines], [x.text for x in after.lines]))
    language = after.language
    old, new = ([skeleton(x.text, language) for x in side.lines] for side in (before, after))
    codes = list(_opcodes(old, new))
    pairs = [(i, i - i1 + j1) for tag, i1, i2, j1, _ in codes if tag == "equal" for i in range(i1, i2)]
    verdicts = renamed([(before.lines[i].text, after.lines[j].text) for i, j in pairs], language)
    same = {i for (i, _), fits in zip(pairs, verdicts, strict=True) if fits}
    return [piece for code in codes for piece in _split(code, same)]


def _split(code: Opcode, same: set[int]) -> Iterator[Opcode]:
    """Yield an opcode, one of equal skeletons in runs of lines that are the same and lines that are not."""
    tag, i1, i2, j1, _ = code
    if tag != "equal" or i1 == i2:
        yield code
        return
    for fits, run in groupby(range(i1, i2), lambda i: i in same):
        lines = list(run)
        first, last = lines[0], lines[-1] + 1
        yield "equal" if fits else "replace", first, last, j1 + first - i1, j1 + last - i1


def _changed_columns(
    before: Listing, after: Listing, block: tuple[int, int, int, int]
) -> tuple[dict[int, list[Span]], dict[int, list[Span]]]:
    """Return by line which columns of a replaced block changed; its first lines belong together, then the second."""
    i1, i2, j1, j2 = block
    old: dict[int, list[Span]] = {}
    new: dict[int, list[Span]] = {}
    for i, j in zip(range(i1, min(i2, i1 + MAX_MARKED)), range(j1, j2), strict=False):
        spans = changed_spans(before.lines[i].text, after.lines[j].text)
        if spans is not None:
            old[i], new[j] = spans
    return old, new


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
