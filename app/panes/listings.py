"""Rendering of listings in chunks, with their links.

Listings are rendered in chunks of :data:`CHUNK_LINES` lines.  Only the first ones are part of the page; the others are
placeholders of known height, fetched by content hash when they approach the viewport.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypedDict

from markupsafe import Markup

from app.artifacts import Line, Listing, OriginId
from app.panes.highlighting import LANGUAGES, highlight

CHUNK_LINES = 200
BLOCK_LINES = 25
"""Number of lines that the browser skips together when out of view; ``code.css`` has their height."""
FIRST_CHUNKS = 2
MAX_CHUNKS, MAX_CHUNK_CHARACTERS = 200, 32_000
"""Capacity of the cache of highlighted chunks, and maximum length of a cached text."""


MOVED_AWAY, MOVED_HERE, REWRITTEN = "<", ">", "~"
KINDS = {"+": " added", "-": " removed", MOVED_AWAY: " moved away", MOVED_HERE: " moved", REWRITTEN: " moved"}
"""Of lines in a difference, by their marks: of the last three both texts have the line, here in the old one, here in
the new one, or here in both but otherwise indented or with other parameters."""


MAX_LEVEL = 7
"""Levels of four spaces that ``code.css`` has an indent for, to which the rest of a long line is indented."""
WRAPPED = frozenset({"python", "c", "cuda", "opencl", "metal", "webgpu"})
"""Languages of loops, whose long lines continue on the next row; the others are lists of instructions."""
_HEADER = re.compile(r"(# from tvm\.script|@I\.ir_module)")
_BEFORE = re.compile(r"\s*(#.*|@.*|class \w+:)?")


def header_lines(listing: Listing) -> int:
    """Return how many lines precede the first function of a program as TVMScript: imports and decorators."""
    lines = listing.lines
    if not lines or not _HEADER.match(lines[0].text):
        return 0
    return next((at for at, line in enumerate(lines) if not _BEFORE.fullmatch(line.text)), 0)


@dataclass(frozen=True)
class DrawnLine:
    """A rendered line; in a diff, ``mark`` is one of :data:`KINDS`, ``…`` for a fold, or empty."""

    number: int
    html: Markup
    mark: str = ""

    @property
    def kind(self) -> str:
        """CSS classes of a line, with a leading space: of its part in a diff, and how far it is indented."""
        level = (len(self.html) - len(self.html.lstrip(" "))) // 4
        return KINDS.get(self.mark, "") + (f" i{min(level, MAX_LEVEL)}" if level else "")


@dataclass(frozen=True)
class Chunk:
    """A run of lines; ``lines`` is empty for a placeholder."""

    index: int
    size: int
    lines: list[DrawnLine] = field(default_factory=list)
    header: int = 0
    """Number of its first lines that show once they are asked for."""


@dataclass(frozen=True)
class Block:
    """Lines that the browser renders together, or skips while they are out of view."""

    start: int
    lines: Sequence[DrawnLine]

    @property
    def whole(self) -> bool:
        """Whether it has the height that the style sheet assumes for skipped blocks."""
        return len(self.lines) == BLOCK_LINES


def blocks(lines: Sequence[DrawnLine], first: int = 0) -> list[Block]:
    """Split lines into blocks of :data:`BLOCK_LINES`; ``first`` is the index of the first line."""
    return [Block(first + at, lines[at : at + BLOCK_LINES]) for at in range(0, len(lines), BLOCK_LINES)]


@lru_cache(MAX_CHUNKS)
def _highlighted(texts: tuple[str, ...], language: str) -> list[Markup]:
    """Highlight with a cache: an edit leaves most chunks unchanged."""
    return highlight(texts, language)


def draw_chunk(listing: Listing, index: int) -> Chunk:
    """Render a chunk of a listing with syntax highlighting."""
    start = index * CHUNK_LINES
    lines = listing.lines[start : start + CHUNK_LINES]
    texts = tuple(line.text for line in lines)
    short = sum(map(len, texts)) <= MAX_CHUNK_CHARACTERS
    html = (_highlighted if short else highlight)(texts, listing.language)
    drawn = [DrawnLine(number, text) for number, text in enumerate(html, start + 1)]
    return Chunk(index, len(lines), drawn, 0 if index else min(header_lines(listing), len(lines)))


def chunks(listing: Listing, first: int = FIRST_CHUNKS) -> list[Chunk]:
    """Return all chunks of a listing: the first ones rendered, the others as placeholders."""
    count = -(-len(listing.lines) // CHUNK_LINES)
    return [
        draw_chunk(listing, index)
        if index < first
        else Chunk(index, min(CHUNK_LINES, len(listing.lines) - index * CHUNK_LINES))
        for index in range(count)
    ]


def file_name(listing: Listing) -> str:
    """Return the file name for a listing."""
    stem = re.sub(r"[^\w.-]+", "_", listing.name, flags=re.ASCII).strip("._")[:80] or listing.level
    language = LANGUAGES.get(listing.language)
    return stem + (".txt" if language is None else language.suffix)


# The link map


class LineLinks(TypedDict):
    """The origins of each line, as distinct sets and the index of each line's set."""

    sets: list[list[OriginId]]
    lines: list[int]


def line_links(lines: Iterable[Line]) -> LineLinks:
    """Return the origins of lines in a compact form, as distinct sets and the index of each line's set.

    Set 0 is the empty one.
    """
    numbers: dict[tuple[int, ...], int] = {(): 0}
    of_line = [numbers.setdefault(tuple(line.origins), len(numbers)) for line in lines]
    return {"sets": [list(origins) for origins in numbers], "lines": of_line}
