"""A cache simulator: which accesses of a trace hit, and why the others miss.

Each level is set-associative, replaces the line that was used least recently, allocates on writes, and sees what misses
in the level before it.  There is no prefetching, and the caches are empty at first: a model, not a measurement.

References
----------
M. D. Hill, A. J. Smith: Evaluating Associativity in CPU Caches.  IEEE Transactions on Computers 38 (12), 1989: misses
are compulsory, of capacity, or conflicts.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from compiler.ir.error import ArgumentError
from compiler.tir.access_trace.addresses import lines_touched
from compiler.tir.access_trace.recording import AccessTrace


class MissKind(IntEnum):
    """Why an access misses."""

    HIT = 0
    COMPULSORY = 1
    """The line was never touched before."""
    CAPACITY = 2
    """A cache of the same size that can hold any line anywhere would miss as well."""
    CONFLICT = 3
    """It would not: too many lines share a set."""


@dataclass(frozen=True, slots=True)
class CacheLevel:
    """A cache."""

    name: str
    size: int
    ways: int
    line: int

    @property
    def lines(self) -> int:
        """Lines that it holds."""
        return self.size // self.line

    @property
    def sets(self) -> int:
        """Sets that its lines are divided into."""
        return max(1, self.lines // self.ways)


@dataclass
class LevelReport:
    """What one level made of the accesses that reached it."""

    level: CacheLevel
    # lines that hit, and that missed of each kind, by MissKind
    counts: list[int] = field(default_factory=lambda: [0] * len(MissKind))

    @property
    def hits(self) -> int:
        """Lines that were there."""
        return self.counts[MissKind.HIT]

    @property
    def misses(self) -> int:
        """Lines that were not."""
        return sum(self.counts[1:])


@dataclass
class CacheReport:
    """What caches make of a trace."""

    levels: list[LevelReport]
    # of each event the position of the level that had its line, and the number of levels where memory had; of an
    # access of several lines the slowest; -1 of an iteration's beginning
    served: array[int]
    kinds: array[int]  # why each missed in the first level; of several lines the largest
    written_back: int = 0  # lines that were written and go back to memory, those at the end included

    @property
    def memory_bytes(self) -> int:
        """Bytes read from memory and written back to it."""
        last = self.levels[-1]
        return (last.misses + self.written_back) * last.level.line


class _Level:
    """One level at work: its sets, and beside them one set of all lines that tells capacity from conflict."""

    def __init__(self, level: CacheLevel) -> None:
        self.report = LevelReport(level)
        self._sets: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(level.sets)]
        self._ways = min(level.ways, level.lines)
        self._any: OrderedDict[int, None] = OrderedDict()
        self._seen: set[int] = set()
        self.evicted: int | None = None

    def touch(self, line: int) -> MissKind:
        """Use a line; on a miss it comes in, and ``evicted`` is the one that goes."""
        self.evicted = None
        ways = self._sets[line % len(self._sets)]
        hit, elsewhere = line in ways, line in self._any
        ways[line] = self._any[line] = None
        ways.move_to_end(line)
        self._any.move_to_end(line)
        if len(ways) > self._ways:
            self.evicted, _ = ways.popitem(last=False)
        if len(self._any) > self.report.level.lines:
            self._any.popitem(last=False)
        kind = self._kind(line, hit, elsewhere)
        self._seen.add(line)
        self.report.counts[kind] += 1
        return kind

    def _kind(self, line: int, hit: bool, elsewhere: bool) -> MissKind:
        if hit:
            return MissKind.HIT
        if line not in self._seen:
            return MissKind.COMPULSORY
        return MissKind.CONFLICT if elsewhere else MissKind.CAPACITY


def simulate_caches(trace: AccessTrace, levels: Sequence[CacheLevel]) -> CacheReport:
    """Send the accesses of a trace through caches."""
    if not levels or len({level.line for level in levels}) > 1:
        raise ArgumentError(f"simulate_caches: levels must be caches of one line size, got {list(levels)}")
    if any(level.lines < 1 or level.ways < 1 for level in levels):
        raise ArgumentError(f"simulate_caches: each level must hold a line, got {list(levels)}")
    working = [_Level(level) for level in levels]
    count = len(trace.codes)
    report = CacheReport([w.report for w in working], array("b", [-1]) * count, array("b", [0]) * count)
    dirty: set[int] = set()
    for position, write, lines in lines_touched(trace, levels[0].line):
        for line in lines:
            served, kind = _served(working, line)
            if working[-1].evicted in dirty:
                dirty.discard(working[-1].evicted)
                report.written_back += 1
            report.served[position] = max(report.served[position], served)
            report.kinds[position] = max(report.kinds[position], kind)
        if write:
            dirty.update(lines)
    report.written_back += len(dirty)
    return report


def _served(working: list[_Level], line: int) -> tuple[int, MissKind]:
    """Touch a line from the first level on, and return which level had it, and why the first had not."""
    first = MissKind.HIT
    working[-1].evicted = None
    for number, level in enumerate(working):
        kind = level.touch(line)
        if number == 0:
            first = kind
        if kind == MissKind.HIT:
            return number, first
    return len(working), first
