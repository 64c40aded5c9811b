"""Constants of memory layout: alignment of arrays and of allocations."""

from __future__ import annotations

ALIGNMENT = 64
"""Bytes that memory starts at a multiple of: a cache line, and the widest vector register of any CPU."""
