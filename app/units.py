"""Formatting of quantities with units, for the page and the script's process."""

from __future__ import annotations


def size(value: float) -> str:
    """Format a number of bytes with three digits and a binary unit, e.g. ``657 KB``."""
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1023.5:  # 1024 of a unit is 1 of the next
            return f"{value:.{3 if value < 999.5 else 4}g} {unit}"
        value /= 1024
    return f"{value:,.0f} TB"
