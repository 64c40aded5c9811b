"""Suggestions for misspelt names, as in Python's tracebacks."""

from __future__ import annotations

import builtins
import difflib
from collections.abc import Iterable, Mapping
from typing import Any


def suggestion(exc: BaseException, names: Mapping[str, Any]) -> str:
    """Return ``; did you mean 'vectorize'?`` for an unknown name that is close to a known one, else ``""``.

    Parameters
    ----------
    names : mapping
        The script's global names.
    """
    missing = getattr(exc, "name", None)
    if not isinstance(missing, str) or "did you mean" in str(exc):
        return ""
    candidates: Iterable[str]
    if isinstance(exc, AttributeError) and exc.obj is not None:
        candidates = (name for name in dir(exc.obj) if not name.startswith("_"))
    elif isinstance(exc, NameError):
        candidates = [*names, *dir(builtins)]
    else:
        return ""
    close = difflib.get_close_matches(missing, candidates, n=1, cutoff=0.7)
    return f"; did you mean {close[0]!r}?" if close else ""
