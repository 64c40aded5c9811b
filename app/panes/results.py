"""The console, and for scripts in cells the results of each cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.artifacts import Answer, Cell, Console, Measurement, Problem, Unit
from app.panes.charts import Chart, chart
from app.panes.pane import Pane
from app.panes.selection import Selection


@dataclass(frozen=True)
class MadeUnit:
    """A function or graph that a cell made, and the selector that shows it in the panes."""

    unit: Unit
    selector: str
    position: int


@dataclass(frozen=True)
class Results:
    """What a cell printed and made, and what is wrong with it."""

    cell: Cell | None
    """None for what belongs to no cell: all of a script without any."""
    number: int
    """Of the cell, from 1."""
    console: list[Console]
    problems: list[tuple[int, Problem]]
    """With their positions among those of the answer."""
    units: list[MadeUnit]

    @property
    def state(self) -> str:
        """How far the cell came; one that was stopped before its end, and goes on with Run, did not fail."""
        state = self.cell.state if self.cell else ""
        stopped = bool(self.problems) and all(problem.severity == "info" for _, problem in self.problems)
        return "stopped" if state == "failed" and stopped else state

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.cell or self.console or self.problems)


@dataclass(frozen=True)
class ConsoleContent:
    """The results of a script, cell by cell."""

    environment: Mapping[str, str]
    results: list[Results]


def produce_console(pane: Pane, selection: Selection) -> ConsoleContent:
    """Return the results of each cell, and what belongs to none: that of a script without cells, or notes on all."""
    answer = selection.answer
    units = [MadeUnit(unit, "unit", at) for at, unit in enumerate(selection.functions)]
    units += [MadeUnit(unit, "of-graph", at) for at, unit in enumerate(selection.graphs)]
    results = [_results(answer, number, cell, units) for number, cell in enumerate(answer.cells, 1)]
    told = {position for each in results for position, _ in each.problems}
    rest = Results(
        cell=None,
        number=0,
        console=[entry for entry in answer.console if _cell_of(answer, entry) is None],
        problems=[(at, problem) for at, problem in enumerate(answer.problems) if at not in told],
        units=[],
    )
    return ConsoleContent(answer.environment, [each for each in (*results, rest) if not each.is_empty])


def _cell_of(answer: Answer, entry: Console) -> int | None:
    """Return the position of the cell that printed something; a child may say anything."""
    return entry.cell if entry.cell is not None and 0 <= entry.cell < len(answer.cells) else None


def _results(answer: Answer, number: int, cell: Cell, units: list[MadeUnit]) -> Results:
    def is_inside(line: int | None) -> bool:
        return line is not None and cell.line <= line <= cell.end_line

    return Results(
        cell=cell,
        number=number,
        console=[entry for entry in answer.console if _cell_of(answer, entry) == number - 1],
        problems=[(at, problem) for at, problem in enumerate(answer.problems) if is_inside(problem.line)],
        units=[made for made in units if is_inside(made.unit.line)],
    )


@dataclass(frozen=True)
class _Benchmark:
    """The content of the benchmark pane."""

    measurements: Sequence[Measurement]
    chart: Chart | None


def produce_benchmark(pane: Pane, selection: Selection) -> _Benchmark | None:
    """Return the measurements of an answer, or None if it has none."""
    measurements = selection.answer.measurements
    return _Benchmark(measurements, chart(measurements)) if measurements else None
