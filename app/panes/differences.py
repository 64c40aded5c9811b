"""Differences of two listings, with marked lines and folded unchanged stretches.

Renumbered names are ignored, moved lines of a graph have a subtle mark, and in changed lines the changed words are
marked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

from markupsafe import Markup

from app.artifacts import Line, Listing
from app.panes.alignment import align
from app.panes.highlighting import highlight
from app.panes.listings import MOVED_AWAY, MOVED_HERE, REWRITTEN, DrawnLine, LineLinks, line_links
from app.panes.renaming import GENERATED

CONTEXT = 20
"""Number of unchanged lines shown around a change; others are folded."""
MAX_MARKED = 200
"""Maximum number of lines of a replaced block whose changed words are marked."""
MAX_SHOWN = 4_000
"""Maximum number of lines of a diff."""


@dataclass(frozen=True)
class Diff:
    """A merged view of two listings; lines keep the numbers of their own side."""

    before: Listing
    after: Listing
    lines: list[DrawnLine]
    links: LineLinks
    added: int
    removed: int
    moved: int
    """Number of lines that moved or are only formatted differently."""


@dataclass(frozen=True)
class _Side:
    """A listing, with the marks of its moved and rewritten lines."""

    listing: Listing
    same: Mapping[int, str]

    def changed(self, start: int, stop: int) -> int:
        """Count the lines in ``[start, stop)`` that the other listing lacks."""
        return sum(at not in self.same for at in range(start, stop))


class _Merger:
    """Builder of a diff: collects its lines with their origins."""

    def __init__(self) -> None:
        self.drawn: list[DrawnLine] = []
        self.origins: list[Line] = []

    def take(self, side: _Side, start: int, stop: int, sign: str, changed: Mapping[int, list[_Span]]) -> None:
        """Append lines ``[start, stop)`` of a side, up to the maximum, with their changed columns."""
        shown = min(stop, start + max(0, MAX_SHOWN - len(self.drawn)))
        lines = side.listing.lines[start:shown]
        for at, html in enumerate(highlight((line.text for line in lines), side.listing.language), start):
            soft = side.same.get(at)
            html = mark(html, changed[at]) if at in changed and not soft else html
            self.drawn.append(DrawnLine(at + 1, html, soft or sign))
        self.origins.extend(lines)
        if shown < stop:
            self.fold(f"{stop - shown:,} more lines")

    def fold(self, text: str) -> None:
        """Append one line that stands for folded ones."""
        self.drawn.append(DrawnLine(0, Markup("… {}").format(text), "…"))
        self.origins.append(Line(""))

    def unchanged(self, side: _Side, start: int, stop: int) -> None:
        """Append unchanged lines, folding those away from changes."""
        head = start + CONTEXT if start else start
        tail = stop - CONTEXT if stop < len(side.listing.lines) else stop
        if tail - head <= CONTEXT:
            self.take(side, start, stop, "", {})
            return
        self.take(side, start, head, "", {})
        self.fold(f"{tail - head:,} unchanged lines")
        self.take(side, tail, stop, "", {})


def diff(before: Listing, after: Listing) -> Diff:
    """Return the diff of two listings, aligned by :func:`~app.panes.alignment.align`."""
    alignment = align(before, after)
    old_side = _Side(before, dict.fromkeys(alignment.moved, MOVED_AWAY))
    here = dict.fromkeys(alignment.moved.values(), MOVED_HERE)
    new_side = _Side(after, here | dict.fromkeys(alignment.rewritten, REWRITTEN))
    merger = _Merger()
    added = removed = 0
    for tag, i1, i2, j1, j2 in alignment.opcodes:
        if tag == "equal":
            merger.unchanged(new_side, j1, j2)
            continue
        added, removed = added + new_side.changed(j1, j2), removed + old_side.changed(i1, i2)
        old, new = _changed_columns(before, after, (i1, i2, j1, j2))
        merger.take(old_side, i1, i2, "-", old)
        merger.take(new_side, j1, j2, "+", new)
    return Diff(before, after, merger.drawn, line_links(merger.origins), added, removed, len(new_side.same))


def _changed_columns(
    before: Listing, after: Listing, block: tuple[int, int, int, int]
) -> tuple[dict[int, list[_Span]], dict[int, list[_Span]]]:
    """Return the changed columns of the lines of a replaced block, whose lines correspond in order."""
    i1, i2, j1, j2 = block
    old: dict[int, list[_Span]] = {}
    new: dict[int, list[_Span]] = {}
    for i, j in zip(range(i1, min(i2, i1 + MAX_MARKED)), range(j1, j2), strict=False):
        spans = changed_spans(before.lines[i].text, after.lines[j].text, GENERATED.get(after.language))
        if spans is not None:
            old[i], new[j] = spans
    return old, new


_MAX_CHARACTERS = 600
"""Maximum length of lines for comparing words, which takes quadratic time."""
_MIN_RATIO = 0.4
"""Fraction of common words below which two lines are unrelated."""

_Span = tuple[int, int]
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_PIECE = re.compile(r"<[^>]*>|&[^;\s]*;|[^<&]+|.", re.DOTALL)


def changed_spans(old: str, new: str, names: re.Pattern[str] | None = None) -> tuple[list[_Span], list[_Span]] | None:
    """Return the column ranges ``[start, end)`` in which two lines differ.

    Parameters
    ----------
    names : re.Pattern, optional
        Words whose change is ignored if others changed too, such as renumbered values.

    Returns
    -------
    tuple of list, or None
        None if the lines are too long or too different.
    """
    if max(len(old), len(new)) > _MAX_CHARACTERS:
        return None
    words, others = _words(old, names), _words(new, names)
    for keys in (lambda word: "%" if names and names.fullmatch(word) else word), str:
        matcher = SequenceMatcher(None, [*map(keys, words)], [*map(keys, others)], autojunk=False)
        if matcher.ratio() < _MIN_RATIO:
            return None
        changes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
        if changes:
            break
    return _columns(words, [(i1, i2) for _, i1, i2, _, _ in changes]), _columns(
        others, [(j1, j2) for _, _, _, j1, j2 in changes]
    )


def _words(text: str, names: re.Pattern[str] | None) -> list[str]:
    """Split a line into words; each generated name is one word."""
    if names is None:
        return _WORD.findall(text)
    words, at = [], 0
    for match in names.finditer(text):
        words += [*_WORD.findall(text[at : match.start()]), match[0]]
        at = match.end()
    return words + _WORD.findall(text[at:])


def _columns(words: list[str], runs: list[_Span]) -> list[_Span]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return [(starts[first], starts[last]) for first, last in runs if first < last]


def mark(html: Markup, spans: list[_Span]) -> Markup:
    """Mark column ranges of a highlighted line.

    Parameters
    ----------
    html : Markup
        Escaped text with non-nested elements.
    spans : list of (int, int)
        Column ranges of the text, in order.
    """
    out: list[str] = []
    column = 0
    for piece in _PIECE.findall(str(html)):
        if piece.startswith("<"):
            out.append(piece)
            continue
        characters = [piece] if piece.startswith("&") else list(piece)
        for character in characters:
            inside = any(start <= column < end for start, end in spans)
            out.append(f"<mark>{character}</mark>" if inside else character)
            column += 1
    return Markup("".join(out).replace("</mark><mark>", ""))
