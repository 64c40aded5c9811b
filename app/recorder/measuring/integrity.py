"""Detects whether a script has modified the explorer.

A script may replace built-in functions, empty ``sys.modules`` or patch the compiler; subsequent failures are then its
own fault.  Only functions and classes are compared, as other module attributes may change legitimately.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType

_COMPARED = (
    "app.",
    "builtins.",
    "compiler.",
    "contextlib.",
    "linecache.",
    "msgspec.",
    "os.",
    "signal.",
    "sys.",
    "threading.",
    "traceback.",
)
"""The packages whose definitions are compared."""
_DEFINED = (FunctionType, BuiltinFunctionType, type, property, classmethod, staticmethod)

Place = tuple[str, str, str]
"""Module, name, and name inside a class."""


class Integrity:
    """A snapshot of the definitions of the modules that the explorer uses."""

    def __init__(self) -> None:
        self._definitions = dict(_definitions())

    def violated(self) -> bool:
        """Whether a definition has changed or disappeared."""
        try:
            now = dict(_definitions())
            return any(now.get(place) is not value for place, value in self._definitions.items())
        except BaseException:  # not even this works
            return True


def _definitions() -> Iterator[tuple[Place, object]]:
    for name, module in list(sys.modules.items()):
        if not f"{name}.".startswith(_COMPARED) or not isinstance(module, ModuleType):
            continue
        for attribute, value in list(vars(module).items()):
            if not isinstance(value, _DEFINED):
                continue
            yield (name, attribute, ""), value
            if isinstance(value, type) and value.__module__ == name:
                for inner, defined in list(vars(value).items()):
                    if isinstance(defined, _DEFINED):
                        yield (name, attribute, inner), defined
