"""The registry of pattern tables, for ``MergeComposite``."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

Table = Callable[[], Any]
_TABLES: dict[str, Table] = {}
_PROVIDED = {"dnnl": "compiler.classic.relay.contrib.dnnl"}
"""Modules that set a compiler's table when they are imported, which needs the operators to be there already."""


def register_pattern_table(compiler: str, table: Table | None = None) -> Any:
    """Set the patterns of an external compiler: a function that returns the entries that ``MergeComposite`` takes.

    Without it, the decorator is returned.

    Examples
    --------
    >>> @register_pattern_table("dsp")
    ... def patterns():
    ...     return [("dsp.conv_relu", is_op("nn.relu")(is_op("nn.conv2d")(wildcard(), wildcard())))]
    """

    def enter(function: Table) -> Table:
        _TABLES[compiler] = function
        return function

    return enter if table is None else enter(table)


def get_pattern_table(compiler: str) -> Any:
    """Return what the function that was registered for an external compiler returns; None if there is none."""
    if compiler not in _TABLES and compiler in _PROVIDED:
        importlib.import_module(_PROVIDED[compiler])
    table = _TABLES.get(compiler)
    return None if table is None else table()
