"""Switches in environment variables."""

from __future__ import annotations

from compiler.ir.error import expected

__all__ = ["strtobool"]

_TRUE = ("y", "yes", "t", "true", "on", "1")
_FALSE = ("n", "no", "f", "false", "off", "0")


def strtobool(val: str) -> bool:
    """Return what a word in an environment variable means.

    Parameters
    ----------
    val : str
        ``y``, ``yes``, ``t``, ``true``, ``on``, ``1``, or one of their opposites, in any case.

    Returns
    -------
    bool

    Raises
    ------
    ArgumentError
        If it is not one of these.
    """
    word = val.lower()
    if word not in _TRUE + _FALSE:
        expected("strtobool", "val", f"one of {', '.join(_TRUE + _FALSE)}", val)
    return word in _TRUE
