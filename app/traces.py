"""Memory traces for the player: the accesses of a small program, and simulated caches.

Long arrays are little-endian integers in base64, so that decoding an untrusted one costs no more than its characters.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

MAX_EVENTS = 40_000
"""Maximum number of events of a trace: accesses, and starts of loop iterations."""
Packed = Annotated[str, Meta(max_length=400_000)]
"""An array in base64."""


class TracedMemory(Struct, frozen=True, kw_only=True):
    """An argument of the traced function, or an allocation in it."""

    name: str
    dtype: str
    shape: list[int]
    local: bool = False
    original: list[int] = []
    """Shape of an argument in the user's program."""


class TracedLoop(Struct, frozen=True, kw_only=True):
    """A loop, with the footprint of its iterations."""

    name: str
    kind: str
    extent: str
    line: int
    """1-based line in the text."""
    iterations: int
    bytes: int
    """Maximum footprint of an iteration, in bytes."""


class TracedSite(Struct, frozen=True, array_like=True):
    """A memory access in the program text."""

    memory: int
    write: bool
    line: int
    lanes: int
    stride: int
    loops: list[int]


class ModelLevel(Struct, frozen=True, kw_only=True):
    """A level of the cache model, with its hits and misses in cache lines."""

    name: str
    size: int
    ways: int
    line: int
    hits: int
    compulsory: int
    capacity: int
    conflict: int


class CacheModel(Struct, frozen=True, kw_only=True):
    """The result of simulating caches on the trace."""

    name: str
    note: str
    """Explanation of the sizes, and their source."""
    levels: list[ModelLevel]
    memory_bytes: int
    """Bytes read from memory and written back."""
    served: Packed
    """For each event, one byte: the level that hit; -1 for an iteration."""
    kinds: Packed
    """For each event, one byte: the kind of its miss in the first level."""
    reuse: list[tuple[int, int, int]]
    """Histogram of reuse distances: first and last distance of a bin, in lines, and its count; -1 is a first use."""


class Trace(Struct, frozen=True, kw_only=True):
    """The memory accesses of one run of a function."""

    name: str
    lines: list[str]
    shown: list[int]
    """For each line, the corresponding 1-based line of the full-size program, or 0."""
    shown_lines: int
    """The lines of the full-size program."""
    memories: list[TracedMemory]
    loops: list[TracedLoop]
    sites: list[TracedSite]
    events: Annotated[int, Meta(ge=0, le=MAX_EVENTS)]
    codes: Packed
    """For each event, two bytes: the site of an access, or ``-1 - loop`` for the start of an iteration."""
    values: Packed
    """For each event, four bytes: the first element of an access, or the value of the loop variable."""
    size: str
    """Description of the sizes."""
    small: bool
    """Whether the computation is smaller than the user's."""
    complete: bool
    """Whether the run is complete."""
    models: list[CacheModel]


class TracedProgram(msgspec.Struct, frozen=True, kw_only=True, tag="traced"):
    """Sent after a program was traced."""

    trace: Trace
