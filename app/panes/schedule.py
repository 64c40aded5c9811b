"""The schedule pane: stages as loop nests, and primitives one by one."""

from __future__ import annotations

from dataclasses import dataclass

from app.artifacts import Unit
from app.panes.pane import Pane
from app.panes.selection import Selection
from app.panes.steps import TimelineStep


@dataclass(frozen=True)
class ScheduleNest:
    """What the schedule pane draws."""

    function: Unit
    primitives: list[TimelineStep]

    @property
    def can_go_on(self) -> bool:
        """Whether it is a schedule, which can take further primitives."""
        return bool(self.primitives)


def produce_schedule(pane: Pane, selection: Selection) -> ScheduleNest | None:
    """Return the schedule of the function that is shown."""
    if selection.function is None:
        return None
    return ScheduleNest(selection.function, [step for step in selection.steps if step.step.group == pane.group])
