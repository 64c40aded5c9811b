"""What rewritten modules call where they can be mutated.  Lies in the copy of the project as ``strata_mutants``.

Every process that imports the module finds by its ancestors which mutant it belongs to, and marks in one shared file
what was reached: where the mutant would have done something else.
"""

from __future__ import annotations

import mmap
import operator
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

STATE = Path(__file__).resolve().parent / ".mutants"
NONE = -1


def _active() -> int:
    """Return the mutant of the nearest ancestor that has one."""
    pid = os.getpid()
    while pid > 0:
        file = STATE / str(pid)
        if file.exists():
            return int(file.read_text())
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return NONE
    return NONE


def _shared() -> Any:
    with (STATE / "reached").open("r+b") as file:
        return mmap.mmap(file.fileno(), 0)


active = _active()
reached = _shared()

COMPARISONS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "<": (operator.lt, operator.le),
    "<=": (operator.le, operator.lt),
    ">": (operator.gt, operator.ge),
    ">=": (operator.ge, operator.gt),
}
"""Each comparison, and the one that differs where both sides are equal."""


def kept(number: int) -> bool:
    """Return whether the statement is executed; it is reached."""
    reached[number] = 1
    return active != number


def on(number: int) -> bool:
    """Return whether this is the mutant; a call is reached only when an error comes out of it."""
    return active == number


def refused(number: int) -> None:
    """An error comes out of a call."""
    reached[number] = 1


def part(number: int, value: Any, neutral: bool) -> Any:
    """Return an operand of ``and`` or ``or``, or what leaves the others to decide."""
    if bool(value) is not neutral:
        reached[number] = 1
    return neutral if active == number else value


def answer(if_true: int, if_false: int, value: Any) -> Any:
    """Return the answer of a function, or always the same."""
    number = if_true if value else if_false
    reached[number] = 1
    return not value if active == number else value


def compared(number: int, symbol: str, a: Any, b: Any) -> Any:
    """Compare, or compare with the boundary shifted."""
    compare, shifted = COMPARISONS[symbol]
    value, other = compare(a, b), shifted(a, b)
    if not (isinstance(value, bool) and value is other):
        reached[number] = 1
    return other if active == number else value


def one(number: int, value: Any) -> Any:
    """Return one, or zero."""
    reached[number] = 1
    return 0 if active == number else value


def element(number: int, value: Any) -> tuple[Any, ...]:
    """Return the elements that stand for one of a table: itself, or none."""
    reached[number] = 1
    return () if active == number else (value,)
