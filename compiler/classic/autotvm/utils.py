"""``tvm.autotvm.utils``: helpers of tuning scripts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from compiler.ir.error import expected
from compiler.ir.extension import public_module

__all__ = [
    "SI_PREFIXES", "YOCTO_EXP10", "EmptyContext", "format_si_prefix", "get_func_name", "get_rank",
]  # fmt: skip

SI_PREFIXES = "yzafpn\xb5m kMGTPEZY"
"""Prefixes of units by growing size; a blank is none."""
YOCTO_EXP10 = -24
"""The power of ten that the first prefix stands for."""


class EmptyContext:
    """A context that changes nothing."""

    def __enter__(self) -> None:
        """Enter."""

    def __exit__(self, *exception: object) -> None:
        """Leave; exceptions go on."""


def get_rank(values: Sequence[float]) -> npt.NDArray[np.intp]:
    """Return the place of each value when all are put in order, the largest first."""
    ranks = np.empty(len(values), np.intp)
    ranks[np.argsort(-np.asarray(values))] = np.arange(len(values))
    return ranks


def get_func_name(func: Callable[..., object]) -> str:
    """Return the name of a function, or of the one that a partial application calls."""
    return str((func.func if isinstance(func, partial) else func).__name__)


def format_si_prefix(x: float, si_prefix: str) -> float:
    """Return how many of a unit with a prefix, one of :data:`SI_PREFIXES`, a value is.

    Examples
    --------
    >>> format_si_prefix(2500, "k")
    2.5
    """
    if len(si_prefix) != 1 or si_prefix not in SI_PREFIXES:
        expected("format_si_prefix", "si_prefix", f"one of {SI_PREFIXES!r}", si_prefix)
    return float(x / 10 ** (YOCTO_EXP10 + 3 * SI_PREFIXES.index(si_prefix)))


if not TYPE_CHECKING:  # a type checker knows all names, and refuses others
    __getattr__, __dir__ = public_module("tvm.autotvm.utils", __all__)
