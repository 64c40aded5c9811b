"""The schedule pane: stages as loop nests, and primitives one by one."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from app.artifacts import Unit, has_rung
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

    @property
    def layouts(self) -> object:
        """The data for drawing the layouts of buffers."""
        return msgspec.to_builtins(self.function.layouts)

    @property
    def rungs(self) -> set[str]:
        """Ids of the primitives after which a ladder measures."""
        applied = [step for step in self.primitives if not step.step.refused]
        return {step.id for step in applied if has_rung(step.step.detail or step.step.name, step is applied[-1])}


def produce_schedule(pane: Pane, selection: Selection) -> ScheduleNest | None:
    """Return the schedule of the function that is shown."""
    if selection.function is None:
        return None
    return ScheduleNest(selection.function, [step for step in selection.steps if step.step.group == pane.group])
