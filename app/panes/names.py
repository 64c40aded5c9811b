"""Abbreviation of long names, keeping their distinctive ends."""

from __future__ import annotations

MAX_LAYER = 64
"""Characters of a layer's name in a table."""


def elided(name: str, most: int) -> str:
    """Return a name of at most ``most`` characters: its beginning and, twice as long, its end."""
    if len(name) <= most:
        return name
    head = (most - 1) // 3
    return f"{name[:head]}…{name[len(name) + head + 1 - most :]}"


def layer_name(name: str) -> str:
    """Return the name of a layer as tables show it, which have the whole one beside it."""
    return elided(name, MAX_LAYER)
