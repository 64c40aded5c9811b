"""Deprecated spellings: they still work, and warn once per run about their replacement."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_INTERNAL = ("compiler.", "importlib.")


@cache
def deprecated(old: str, new: str) -> None:
    """Warn of an older spelling at the line of the program that uses it, the first time."""
    frame = sys._getframe(1)
    while frame.f_back is not None and f"{frame.f_globals.get('__name__')}.".startswith(_INTERNAL):
        frame = frame.f_back
    warnings.warn_explicit(
        f"{old} is deprecated: use {new}",
        DeprecationWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=frame.f_globals.get("__name__"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


def renamed_parameter(old: str, new: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function take a parameter by its name in older releases too, and warn of it."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if old in kwargs and new not in kwargs:
                deprecated(f"{function.__name__}: the parameter {old}", new)
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate
