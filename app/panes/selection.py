"""The visitor's selection: the view of a page or link, and what it shows of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from app.artifacts import Answer, Cell, Options, Unit
from app.panes.limits import trimmed
from app.panes.steps import TimelineStep, timeline_steps

_decoder = msgspec.json.Decoder(dict[str, str | int | float | bool])

MAX_VIEW = 50_000
"""Characters of a view in JSON; each pane has two ids in it."""

OPENED = "opened"
"""Name under which a view lists the panes that are open and were not at first."""

GRAPH_AGAINST = "graph_against"
"""Name under which a view keeps what the graph is compared with."""

MODEL = "model:"
"""Begins what stands for another graph of the answer in a comparison; its position among them follows."""

PREVIOUS = "previous"
"""Stands for the step before in a comparison."""


@dataclass(frozen=True)
class View:
    """The unit and the steps that are looked at; what it does not say is as by default."""

    unit: int = -1
    """Position among the functions; -1 is the one that the script built last."""
    of_graph: int = -1
    """Position among the graphs; -1 is the last."""
    chosen: Mapping[str, str] = field(default_factory=dict)
    """Id of the chosen step by pane, and of the step compared with by the pane's ``against``."""

    @classmethod
    def read(cls, raw: str) -> View:
        """Read a view that a client sent as JSON; what is not understood, or too long, is left at its default."""
        if len(raw) > MAX_VIEW:
            return cls()
        try:
            values = _decoder.decode(raw)
        except msgspec.MsgspecError:
            return cls()
        positions = {name: value for name in ("unit", "of_graph") if type(value := values.get(name)) is int}
        return cls(**positions, chosen={name: value for name, value in values.items() if isinstance(value, str)})


@dataclass(frozen=True)
class Selection:
    """An answer, and the function and graph of it that are shown."""

    answer: Answer
    view: View
    options: Options
    function: Unit | None
    """The function whose loops, code and schedule are shown."""
    graph: Unit | None
    """The graph that is shown, where the script made one."""
    steps: list[TimelineStep]
    """The steps of the graph, then those of the function."""

    @property
    def functions(self) -> list[Unit]:
        """The functions to choose from."""
        return _of_kind(self.answer, "function")

    @property
    def graphs(self) -> list[Unit]:
        """The graphs to choose from."""
        return _of_kind(self.answer, "graph")

    @property
    def compared(self) -> Unit | None:
        """The graph that is compared with the one that is shown, if another one was chosen."""
        return self.other_graph(self.view.chosen.get(GRAPH_AGAINST, ""))

    def other_graph(self, against: str) -> Unit | None:
        """Return the graph of the answer that ``against`` stands for, unless it is the one that is shown."""
        position = against.removeprefix(MODEL) if against.startswith(MODEL) else ""
        graphs = self.graphs
        found = graphs[int(position)] if position.isdecimal() and int(position) < len(graphs) else None
        return found if found is not self.graph else None


def unit_label(answer: Answer, unit: Unit) -> str:
    """Return what a unit is called beside others: its name and line; of the only graph of a cell, the cell's title."""
    cell = _cell_of(answer, unit)
    if unit.kind == "graph" and cell is not None and cell.title:
        beside = [other for other in _of_kind(answer, "graph") if _cell_of(answer, other) is cell]
        return cell.title if len(beside) == 1 else f"{cell.title} · line {unit.line}"
    return f"{unit.name} · line {unit.line}" if unit.line else unit.name


def _cell_of(answer: Answer, unit: Unit) -> Cell | None:
    return next((cell for cell in answer.cells if unit.line and cell.line <= unit.line <= cell.end_line), None)


def select(answer: Answer, view: View, options: Options) -> Selection:
    """Return what a view selects of an answer: its units where they exist, else those built last."""
    answer = trimmed(answer)
    function = _chosen(_of_kind(answer, "function"), view.unit)
    graph = _chosen(_of_kind(answer, "graph"), view.of_graph)
    steps = [step for unit in (graph, function) if unit for step in timeline_steps(unit)]
    return Selection(answer, view, options, function, graph, steps)


def _of_kind(answer: Answer, kind: str) -> list[Unit]:
    return [unit for unit in answer.units if unit.kind == kind]


def _chosen(units: list[Unit], position: int) -> Unit | None:
    if 0 <= position < len(units):
        return units[position]
    built = [unit for unit in units if unit.built]
    return (built or units)[-1] if units else None
