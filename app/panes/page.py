"""Conversion of an answer to template data: panes, timeline, data for the page's scripts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from app.artifacts import Answer, Options, OriginId, Problem
from app.panes import table
from app.panes.buttons import TimelineButton
from app.panes.fingerprints import fingerprints
from app.panes.pane import Pane
from app.panes.selection import Selection, View, select
from app.panes.steps import TimelineStep

OriginRow = tuple[OriginId, str, int, list[OriginId]]
"""Id, level, line or 0, and parents of an origin, for linking."""


@dataclass(frozen=True)
class Page(Selection):
    """A selection, with the content of each pane."""

    contents: Mapping[str, object | None]
    """Content by pane; None if the answer has none."""
    timeline: list[_TimelineGroup]
    bare: Collection[str] = ()
    """Listing panes that are empty so far, so that they cannot keep an earlier listing."""
    replaced: bool = False
    """Whether what is shown belongs to another program, so that no pane may keep it."""
    recalled: bool = False
    """Whether the answer was made for an earlier request, whose time it tells."""

    @property
    def failed(self) -> bool:
        """Whether the script failed or was stopped, so that its answer may lack what it would have made."""
        return any(problem.severity != "warning" for problem in self.answer.problems)

    @property
    def problem(self) -> Problem | None:
        """The problem that the status names: what ended the script, or else what is wrong with a kernel."""
        ranks = {"error": 0, "info": 1, "warning": 2}
        return min(self.answer.problems, key=lambda problem: ranks[problem.severity], default=None)

    @property
    def redrawn(self) -> list[Pane]:
        """The panes that this answer redraws; a failed script leaves panes it did not reach."""
        return [self.explained(pane) for pane in table.PANES if pane.redrawn and self._draws(pane)]

    def _reached(self, pane: Pane) -> bool:
        return self.contents[pane.name] is not None or pane.name in self.bare

    def _draws(self, pane: Pane) -> bool:
        return self._reached(pane) or self.replaced or not (self.failed or pane.on_demand)

    def explained(self, pane: Pane) -> Pane:
        """Return the definition of a pane, with the reason if it has no listing.

        The kernels cannot be printed in its language, the script failed, or there was no time to print it.
        """
        steps = self.function.steps if self.function is not None else ()
        refused = next((step for step in steps if step.group == "kernel" and step.refused and not step.listing), None)
        if refused is not None and pane.machine == "device" and self.contents[pane.name] is None:
            return replace(pane, empty=f"No {refused.name}: {refused.refused}")
        problem = self.problem if self.failed else None  # a compilation that lacks time is no error
        if not pane.listing or self.contents[pane.name] is not None:
            return pane
        title = (table.find(pane.copy_of) or pane).title
        what = title if title.split()[0].isupper() else title[0].lower() + title[1:]
        if problem is None:
            made = [*steps, *(self.graph.steps if self.graph is not None else ())]
            late = any(step.group == pane.group and step.applied for step in made)
            busy = " The server was busy: the next compilation may have it." if self.answer.hurried else ""
            return replace(pane, empty=f"No {what}: there was no time to print it.{busy}") if late else pane
        end = "was stopped" if self.answer.status in ("timeout", "limit") else f"ended with {problem.kind}"
        where = f" at line {problem.line}" if problem.line else ""
        return replace(pane, empty=f"No {what}: the script {end}{where} before it made any.")

    @property
    def live(self) -> list[Pane]:
        """The panes that are redrawn while the script is running: of those, the ones that it has reached."""
        return [pane for pane in self.redrawn if pane.live and self._reached(pane)]

    @property
    def redraws_timeline(self) -> bool:
        """Whether this answer redraws the timeline."""
        return bool(self.function or self.graph or self.replaced or not self.failed)

    @property
    def stale(self) -> list[str]:
        """The panes, and ``strip``, that still show an earlier answer."""
        if not self.failed or self.replaced:
            return []
        panes = [pane.name for pane in table.PANES if table.compiled(pane) and not self._reached(pane)]
        return [*panes, *([] if self.redraws_timeline else ["strip"])]

    @property
    def target(self) -> str:
        """The target of the selection: the script's, or else that of the options."""
        shown = self.function or self.graph
        return shown.target if shown is not None else ""

    @property
    def machine(self) -> str:
        """Machine of the selected function: ``"device"`` if it launches kernels, else ``"cpu"``."""
        kernels = self.function is not None and any(step.group == "kernel" for step in self.function.steps)
        return "device" if kernels else "cpu"

    @property
    def data(self) -> Mapping[str, object]:
        """The data of an answer for the page's scripts."""
        return {
            "status": self.answer.status,
            "mode": self.answer.mode,
            "replaces": self.replaced,
            "target": self.target,
            "machine": self.machine,
            "origins": origin_rows(self.answer),
            "problems": self.answer.problems,
            "hints": self.answer.hints,
            "measurements": self.answer.measurements,
            "outputs": fingerprints(self.answer),
            "splits": [(split.line, split.extent) for split in self.function.splits] if self.function else [],
        }


def origin_rows(answer: Answer) -> list[OriginRow]:
    """Return the origin table for the page's scripts."""
    return [(origin.id, origin.level, origin.line or 0, origin.parents) for origin in answer.origins]


def page(answer: Answer, view: View, options: Options | None = None, bare: Collection[str] = ()) -> Page:
    """Return the page of an answer.

    Parameters
    ----------
    view : View
        The selected units and steps.
    options : Options, optional
        Options of the workspace.
    bare : collection of str, optional
        The listing panes that are empty so far.
    """
    selection = select(answer, view, options or Options())
    contents = {pane.name: pane.producer(pane, selection) for pane in table.PANES}
    return Page(**vars(selection), contents=contents, timeline=timeline(selection.steps), bare=bare)


@dataclass(frozen=True)
class _TimelineGroup:
    """The buttons of one group of steps."""

    name: str
    title: str
    buttons: list[TimelineButton]


def timeline(steps: Sequence[TimelineStep]) -> list[_TimelineGroup]:
    """Return the strip of some steps, a graph's and those of a function, in the order in which they were recorded."""
    members: dict[str, list[TimelineStep]] = {}
    for step in steps:
        members.setdefault(step.step.group, []).append(step)
    panes = {pane.group: pane for pane in table.PANES if pane.strip}
    return [
        _TimelineGroup(group, pane.strip, pane.fold(members[group]))
        for group in members
        if (pane := panes.get(group)) is not None and pane.fold is not None
    ]
