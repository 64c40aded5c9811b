"""Arithmetic on Python numbers that rounds as the machine does."""

from __future__ import annotations

import math
from typing import TypeVar

Number = TypeVar("Number", int, float)


def trunc_div(a: Number, b: Number) -> Number:
    """Divide; integers round towards zero, as in C."""
    if isinstance(a, int):
        q = abs(a) // abs(b)
        return q if (a < 0) == (b < 0) else -q
    return a / b


def trunc_mod(a: Number, b: Number) -> Number:
    """Return the remainder of :func:`trunc_div`; it has the sign of ``a``."""
    return a - trunc_div(a, b) * b if isinstance(a, int) else math.fmod(a, b)


def smaller(a: Number, b: Number) -> Number:
    """Return ``a < b ? a : b``, as machine code chooses: ``b`` where one of them is not a number."""
    return a if a < b else b


def larger(a: Number, b: Number) -> Number:
    """Return ``a > b ? a : b``, as machine code chooses: ``b`` where one of them is not a number."""
    return a if a > b else b


def logical_and(a: int, b: int) -> int:
    """Return whether both conditions hold."""
    return a and b


def logical_or(a: int, b: int) -> int:
    """Return whether one of two conditions holds."""
    return a or b
