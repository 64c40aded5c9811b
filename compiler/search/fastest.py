"""Which records are the fastest: a result has costs, seconds or what went wrong, and the number of an error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol, TypeVar

Key = TypeVar("Key")
Anything = TypeVar("Anything")
Result = TypeVar("Result", bound="Measured")


class Measured(Protocol):
    """What has times."""

    @property
    def costs(self) -> Sequence[float | Exception]: ...
    @property
    def error_no(self) -> int: ...


def mean_cost(result: Measured) -> float:
    """Return the mean seconds of a result; infinite if something went wrong."""
    seconds = [float(cost) for cost in result.costs if not isinstance(cost, Exception)]
    return sum(seconds) / len(seconds) if seconds and not result.error_no else math.inf


def keep_fastest(table: dict[Key, tuple[Anything, Result]], key: Key, record: tuple[Anything, Result]) -> None:
    """Enter a record, unless it failed or there is a faster one."""
    if mean_cost(record[1]) < (mean_cost(table[key][1]) if key in table else math.inf):
        table[key] = record
