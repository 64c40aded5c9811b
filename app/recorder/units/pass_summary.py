"""Summaries of passes, from their docstrings."""

from __future__ import annotations

import inspect
from functools import cache

from compiler.relay import transform as graph_passes
from compiler.tir import transform as loop_passes


@cache
def pass_summary(name: str) -> str:
    """Return the first sentence of a built-in pass's docstring; empty for a user's pass."""
    for package in (loop_passes, graph_passes):
        documented = getattr(package, name.rpartition(".")[2], None)
        if documented is not None:
            return (inspect.getdoc(documented) or "").partition("\n")[0].replace("``", "")
    return ""
