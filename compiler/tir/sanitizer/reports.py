"""The reports of the sanitizer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

MAX_REPORTS = 50
"""Reports of one run; each pair of statements is reported once."""


class Fault(StrEnum):
    """The kinds of faults."""

    DATA_RACE = "data race"
    DIVERGENT_BARRIER = "divergent barrier"
    UNINITIALIZED_READ = "uninitialized read"
    OUT_OF_BOUNDS = "out of bounds"


@dataclass(frozen=True, slots=True)
class Site:
    """What one thread does somewhere."""

    text: str  # the statement or expression of loop IR
    line: int | None  # the user's line that it comes from; None if nothing records lines
    # the position of the thread along each axis, by tag, e.g. `{"blockIdx.x": 0, "threadIdx.x": 3}`
    thread: Mapping[str, int]

    def __str__(self) -> str:
        axes = ", ".join(f"{tag} = {position}" for tag, position in self.thread.items())
        line = "" if self.line is None else f", line {self.line}"
        return f"{self.text} ({axes}{line})"


@dataclass(frozen=True, slots=True)
class Report:
    """One fault."""

    fault: Fault
    message: str  # what is wrong, and what would make it right
    # the two sides of a race or of a divergence, in the order in which they came; one of any other fault
    sites: tuple[Site, ...]

    def __str__(self) -> str:
        return "\n".join([f"{self.fault.value}: {self.message}", *(f"  {site}" for site in self.sites)])


@dataclass(slots=True)
class SanitizerResult:
    """The result of a run."""

    # the faults, in the order in which they came up; each pair of statements once
    reports: list[Report] = field(default_factory=list)
    complete: bool = True  # whether the program ran to its end within the limit of accesses
    # how many threads ran, and how many accesses were checked
    threads: int = 0
    accesses: int = 0
    _seen: set[tuple[object, ...]] = field(default_factory=set)

    def add(self, key: tuple[object, ...], report: Report) -> None:
        """Add a report, unless there is one with the same key."""
        if key not in self._seen and len(self.reports) < MAX_REPORTS:
            self._seen.add(key)
            self.reports.append(report)

    def __str__(self) -> str:
        ran = f"{self.threads} threads, {self.accesses} accesses{'' if self.complete else ', stopped at the limit'}"
        return "\n".join([*map(str, self.reports), f"{len(self.reports)} faults ({ran})"])
