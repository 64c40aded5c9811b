"""The schedule of a function: its stages as nests of loops, and its primitives one by one."""

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
    def tensors(self) -> bool:
        """Whether it is a schedule of tensor expressions; those of TensorIR have the program after each step."""
        return bool(self.primitives) and not any(step.step.listing for step in self.primitives)


def produce_schedule(pane: Pane, selection: Selection) -> ScheduleNest | None:
    """Return the schedule of the function that is shown."""
    if selection.function is None:
        return None
    return ScheduleNest(selection.function, [step for step in selection.steps if step.step.group == pane.group])
