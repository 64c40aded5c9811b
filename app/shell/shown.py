"""What commands print of an answer: listings, errors, tables."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence
from typing import TextIO

from app.artifacts import NOISE, Answer, Listing, Measurement, Problem, Unit, Workspace
from app.panes.listing_pane import PaneListing
from app.panes.page import page
from app.panes.pane import Pane
from app.panes.selection import View
from app.panes.table import PANES
from app.shell.failures import WRONG_COMMAND, Failure

EMITTED = {pane.name: pane for pane in PANES if pane.listing and pane.group and not pane.name[-1].isdigit()}
"""What can be printed: the panes that show texts."""
_COLOURS = {"+": "32", "-": "31", "@": "36"}


def listing_of(answer: Answer, workspace: Workspace, pane: str, function: str = "", step: str = "") -> Listing:
    """Return the text of a pane.

    Parameters
    ----------
    function
        Name of a function or graph; the one that was built last if empty.
    step
        Name of the pass or primitive after which it is shown; the last one if empty.

    Raises
    ------
    Failure
        If there is no such text, with what there is instead.
    """
    if pane not in EMITTED:
        raise Failure(f"--emit: there is no text {pane!r}; there are: {', '.join(EMITTED)}", WRONG_COMMAND)
    position = _position(answer.units, function, EMITTED[pane])
    if step:
        return _after(answer, answer.units[position], pane, step)
    kind = answer.units[position].kind
    among = [unit for unit in answer.units if unit.kind == kind].index(answer.units[position])
    view = View(unit=among) if kind == "function" else View(of_graph=among)
    content = page(answer, view, workspace.options).contents[pane]
    if not isinstance(content, PaneListing):
        raise Failure(EMITTED[pane].empty or f"there is no {EMITTED[pane].title}")
    return answer.listings[content.listing.key]


def _position(units: Sequence[Unit], name: str, pane: Pane) -> int:
    graph = pane.group == "graph"
    fitting = [i for i, unit in enumerate(units) if (unit.name == name if name else (unit.kind == "graph") == graph)]
    if fitting:
        return fitting[-1]
    if name:
        there = ", ".join(dict.fromkeys(unit.name for unit in units)) or "none"
        raise Failure(f"the script makes no function {name!r}; there are: {there}", WRONG_COMMAND)
    raise Failure(pane.empty or f"there is no {pane.title}")


def _after(answer: Answer, unit: Unit, pane: str, name: str) -> Listing:
    groups = {EMITTED[pane].group, EMITTED[pane].also}
    steps = [step for step in unit.steps if step.group in groups and step.listing is not None]
    for step in reversed(steps):
        if name in (step.name, step.name.rpartition(".")[2]) and step.listing is not None:
            return answer.listings[step.listing]
    there = ", ".join(dict.fromkeys(step.name for step in steps)) or "none"
    raise Failure(f"there is no step {name!r} of {unit.name}; there are: {there}", WRONG_COMMAND)


def text_of(listing: Listing) -> str:
    """Return a listing as text that ends with a newline."""
    return "".join(f"{line.text}\n" for line in listing.lines)


def print_console(answer: Answer) -> None:
    """Print what the script wrote, and the explorer's notes as errors."""
    for piece in answer.console:
        print(piece.text, end="" if piece.text.endswith("\n") else "\n", file=_stream(piece.stream))


def _stream(name: str) -> TextIO:
    return sys.stdout if name == "stdout" else sys.stderr


def print_problems(answer: Answer, name: str) -> bool:
    """Print the problems of a script as compilers do, and return whether there is an error."""
    for problem in answer.problems:
        print(problem_line(problem, name), file=sys.stderr)
    return any(problem.severity == "error" for problem in answer.problems)


def problem_line(problem: Problem, name: str) -> str:
    """Return ``matmul.py:12:4: error: ScheduleError: …``."""
    place = ":".join(str(part) for part in (name, problem.line, problem.column) if part is not None)
    return f"{place}: {problem.severity}: {problem.kind}: {problem.message}"


def measurement_line(measured: Measurement) -> str:
    """Return a line of a table of times: name, median, spread, speed, check."""
    timed = measured.kind not in ("peak", "bandwidth")  # whose times are of a benchmark, and say nothing themselves
    parts = [f"{measured.name:<44}", f"{measured.seconds * 1e6:>12,.2f} us" if timed else f"{'':>15}"]
    parts.append(f"± {_share(measured):>6.1%}" if timed else f"{'':>8}")
    parts.append(f"{measured.gflops:>9.2f} GFLOP/s" if measured.gflops else f"{'':>17}")
    parts += ["disturbed"] if timed and _share(measured) > NOISE else []
    if measured.checked != "unchecked":
        parts.append("same result" if measured.checked == "ok" else f"WRONG RESULT, off by {measured.error:g}")
    parts += ["extrapolated"] if measured.estimated else []
    parts += [measured.note] if measured.note else []
    return "  ".join(parts).rstrip()


def _share(measured: Measurement) -> float:
    return measured.spread / measured.seconds if measured.seconds else 0.0


def difference(before: Sequence[str], after: Sequence[str], names: tuple[str, str], coloured: bool) -> list[str]:
    """Return a unified diff, with colours for terminals if asked."""
    lines = difflib.unified_diff(before, after, *names, lineterm="")
    return [_painted(line) if coloured else line for line in lines]


def _painted(line: str) -> str:
    colour = _COLOURS.get(line[:1])
    return f"\x1b[{colour}m{line}\x1b[0m" if colour else line
