"""Abbreviation of long names, keeping their distinctive ends."""

from __future__ import annotations

MAX_LAYER = 64
"""Maximum length of a layer name in a table."""


def elided(name: str, most: int) -> str:
    """Shorten a name to ``most`` characters, keeping its start and, twice as long, its end."""
    if len(name) <= most:
        return name
    head = (most - 1) // 3
    return f"{name[:head]}…{name[len(name) + head + 1 - most :]}"


def layer_name(name: str) -> str:
    """Return the shortened name of a layer for tables, which also have the full one."""
    return elided(name, MAX_LAYER)
