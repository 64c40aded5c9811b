"""The text builder behind every printer: lines whose regions carry origins.

A printer says ``with out.at(node): …``; whatever is written inside is a region of that node.  A node that spans
several lines owns its header, not its body: an indented block starts afresh.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from compiler.ir.node import Node
from compiler.ir.origin import NO_SPAN, Span


class Region(NamedTuple):
    """Columns ``[start, end)`` of a line, written for ``node``."""

    start: int
    end: int
    node: Node

    @property
    def span(self) -> Span:
        """The origins of the node."""
        return self.node.span


@dataclass(frozen=True, slots=True)
class Line:
    """A finished line; inner regions stand before the outer ones that contain them."""

    text: str
    regions: tuple[Region, ...]

    @property
    def span(self) -> Span:
        """The origins of all regions together."""
        return NO_SPAN.union(*(r.node.span for r in self.regions))


class _Open:
    """A node that is being written; not a generator, as this is entered for every node of a listing."""

    __slots__ = ("node", "out", "start")

    def __init__(self, out: TextBuilder, node: Node) -> None:
        self.out = out
        self.node = node
        self.start = 0

    def __enter__(self) -> None:
        self.out._begin(self)

    def __exit__(self, *exc: object) -> None:
        self.out._end(self)


class TextBuilder:
    """Builds indented lines with regions."""

    def __init__(self, indent: str = "    ") -> None:
        self.lines: list[Line] = []
        self.positions: dict[Node, tuple[int, int]] = {}
        """Where each node was first written: line (1-based) and column (1-based)."""
        self._indent = indent
        self._depth = 0
        self._parts: list[str] = []
        self._column = 0
        self._regions: list[Region] = []
        self._open: list[_Open] = []

    def write(self, text: str) -> None:
        """Write a piece of the current line."""
        if not self._parts:
            pad = self._indent * self._depth
            self._parts.append(pad)
            self._column = len(pad)
            for o in self._open:
                o.start = self._column
        self._parts.append(text)
        self._column += len(text)

    def newline(self) -> None:
        """End the current line."""
        self._regions += [Region(o.start, self._column, o.node) for o in self._open if self._column > o.start]
        self.lines.append(Line("".join(self._parts), tuple(self._regions)))
        self._parts, self._regions, self._column = [], [], 0
        for o in self._open:
            o.start = 0

    def line(self, text: str) -> None:
        """Write a whole line."""
        self.write(text)
        self.newline()

    def at(self, n: Node) -> AbstractContextManager[None]:
        """Attribute what is written inside to ``n``."""
        return _Open(self, n)

    def _begin(self, opened: _Open) -> None:
        start = opened.start = self._column if self._parts else len(self._indent) * self._depth
        self.positions.setdefault(opened.node, (len(self.lines) + 1, start + 1))
        self._open.append(opened)

    def _end(self, opened: _Open) -> None:
        self._open.pop()
        if self._parts and self._column > opened.start:
            self._regions.append(Region(opened.start, self._column, opened.node))

    @contextmanager
    def indented(self) -> Iterator[None]:
        """Indent the lines written inside; they belong to their own nodes only."""
        self._depth += 1
        try:
            with self.apart():
                yield
        finally:
            self._depth -= 1

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Let the lines written inside belong to their own nodes only, at the indentation that is there."""
        saved, self._open = self._open, []
        try:
            yield
        finally:
            self._open = saved

    def text(self) -> str:
        """Return all finished lines as one string."""
        return "\n".join(line.text for line in self.lines)


def tuple_text(parts: Sequence[str]) -> str:
    """Return parts in parentheses; one alone is followed by a comma."""
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
