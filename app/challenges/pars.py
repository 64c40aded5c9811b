"""Pars that a search reached elsewhere, each with the processor that it was measured on."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

__all__ = ["PARS", "Par", "read_all", "read_pars"]

PARS = Path(__file__).parent / "pars.json"
"""What ``strata challenge par`` writes."""


class Par(Struct, frozen=True, kw_only=True):
    """What a search and NumPy reached on one thread of a processor."""

    cpu: str
    seconds: float
    numpy: float | None
    trials: int
    """How many schedules the search measured."""
    date: str


@cache
def _all() -> dict[str, list[Par]]:
    return read_all()


def read_all() -> dict[str, list[Par]]:
    """Read the pars of all problems, by name."""
    return msgspec.json.decode(PARS.read_bytes(), type=dict[str, list[Par]]) if PARS.exists() else {}


def read_pars(name: str) -> list[Par]:
    """Return the pars of a problem, none for those of visitors."""
    return _all().get(name, [])
