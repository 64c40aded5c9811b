"""The text of a pane by the names of its function and step, for programs that have no page."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import msgspec

from app.artifacts import Answer, Listing, Options, Unit, Workspace
from app.errors import NotFound, Unbuildable
from app.panes.listing_pane import PaneListing
from app.panes.page import page
from app.panes.pane import Pane
from app.panes.selection import View
from app.panes.table import PANES

TEXT_PANES = {pane.name: pane for pane in PANES if pane.listing and pane.group and not pane.name[-1].isdigit()}
"""The panes that show texts."""


def asking_for(workspace: Workspace, pane: str) -> Workspace:
    """Return a workspace whose options have the text of a pane made."""
    option = TEXT_PANES[pane].option if pane in TEXT_PANES else ""
    if not option:
        return workspace
    return msgspec.structs.replace(workspace, options=msgspec.structs.replace(workspace.options, **{option: True}))


def find_text(answer: Answer, options: Options, pane: str, function: str = "", step: str = "") -> Listing:
    """Return the text of a pane.

    Parameters
    ----------
    function
        Name of a function or graph; the one that was built last if empty.
    step
        Name of the pass or primitive after which it is shown; the last one if empty.

    Raises
    ------
    NotFound
        If there is no such pane, function or step, with those that there are.
    Unbuildable
        If the script makes no such text.
    """
    if pane not in TEXT_PANES:
        raise NotFound(f"there is no text {pane!r}; there are: {', '.join(TEXT_PANES)}", field="pane")
    position = _position(answer.units, function, TEXT_PANES[pane])
    if step:
        return _after(answer, answer.units[position], pane, step)
    kind = answer.units[position].kind
    among = [unit for unit in answer.units if unit.kind == kind].index(answer.units[position])
    view = View(unit=among) if kind == "function" else View(of_graph=among)
    content = page(answer, view, options).contents[pane]
    if not isinstance(content, PaneListing):
        raise Unbuildable(_without_stop(TEXT_PANES[pane].empty) or f"there is no {TEXT_PANES[pane].title}")
    return answer.listings[content.listing.key]


def _position(units: Sequence[Unit], name: str, pane: Pane) -> int:
    graph = pane.group == "graph"
    fitting = [i for i, unit in enumerate(units) if (unit.name == name if name else (unit.kind == "graph") == graph)]
    if fitting:
        return fitting[-1]
    if name:
        there = ", ".join(dict.fromkeys(unit.name for unit in units)) or "none"
        raise NotFound(f"the script makes no function {name!r}; there are: {there}", field="function")
    raise Unbuildable(_without_stop(pane.empty) or f"there is no {pane.title}")


def _after(answer: Answer, unit: Unit, pane: str, name: str) -> Listing:
    groups = {TEXT_PANES[pane].group, TEXT_PANES[pane].also}
    steps = [step for step in unit.steps if step.group in groups and step.listing is not None]
    for step in reversed(steps):
        if name in (step.name, step.name.rpartition(".")[2]) and step.listing is not None:
            return answer.listings[step.listing]
    there = ", ".join(dict.fromkeys(step.name for step in steps)) or "none"
    raise NotFound(f"there is no step {name!r} of {unit.name}; there are: {there}", field="step")


def _without_stop(sentence: str) -> str:
    return sentence.removesuffix(".")


def text_of(listing: Listing) -> str:
    """Return a listing as text that ends with a newline."""
    return "".join(f"{line.text}\n" for line in listing.lines)


def difference(before: str, after: str, names: tuple[str, str] = ("before", "after")) -> list[str]:
    """Return the lines of a unified diff; none if the texts are equal."""
    return list(difflib.unified_diff(before.splitlines(), after.splitlines(), *names, lineterm=""))
