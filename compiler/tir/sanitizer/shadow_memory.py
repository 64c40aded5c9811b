"""Shadow memory: records the last accesses, and detects unordered ones as data races."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from compiler.ir.node import Node
from compiler.ir.origin import user_line
from compiler.tir.expressions.evaluation import Array, ElementType
from compiler.tir.sanitizer.reports import Site
from compiler.tir.statements.memory import Access


@dataclass(slots=True, eq=False)
class Timeline:
    """Where a thread stands: which barriers it has passed."""

    # numbers of the thread's block in its grid, and of its warp in the block
    block: int
    warp: int
    axes: Mapping[str, int]  # the thread's position along each axis
    # the barriers of the block, and of the warp, that it has passed
    block_barriers: int = 0
    warp_barriers: int = 0


@dataclass(slots=True, eq=False)
class Place:
    """One place of the program that reads or writes elements of a buffer."""

    access: Access
    node: Node
    # the store that it belongs to, or itself: inside of one statement no barrier can lie
    statement: Node
    writes: bool
    atomic: bool = False
    repeated: bool = False  # whether a thread runs the statement in a loop

    def site(self, axes: Mapping[str, int]) -> Site:
        """Return what a thread does here."""
        return Site(self.access.text, user_line(self.node.span), axes)


class Event(NamedTuple):
    """One access by one thread."""

    thread: Timeline
    block_barriers: int
    warp_barriers: int
    place: Place

    @classmethod
    def now(cls, thread: Timeline, place: Place) -> Event:
        """Return the access that a thread makes now."""
        return cls(thread, thread.block_barriers, thread.warp_barriers, place)

    def races_with(self, later: Event) -> bool:
        """Return whether neither a barrier nor a thread's order lies between this and a later access of an element."""
        return not (self.ordered_with(later) or (self.place.atomic and later.place.atomic))

    def ordered_with(self, later: Event) -> bool:
        """Return whether a barrier, or the order of one thread's statements, lies between this and a later access."""
        a, b = self.thread, later.thread
        if a is b:
            return True
        if a.block != b.block:
            return False
        if self.block_barriers != later.block_barriers:
            return True
        return a.warp == b.warp and self.warp_barriers != later.warp_barriers


@dataclass(slots=True)
class _Cell:
    write: Event | None = None
    reads: dict[Timeline, Event] = field(default_factory=dict)


class ShadowMemory:
    """Memory of one allocation, with the last accesses of each of its units.

    A unit is an element, or a byte where the memory is one of bytes.
    """

    def __init__(self, data: Array, written: bytearray | None, shared: bool) -> None:
        self.data = data
        self.written = written  # for each unit, whether it was written; None if all of them were
        self._cells: dict[int, _Cell] | None = {} if shared else None

    def units(self, kind: ElementType, element: int) -> range:
        """Return the units of an element of a data type."""
        size = self.data.itemsize
        first = element * kind.itemsize // size
        return range(first, max(first + kind.itemsize // size, first + 1))

    def typed(self, kind: ElementType) -> Array:
        """Return the memory as elements of a data type."""
        if self.data.dtype == kind:
            return self.data
        whole = self.data.nbytes // kind.itemsize * kind.itemsize // self.data.itemsize
        return self.data[:whole].view(kind)

    def initialized(self, units: range) -> bool:
        """Return whether all units were written."""
        return self.written is None or all(self.written[unit] for unit in units)

    def read(self, units: range, event: Event) -> Event | None:
        """Note a read; return the write that it races with."""
        rival = None
        for unit in units if self._cells is not None else ():
            rival = self.read_unit(unit, event) or rival
        return rival

    def read_unit(self, unit: int, event: Event) -> Event | None:
        """Note a read of one unit of shared memory; return the write that it races with."""
        cells = self._cells
        assert cells is not None
        cell = cells.get(unit)
        if cell is None:
            cell = cells[unit] = _Cell()
        cell.reads[event.thread] = event
        rival = cell.write
        return rival if rival is not None and rival.races_with(event) else None

    def write(self, units: range, event: Event, changes: bool) -> Event | None:
        """Note a write; return the access that it races with.  Two writes of one value race with nothing."""
        if self.written is not None:
            for unit in units:
                self.written[unit] = 1
        rival = None
        for unit in units if self._cells is not None else ():
            rival = self.write_unit(unit, event, changes) or rival
        return rival

    def write_unit(self, unit: int, event: Event, changes: bool) -> Event | None:
        """Note a write of one unit of shared memory; return the access that it races with."""
        cells = self._cells
        assert cells is not None
        cell = cells.get(unit)
        if cell is None:
            cells[unit] = _Cell(event)
            return None
        rival = None
        if cell.write is not None and changes and cell.write.races_with(event):
            rival = cell.write
        if cell.reads:
            rival = next((read for read in cell.reads.values() if read.races_with(event)), rival)
            cell.reads.clear()
        cell.write = event
        return rival

    @property
    def is_watched(self) -> bool:
        """Whether accesses of several threads are compared."""
        return self._cells is not None
