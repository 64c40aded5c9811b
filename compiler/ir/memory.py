"""What holds of the memory of every program: arrays of the runtime, and what functions allocate for themselves."""

from __future__ import annotations

__all__ = ["ALIGNMENT"]

ALIGNMENT = 64
"""Bytes that memory starts at a multiple of: a cache line, and the widest vector register of any CPU."""
