"""The rooms: code, and the tests that are to notice when it refuses less or bounds less closely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PROJECT", "ROOMS", "Room"]

PROJECT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Room:
    """A folder of code with its tests; ``bounds`` are files whose every comparison and ``± 1`` belongs to a bound."""

    source: str
    tests: Sequence[str]
    bounds: Sequence[str] = ()
    root: Path = PROJECT

    def files(self) -> list[Path]:
        """Return the modules of the folder, those in folders below included."""
        return sorted((self.root / self.source).rglob("*.py"))

    def is_bound(self, path: Path) -> bool:
        """Return whether a file computes bounds."""
        return any(path.relative_to(self.root / self.source).match(pattern) for pattern in self.bounds)


ROOMS = {
    "te": Room(
        "compiler/te",
        ["tests/compiler/te"],
        ["lowering/bounds.py", "lowering/guards.py", "lowering/message_passing.py", "relations/*.py"],
    ),
    "tir/schedule": Room(
        "compiler/tir/schedule",
        ["tests/compiler/tir/schedule", "tests/properties/test_tir_schedules.py"],
        ["facts/regions.py", "facts/stored_elements.py"],
    ),
    "arith": Room(
        "compiler/arith",
        ["tests/compiler/arith"],
        [
            "const_int_bound.py",
            "linear/deduce_bound.py",
            "int_set.py",
            "interval_arithmetic.py",
            "modular_set.py",
            "overflow.py",
            "region_bounds.py",
        ],
    ),
    "app/sandbox": Room("app/sandbox", ["tests/app/sandbox"], ["files.py", "limits.py", "rlimits.py", "wire.py"]),
    "app/web": Room("app/web", ["tests/app/web"], ["rates.py", "bodies.py"]),
    "app/store": Room(
        "app/store",
        ["tests/app/store", "tests/app/live"],  # in which rows are followed
        ["byte_semaphore.py", "space.py", "workspace_limits.py"],
    ),
    "app/recorder": Room("app/recorder", ["tests/app/recorder"], ["scripts/allowance.py"]),
    "app/lessons": Room("app/lessons", ["tests/app/lessons"]),
    "app/live": Room("app/live", ["tests/app/live"], ["people.py", "sessions.py"]),
    "compiler/search": Room("compiler/search", ["tests/compiler/search"]),
}
