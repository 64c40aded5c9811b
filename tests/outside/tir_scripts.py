"""Random expressions of loop IR, in the words that classic TVM, this compiler and a few NumPy functions share.

A script defines ``domain``, the first value and the number of values of each variable, and ``value``, an expression of
the variables ``x``, ``y`` and ``z``.  It imports nothing: whoever runs it gives it ``tir`` and the variables.  Values
stay far from the limits of 32 bits, since simplification may assume that indices do not overflow.
"""

from __future__ import annotations

import itertools
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["NUMPY_WORDS", "points_of", "tir_script", "values_of"]

_DIVISIONS = ("floordiv", "floormod", "truncdiv", "truncmod")
_FACTORS = (-3, -1, 2, 3, 4, 8)
_DIVISORS = (-5, -4, -2, 2, 3, 4, 5, 8, 16)
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def tir_script(seed: int) -> str:
    """Return a script; the same one for the same number."""
    random = Random(seed)
    domain = {name: (random.randint(-9, 4), random.randint(1, 9)) for name in "xyz"}
    return f"domain = {domain}\nvalue = {_integer(random, random.randint(2, 4))}\n"


def _integer(random: Random, depth: int) -> str:
    if depth == 0:
        return random.choice(("x", "y", "z", "x", "y", "z", str(random.randint(-9, 9))))
    a = _integer(random, depth - 1)
    kind = random.choice(("sum", "sum", "factor", "division", "division", "extremum", "select", "bits"))
    if kind == "factor":
        return f"({a}) * {random.choice(_FACTORS)}"
    if kind == "division":
        return f"tir.{random.choice(_DIVISIONS)}({_variable(random)} + {a}, {random.choice(_DIVISORS)})"
    if kind == "bits":
        return f"(({_variable(random)} + {a}) >> {random.randint(0, 3)})"
    b = _integer(random, depth - 1)
    if kind == "sum":
        return f"({a} {random.choice('+-')} ({b}))"
    if kind == "extremum":
        return f"tir.{random.choice(('min', 'max'))}({_variable(random)} + {a}, {b})"
    word = random.choice(("Select", "if_then_else"))
    return f"tir.{word}({_condition(random, depth - 1)}, {_variable(random)} + {a}, {b} - {_variable(random)})"


def _variable(random: Random) -> str:
    """Return a variable: a sum with it is not folded at once."""
    return random.choice("xyz")


def _condition(random: Random, depth: int) -> str:
    a, b = _integer(random, depth // 2), _integer(random, depth // 2)
    comparison = f"{_variable(random)} + {a} {random.choice(_COMPARISONS)} {b}"
    kind = random.choice(("plain", "plain", "all", "any", "Not"))
    if kind == "plain":
        return comparison
    if kind == "Not":
        return f"tir.Not({comparison})"
    return f"tir.{kind}({comparison}, {_variable(random)} {random.choice(_COMPARISONS)} {b})"


def _truncdiv(a: npt.ArrayLike, b: npt.ArrayLike) -> npt.NDArray[Any]:
    return np.trunc(np.divide(a, b)).astype("int64")


NUMPY_WORDS = SimpleNamespace(
    floordiv=np.floor_divide,
    floormod=np.mod,
    truncdiv=_truncdiv,
    truncmod=np.fmod,
    min=np.minimum,
    max=np.maximum,
    Select=np.where,
    if_then_else=np.where,
    all=np.logical_and,
    any=np.logical_or,
    Not=np.logical_not,
)
"""The words of the scripts as functions of arrays."""


def points_of(domain: dict[str, tuple[int, int]]) -> npt.NDArray[np.int64]:
    """Return all points of a domain, one row for each variable."""
    ranges = [range(first, first + count) for first, count in domain.values()]
    return np.array(list(itertools.product(*ranges)), "int64").T


def values_of(script: str) -> npt.NDArray[np.int64]:
    """Return the values of a script's expression at all points of its domain, computed by NumPy."""
    words: dict[str, Any] = {"tir": NUMPY_WORDS}
    exec(script.splitlines()[0], words)
    points = points_of(words["domain"])
    exec(script, words | dict(zip("xyz", points, strict=True)), words)
    return np.broadcast_to(np.asarray(words["value"], "int64"), points.shape[1:])
