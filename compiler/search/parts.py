"""What parts of a search that a program defines return, held against what they are to return."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np

from compiler.ir.error import PartError, show
from compiler.tir.schedule.schedule import Schedule

Result = TypeVar("Result")


def results_of(part: object, method: str, made: object, kind: type[Result], count: int) -> Sequence[Result]:
    """Return what a method returned for so many inputs; raises PartError unless it is a list of a result for each."""
    if isinstance(made, (list, tuple)) and len(made) == count and all(isinstance(each, kind) for each in made):
        return made
    got = f"{len(made)} of them: {show(made)}" if isinstance(made, (list, tuple)) else show(made)
    raise PartError(f"{_name(part, method)}: its result must be a list of {count} × {kind.__name__}, got {got}")


def schedules_of(part: object, method: str, made: object) -> Sequence[Schedule]:
    """Return what a method makes of a schedule; raises PartError unless it is a list of schedules."""
    if isinstance(made, (list, tuple)) and all(isinstance(each, Schedule) for each in made):
        return made
    raise PartError(f"{_name(part, method)}: its result must be a list of schedules, got {show(made)}")


def scores_of(part: object, made: object, count: int) -> list[float]:
    """Return what a model predicts of so many candidates; raises PartError unless it is a number for each."""
    try:
        scores = np.asarray(made, "float64")
    except (TypeError, ValueError):
        scores = np.array(math.nan)
    if scores.shape != (count,) or np.isnan(scores).any():
        raise PartError(f"{_name(part, 'predict')}: its result must be {count} numbers, got {show(made)}")
    return scores.tolist()  # type: ignore[no-any-return]


def wrong_times(part: object, times: Iterable[object]) -> str:
    """Return what is wrong with the times that a runner says; empty if nothing is."""
    wrong = [each for each in times if not isinstance(each, (float, int)) or not 0 < each < math.inf]
    return f"{_name(part, 'run')}: times must be finite seconds above 0, got {show(wrong[0])}" if wrong else ""


def _name(part: object, method: str) -> str:
    return f"{type(part).__name__}.{method}"
