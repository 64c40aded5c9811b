"""Origins: where every node and every printed line came from.

A node's *span* is a set of origin ids.  The ids are rows of the active :class:`OriginTable`; the user's lines are its
roots.  Without an active table nothing is minted and every span is empty, so that plain library use pays nothing.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType
from typing import ClassVar

from compiler.ir.context_stack import setting
from compiler.ir.recursion import calling_frames

OriginId = int
Span = frozenset[OriginId]


class SourceName:
    """The name of a source, such as a file or a layer of a model; one object for each name."""

    __slots__ = ("name",)
    _by_name: ClassVar[dict[str, SourceName]] = {}

    name: str

    def __new__(cls, name: str) -> SourceName:
        source = cls._by_name.get(name)
        if source is None:
            source = cls._by_name.setdefault(name, super().__new__(cls))
            source.name = name
        return source

    def __reduce__(self) -> tuple[object, ...]:
        return SourceName, (self.name,)

    def __repr__(self) -> str:
        return f"SourceName({self.name!r})"


class _NoSpan(frozenset[OriginId]):
    """The empty span of nodes without an origin; equal to None too, like TVM's missing span.

    A program that asks whether it *is* None finds a source without a name in it.
    """

    __slots__ = ()

    source_name = SourceName("")
    line = end_line = column = end_column = 0

    def __eq__(self, other: object) -> bool:
        return other is None or super().__eq__(other)

    __hash__ = frozenset.__hash__

    def __reduce__(self) -> str:
        return "NO_SPAN"


NO_SPAN: Span = _NoSpan()

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


@dataclass(frozen=True, slots=True)
class Location:
    """A range in a user's file; lines are 1-based, columns 0-based, the end is exclusive."""

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0


@dataclass(frozen=True, slots=True)
class Origin:
    """A row of the origin table."""

    id: OriginId
    level: str
    """``source`` for a user's line; deeper levels name the IR that minted the row."""
    label: str
    """What happened there, e.g. ``C.split(i, factor=32)``."""
    location: Location | None
    parents: Span
    """The rows that this one was made from."""
    name: str = ""
    """What texts show beside what comes from it, e.g. a layer of an imported model; empty for most rows."""


class OriginTable:
    """All origins of one recording, in the order in which they were minted; ``places``: see :func:`mint_place`."""

    def __init__(self) -> None:
        self.rows: list[Origin] = []
        self._named: dict[Span, tuple[Origin, ...]] = {}
        self.places: dict[Location, Span] = {}

    def mint(self, level: str, label: str, location: Location | None, parents: Span, name: str = "") -> Span:
        """Add a row and return the span that names it."""
        row = Origin(len(self.rows), level, label, location, parents, name)
        self.rows.append(row)
        return frozenset((row.id,))

    def named(self, span: Span) -> tuple[Origin, ...]:
        """Return the rows with a name that a span comes from, in the order in which they were minted.

        A layer inside of a function of a model has the layer's name alone: what a row was made from does not count.
        """
        if span not in self._named:
            named, seen, todo = set(), set(span), list(span)
            while todo:
                row = self.rows[todo.pop()]
                if row.name:
                    named.add(row.id)
                else:
                    todo.extend(row.parents - seen)
                    seen |= row.parents
            self._named[span] = tuple(self.rows[i] for i in sorted(named))
        return self._named[span]

    def ancestors(self, span: Span) -> Span:
        """Return the span with all of its parents, their parents and so on."""
        seen: set[OriginId] = set()
        todo = list(span)
        while todo:
            row = todo.pop()
            if row not in seen:
                seen.add(row)
                todo.extend(self.rows[row].parents)
        return frozenset(seen)


@dataclass(slots=True, eq=False)
class Ambient:
    """What nodes and origins inherit from the place where they are created.

    Threads and tasks never share one that changes: the ``with`` blocks below and the outermost visit of a traversal put
    a new one into the context.  Only the visits inside, which never wait for anything, change its ``span`` and
    ``depth``, and put them back.
    """

    span: Span = NO_SPAN  # the span of a node built now
    inherited: Span = NO_SPAN  # what mutators add to the spans of the nodes that they visit
    table: OriginTable | None = None
    level: str | None = None  # the level that lowering speaks in place of the user
    depth: int = 0  # how many visits of mutators are inside of each other; 0 outside of traversals


_NOWHERE = Ambient()
_ambient: ContextVar[Ambient] = ContextVar("ambient", default=_NOWHERE)
current_ambient: Callable[[], Ambient] = _ambient.get
"""Return the ambient of this thread or task."""
set_ambient: Callable[[Ambient], object] = _ambient.set
"""Put an ambient in place of that of this thread or task."""


def current_span() -> Span:
    """Return the span that a node built now inherits."""
    return current_ambient().span


def active_table() -> OriginTable | None:
    """Return the table that origins are minted into, None if nothing records."""
    return current_ambient().table


class derived_from:
    """Lets the nodes built inside of a ``with`` block inherit a span."""

    __slots__ = ("_outer", "_span")

    def __init__(self, span: Span) -> None:
        self._span = span

    def __enter__(self) -> None:
        outer = self._outer = _ambient.get()
        _ambient.set(Ambient(self._span, outer.inherited, outer.table, outer.level, outer.depth))

    def __exit__(self, *exc: object) -> None:
        _ambient.set(self._outer)


def inheriting(span: Span) -> AbstractContextManager[None]:
    """Let the nodes that mutators rebuild inside have ``span`` besides their own.

    For a node that disappears into what it governed: the statements of an unrolled loop come from the loop as well.
    """
    outer = _ambient.get()
    return setting(_ambient, Ambient(outer.span, outer.inherited | span, outer.table, outer.level, outer.depth))


