"""The buttons of the timeline, with folding of similar steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from app.panes.numbers import change
from app.panes.steps import NO_CHANGE, TimelineStep, phase_title, phase_words


@dataclass(frozen=True)
class TimelineButton:
    """A button of the timeline: a step, or several folded steps (a phase, a run of one primitive)."""

    label: str
    target: TimelineStep
    """The step that it selects."""
    caption: str
    """Small text under the label."""
    dim: bool = False
    """Whether its steps had no effect or were not applied."""
    members: list[TimelineStep] = field(default_factory=list)
    """The steps folded into it."""
    prefix: int | None = None
    """For a schedule primitive, the number of primitives up to it."""
    refused: bool = False
    """Whether the primitive could not be applied."""
    words: str = ""
    """What it does, before what its target does."""


def by_step(steps: Sequence[TimelineStep]) -> list[TimelineButton]:
    """Return a button for each step."""
    return [TimelineButton(step.step.name, step, step.change, dim=not step.step.changed) for step in steps]


def by_primitive(steps: Sequence[TimelineStep]) -> list[TimelineButton]:
    """Return a button for each run of the same schedule primitive, which selects the last of the run."""
    buttons = []
    for (name, refused), run in groupby(steps, lambda step: (step.step.name, bool(step.step.refused))):
        members = list(run)
        last = members[-1]
        label = f"✗ {name}" if refused else name
        label = f"{label} ×{len(members)}" if len(members) > 1 else label
        dim = not last.step.applied and not refused
        buttons.append(TimelineButton(label, last, _written_at(members), dim, members, last.prefix, refused))
    return buttons


def _written_at(run: Sequence[TimelineStep]) -> str:
    """Return the lines of the script that applied a run of primitives."""
    lines = sorted({step.step.line for step in run if step.step.line})
    if not lines:
        return "definition" if run[0].step.name == "default" else "automatic"
    return f"line {lines[0]}" if len(lines) == 1 else f"lines {lines[0]}–{lines[-1]}"


def by_phase(steps: Sequence[TimelineStep]) -> list[TimelineButton]:
    """Return a button for each lowering phase."""
    phases: dict[int | None, list[TimelineStep]] = {}
    for step in steps:
        phases.setdefault(step.step.phase, []).append(step)
    buttons = []
    for phase, members in phases.items():
        lines = sum(step.step.delta.get("lines", 0) for step in members)
        changed = any(step.step.changed for step in members)
        caption = change(lines, "line") if changed else NO_CHANGE
        label = phase_title(phase) if phase is not None else members[0].step.name
        words = phase_words(phase) if phase is not None else ""
        buttons.append(TimelineButton(label, members[-1], caption, dim=not changed, members=members, words=words))
    return buttons


def by_effect(steps: Sequence[TimelineStep]) -> list[TimelineButton]:
    """Return a button for each step that changed something, folding the unchanged ones after it."""
    buttons: list[TimelineButton] = []
    for step in steps:
        if step.step.changed or not buttons:
            buttons.append(TimelineButton(step.step.name, step, step.change, members=[step]))
        else:
            buttons[-1].members.append(step)
    return buttons


def by_change(steps: Sequence[TimelineStep]) -> list[TimelineButton]:
    """Return a button for each pass that changed the graph, folding runs of the others."""
    buttons = []
    for (changed, applied), run in groupby(steps, lambda step: (step.step.changed, step.step.applied)):
        members = list(run)
        if not applied:
            label = members[0].name if len(members) == 1 else f"{len(members)} passes"
            buttons.append(TimelineButton(label, members[-1], "off", dim=True, members=members))
        elif changed or len(members) == 1:
            buttons += [TimelineButton(step.name, step, step.change, dim=not changed) for step in members]
        else:
            buttons.append(TimelineButton(f"{len(members)} passes", members[-1], NO_CHANGE, dim=True, members=members))
    return buttons
