"""The timeline from the first graph pass to LLVM's last stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.panes import table
from app.panes.buttons import TimelineButton
from app.panes.steps import TimelineStep


@dataclass(frozen=True)
class TimelineGroup:
    """The buttons of one group of steps."""

    name: str
    title: str
    buttons: list[TimelineButton]


def timeline(steps: Sequence[TimelineStep]) -> list[TimelineGroup]:
    """Return the strip of some steps, a graph's and those of a function, in the order in which they were recorded."""
    members: dict[str, list[TimelineStep]] = {}
    for step in steps:
        members.setdefault(step.step.group, []).append(step)
    panes = {pane.group: pane for pane in table.PANES if pane.strip}
    return [
        TimelineGroup(group, pane.strip, pane.fold(members[group]))
        for group in members
        if (pane := panes.get(group)) is not None and pane.fold is not None
    ]