def lowering_to(level: str, span: Span) -> AbstractContextManager[None]:
    """Let what the language of a lower level makes inside come from ``span``, not from the user's current line.

    For lowering that speaks that language itself: a graph's operator becomes tensor expressions and their schedule.
    """
    outer = _ambient.get()
    return setting(_ambient, Ambient(span, outer.inherited, outer.table, level, outer.depth))


@contextmanager
def recording(table: OriginTable, process_wide: bool = False) -> Iterator[OriginTable]:
    """Mint origins into a table inside the block, in this thread or task, or also in threads started in the block."""
    outer, shared = _ambient.get(), _NOWHERE.table
    _ambient.set(Ambient(outer.span, outer.inherited, table, outer.level, outer.depth))
    if process_wide:
        _NOWHERE.table = table
    try:
        yield table
    finally:
        _ambient.set(outer)
        _NOWHERE.table = shared


def unrecorded() -> AbstractContextManager[None]:
    """Mint no origins inside the block, in this thread or task: what is made there has empty spans."""
    return setting(_ambient, Ambient())


def begin_traversal(outer: Ambient) -> Ambient:
    """Give a traversal an ambient of its own, which its visits may change; it ends by setting ``outer`` again."""
    ambient = Ambient(outer.span, outer.inherited, outer.table, outer.level)
    set_ambient(ambient)
    return ambient


class traversing:
    """Gives the traversals of a ``with`` block one ambient, which all of their visits may change."""

    __slots__ = ("_outer",)

    def __enter__(self) -> None:
        self._outer = current_ambient()
        begin_traversal(self._outer).depth = 1

    def __exit__(self, *exc: object) -> None:
        _ambient.set(self._outer)


def user_frame() -> FrameType | None:
    """Return the innermost frame outside of this package, or None."""
    return next((f for f in calling_frames(sys._getframe(1)) if not f.f_code.co_filename.startswith(_PACKAGE)), None)


def locate(frame: FrameType) -> Location:
    """Return the range of the expression that ``frame`` is evaluating."""
    code = frame.f_code
    positions = next(itertools.islice(code.co_positions(), frame.f_lasti // 2, None), (None, None, None, None))
    line, end_line, column, end_column = positions
    line = line or frame.f_lineno
    return Location(code.co_filename, line, column or 0, end_line or line, end_column or 0)


def mint_source(label: str, parents: Span = NO_SPAN) -> Span:
    """Mint a root origin for the user's current line; returns the empty span when nothing records.

    Inside of :func:`lowering_to` it is not a root: the user did not write it, it comes from the ambient span.
    """
    ambient = current_ambient()
    table = ambient.table
    if table is None:
        return NO_SPAN
    if ambient.level is not None:
        return table.mint(ambient.level, label, None, ambient.span | parents)
    frame = user_frame()
    return table.mint("source", label, locate(frame) if frame else None, parents)


def mint_location(label: str, location: Location) -> Span:
    """Mint a root for a line that a parser reads, instead of Python running it; the empty span when nothing records."""
    table = current_ambient().table
    return NO_SPAN if table is None else table.mint("source", label, location, NO_SPAN)


def mint_use(label: str, vocabulary: tuple[str, ...]) -> Span:
    """Mint a row for a word of a user's program that compilers use as well, such as the call of a graph's operator.

    What calls the files that define the words, whose paths begin as ``vocabulary`` says, decides: for a user's line it
    is a row whose parents are the ambient span, as a user's pass makes something new of something; for a pass of this
    package it is the ambient span.
    """
    ambient = current_ambient()
    table = ambient.table
    if table is None:
        return ambient.span
    frame = next((f for f in calling_frames(sys._getframe(1)) if not f.f_code.co_filename.startswith(vocabulary)), None)
    if frame is None or frame.f_code.co_filename.startswith(_PACKAGE):
        return ambient.span
    return table.mint("source", label, locate(frame), ambient.span)


def mint(level: str, label: str, parents: Span, name: str = "") -> Span:
    """Mint a row for something made from ``parents``; returns ``parents`` when nothing records."""
    table = current_ambient().table
    return parents if table is None else table.mint(level, label, None, parents, name)


def record_for_good() -> None:
    """Mint origins from now on, in this thread and those started later, so that nodes have the names of layers."""
    ambient = current_ambient()
    if ambient.table is None:
        _NOWHERE.table = _NOWHERE.table or OriginTable()
        ambient.table = _NOWHERE.table


def mint_place(location: Location) -> Span:
    """Return the row for a place that a program names, one for each, from the line that named it first."""
    record_for_good()
    table = current_ambient().table
    assert table is not None
    if location not in table.places:
        name = location.file
        table.places[location] = table.mint("graph", name, location, mint_source(f"Span {name}".strip()), name)
    return table.places[location]


def named_origins(span: Span) -> tuple[Origin, ...]:
    """Return the rows with a name that a span comes from; empty if nothing records."""
    table = current_ambient().table
    return () if table is None or not span else table.named(span)


def user_line(span: Span) -> int | None:
    """Return the user's line that a span comes from, of several the one that was carried out last; None if unknown.

    So what a primitive made is at the primitive's line, not at the definition's.
    """
    place = user_location(span)
    return None if place is None else place.line


def user_location(span: Span) -> Location | None:
    """Return the place in the user's program that a span comes from, as :func:`user_line` chooses it."""
    table = current_ambient().table
    if table is None:
        return None
    rows = (table.rows[i] for i in sorted(table.ancestors(span), reverse=True))
    return next((row.location for row in rows if row.level == "source" and row.location is not None), None)


def user_place(span: Span) -> str:
    """Return ``" (line 12)"`` for the user's line that a span comes from, for messages; empty if none is known."""
    line = user_line(span)
    return "" if line is None else f" (line {line})"
