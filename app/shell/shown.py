"""What commands print of an answer: listings, errors, tables."""

from __future__ import annotations

import sys
from typing import TextIO

from app.artifacts import NOISE, Answer, Measurement, Problem, Workspace
from app.errors import NotFound, Unbuildable
from app.panes import texts
from app.panes.texts import find_text, text_of
from app.protocol import Failed
from app.shell.failures import WRONG_COMMAND, Failure

_COLOURS = {"+": "32", "-": "31", "@": "36"}


def text(answer: Answer, workspace: Workspace, name: str, pane: str, function: str = "", step: str = "") -> str:
    """Return the text of a pane of the program of a name; see :func:`~app.panes.texts.find_text`.

    Raises
    ------
    Failure
        If there is no such text, with what there is instead.
    """
    try:
        return text_of(find_text(answer, workspace.options, pane, function, step))
    except NotFound as error:
        wrong = "--emit" if error.field == "pane" else name
        raise Failure(f"{wrong}: {error.message}", WRONG_COMMAND) from None
    except Unbuildable as error:
        raise Failure(f"{name}: {error.message}") from None


def print_console(answer: Answer) -> None:
    """Print what the script wrote, and the explorer's notes as errors."""
    for piece in answer.console:
        print(piece.text, end="" if piece.text.endswith("\n") else "\n", file=_stream(piece.stream))


def _stream(name: str) -> TextIO:
    return sys.stdout if name in ("stdout", "value") else sys.stderr


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


def failure_line(failed: Failed, name: str = "") -> str:
    """Return what could not be measured, and why; of an error of the script of a name, where it is."""
    if name and failed.step is None and failed.problem.line is not None:
        return problem_line(failed.problem, name)
    return f"{failed.label}: {failed.problem.kind}: {failed.problem.message}"


def _share(measured: Measurement) -> float:
    return measured.spread / measured.seconds if measured.seconds else 0.0


def difference(before: str, after: str, names: tuple[str, str], coloured: bool) -> list[str]:
    """Return a unified diff, with colours for terminals if asked."""
    lines = texts.difference(before, after, names)
    return [_painted(line) if coloured else line for line in lines]


def _painted(line: str) -> str:
    colour = _COLOURS.get(line[:1])
    return f"\x1b[{colour}m{line}\x1b[0m" if colour else line
