"""Units as the page and what runs in a script's process write them."""

from __future__ import annotations


def size(value: float) -> str:
    """Return a number of bytes with three digits and the unit that fits, each 1,024 of the one before: ``657 KB``."""
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1023.5:  # what would be written as 1024 of a unit is 1 of the next
            return f"{value:.{3 if value < 999.5 else 4}g} {unit}"
        value /= 1024
    return f"{value:,.0f} TB"
