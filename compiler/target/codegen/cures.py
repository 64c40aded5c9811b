"""Suggestions for data types that a target lacks."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from compiler.ir import dtype as dt

_BYTE = 8
_NONE: Mapping[str, str] = MappingProxyType({})


def cure(dtype: str, missing: Mapping[str, str] = _NONE) -> str:
    """Return the suffix of an error message that suggests a replacement for a data type."""
    d = dt.parse(dtype)
    advice = missing.get(dtype, "")
    if d.code in ("int", "uint") and d.bits < _BYTE:
        wider = f"{d.code}{_BYTE}"
        advice = advice or missing.get(wider, f"use {wider}")
    return f"; {advice}" if advice else ""
