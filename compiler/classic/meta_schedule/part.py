"""What a program may replace of a search."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

    from compiler.classic.meta_schedule.tune_context import TuneContext


class Part:
    """A part of a search; each task has a clone of its own, which is told its context before it is used."""

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        """Take notice of the task."""

    def clone(self) -> Self:
        """Return a part for another task."""
        return copy.copy(self)
