"""Memory layout: alignment of arrays and of allocations."""

from __future__ import annotations

ALIGNMENT = 64
"""Bytes that memory starts at a multiple of: a cache line, and the widest vector register of any CPU."""


def aligned(size: int, unit: int) -> int:
    """Return the least multiple of a unit that is no less than a size or address."""
    return -(-size // unit) * unit
