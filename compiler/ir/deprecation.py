"""Deprecated spellings: they still work, and warn once per run about their replacement."""

from __future__ import annotations

import sys
import warnings
from functools import cache

__all__ = ["deprecated"]

_INTERNAL = ("compiler", "importlib")


@cache
def deprecated(old: str, new: str) -> None:
    """Warn of an older spelling at the line of the program that uses it, the first time.

    Parameters
    ----------
    old, new : str
        E.g. ``tvm.context`` and ``tvm.device``.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in _INTERNAL:
        frame = frame.f_back
    warnings.warn_explicit(
        f"{old} is deprecated: use {new}",
        DeprecationWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=frame.f_globals.get("__name__"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )
