"""What a program may replace of a search."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from compiler.ir.error import ArgumentError

if TYPE_CHECKING:
    from typing import Self

    from compiler.classic.meta_schedule.tune_context import TuneContext

Made = TypeVar("Made")


class Part:
    """A part of a search; each task has a clone of its own, which is told its context before it is used."""

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        """Take notice of the task."""

    def clone(self) -> Self:
        """Return a part for another task."""
        return copy.copy(self)


def created(operation: str, kinds: Mapping[str, Callable[..., Made]], kind: object, *args: Any, **options: Any) -> Made:
    """Return an object of a kind; raises ArgumentError if it is none of those that there are."""
    if not isinstance(kind, str) or kind not in kinds:
        raise ArgumentError(f"{operation}: kind must be of {', '.join(kinds)}, got {kind!r}")
    return kinds[kind](*args, **options)
