"""Tunable schedule parameters: defaults, unless a configuration overrides them.

A schedule asks :func:`choose` for its numbers as it comes to them.  While the space of a task is defined, each of them
is a knob whose first value is the usual one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, Protocol

from compiler.ir.context_stack import setting
from compiler.ir.error import ArgumentError, show


class Configuration(Protocol):
    """Numbers that somebody chose for a schedule, by their names, or a space that is being defined."""

    is_fallback: bool
    """Whether nobody chose them, so that the usual ones are taken."""
    is_defined: bool
    """Whether all have values; otherwise the schedule says what may be chosen."""

    def define_knob(self, name: str, candidate: list[int]) -> None:
        """Say which values a number may have, the usual one first."""

    def __getitem__(self, name: str) -> Any:
        """Return what holds a number as its ``val``."""


_CONFIGURATION: ContextVar[Callable[[], Configuration | None] | None] = ContextVar(
    "configuration of a schedule", default=None
)


def chosen_by(configuration: Callable[[], Configuration | None]) -> AbstractContextManager[None]:
    """Let a configuration choose the numbers of the schedules that are made meanwhile.

    ``configuration`` is called for schedules that have numbers to choose only.  It returns the configuration, or the
    space that is being defined; None, or one that nobody tuned, is for the usual numbers.
    """
    return setting(_CONFIGURATION, configuration)


def choose(name: str, usual: int, candidates: Iterable[int]) -> int:
    """Return a number of a schedule."""
    configuration = _CONFIGURATION.get()
    config = None if configuration is None else configuration()
    if config is None or config.is_fallback:
        return usual
    allowed = [usual, *(number for number in candidates if number != usual)]
    if not config.is_defined:
        config.define_knob(name, allowed)
    try:
        number = config[name].val
    except (KeyError, AttributeError):
        raise ArgumentError(f"the configuration has no value for the schedule's knob {name}") from None
    if number not in allowed:
        raise ArgumentError(f"the configuration's {name} must be one of {allowed}, got {show(number)}")
    return int(number)
