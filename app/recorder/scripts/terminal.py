"""What a terminal would show of the text that a program writes to it."""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
"""Sequences that set colours, move the cursor or name the window (ECMA-48)."""
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def as_shown(text: str) -> str:
    """Return text without colours and control characters; of a line that is written over, its last version.

    Parameters
    ----------
    text : str
        Everything that was written.

    Returns
    -------
    str
        Lines of plain text.
    """
    plain = _CONTROLS.sub("", _ESCAPES.sub("", text))
    return "\n".join(map(_written_over, plain.split("\n"))) if "\r" in plain else plain


def _written_over(line: str) -> str:
    """Return what is left of a line whose beginning is returned to, as progress bars do."""
    return next((part for part in reversed(line.split("\r")) if part), "")
