"""Traces for the player: accesses of a small program, and simulated caches.

Long arrays are base64 of little-endian integers, so that a hostile one costs no more than its characters.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

MAX_EVENTS = 40_000
"""Events of a trace: accesses, and iterations of loops that begin."""
Packed = Annotated[str, Meta(max_length=400_000)]
"""Base64 of an array."""


class TracedMemory(Struct, frozen=True, kw_only=True):
    """An argument of the traced function, or memory that it allocates."""

    name: str
    dtype: str
    shape: list[int]
    local: bool = False
    original: list[int] = []
    """Shape in the user's program, of arguments."""


class TracedLoop(Struct, frozen=True, kw_only=True):
    """A loop, and what its iterations touch."""

    name: str
    kind: str
    extent: str
    line: int
    """1-based line of the text."""
    iterations: int
    bytes: int
    """Different bytes that one iteration touches, at most."""


class TracedSite(Struct, frozen=True, array_like=True):
    """A place of the program that reads or writes."""

    memory: int
    write: bool
    line: int
    lanes: int
    stride: int
    loops: list[int]


class ModelLevel(Struct, frozen=True, kw_only=True):
    """A cache of a model, and the lines that hit and missed in it."""

    name: str
    size: int
    ways: int
    line: int
    hits: int
    compulsory: int
    capacity: int
    conflict: int


class CacheModel(Struct, frozen=True, kw_only=True):
    """What caches would make of the trace: a model, no measurement."""

    name: str
    note: str
    """What the sizes are, and where they come from."""
    levels: list[ModelLevel]
    memory_bytes: int
    """Read from memory and written back."""
    served: Packed
    """Of each event, a byte: the level that had its line; -1 of an iteration."""
    kinds: Packed
    """Of each event, a byte: why it missed in the first level."""
    reuse: list[tuple[int, int, int]]
    """The first and the last reuse distance of a range, in lines, and how many uses are in it; -1 is a first use."""


class Trace(Struct, frozen=True, kw_only=True):
    """The accesses of a run of one function."""

    name: str
    lines: list[str]
    shown: list[int]
    """Of each line, its 1-based line in the program's own size; 0 of one that is not there."""
    shown_lines: int
    """Lines of the program in its own size."""
    memories: list[TracedMemory]
    loops: list[TracedLoop]
    sites: list[TracedSite]
    events: Annotated[int, Meta(ge=0, le=MAX_EVENTS)]
    codes: Packed
    """Of each event, two bytes: the site of an access, or, negative, -1 - the loop whose iteration begins."""
    values: Packed
    """Of each event, four bytes: the first element of an access, or the loop variable."""
    size: str
    """What the sizes are, in a sentence."""
    small: bool
    """Whether it is a smaller computation than the user's."""
    complete: bool
    """Whether it ran to its end."""
    models: list[CacheModel]


class Traced(msgspec.Struct, frozen=True, kw_only=True, tag="traced"):
    """Sent when a program was traced."""

    trace: Trace
