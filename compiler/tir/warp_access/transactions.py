"""The cost of a warp's access: global memory sectors and bank conflict ways.

References
----------
CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory" and "Shared Memory and Memory Banks".
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from compiler.tir.expressions.evaluation import Array

SECTOR = 32
"""Bytes that are moved between global memory and a cache at once."""
BANKS = 32
"""Banks of shared memory; neighbouring words of four bytes lie in neighbouring banks."""
_WORD = 4

Addresses: TypeAlias = npt.NDArray[np.int64]
"""Bytes that the lanes of a warp access, from the beginning of a buffer; -1 for a lane that accesses nothing.
Shape (accesses, lanes)."""
Pattern = Literal["broadcast", "coalesced", "strided", "scattered", "idle"]
_NONE = -1


def sectors(addresses: Addresses, size: int) -> Array:
    """Return how many sectors each access touches, from addresses (accesses, lanes), -1 for idle lanes."""
    touched = [np.where(addresses < 0, _NONE, (addresses + at) // SECTOR) for at in _steps(size, SECTOR)]
    return _distinct(np.concatenate(touched, axis=1))


def bank_ways(addresses: Addresses, size: int) -> Array:
    """Return how many times as long each access of shared memory takes as one without conflicts.

    Lanes that access one word share it.  Accesses of 8 and 16 bytes are served for half and a quarter of the lanes at
    once; the worst of these parts counts. Addresses have the shape (accesses, lanes), -1 for idle lanes.
    """
    count, lanes = addresses.shape
    together = max(1, lanes * _WORD // max(size, _WORD))
    worst = np.zeros(count, "int64")
    for first in range(0, lanes, together):
        part = addresses[:, first : first + together]
        words = np.concatenate([np.where(part < 0, _NONE, (part + at) // _WORD) for at in _steps(size, _WORD)], axis=1)
        ordered, is_new = _first_of_each(words)
        rows, _ = np.nonzero(is_new)
        in_bank = np.bincount(rows * BANKS + ordered[is_new] % BANKS, minlength=count * BANKS)
        worst = np.maximum(worst, in_bank.reshape(count, BANKS).max(axis=1, initial=0))
    return worst


def pattern_of(addresses: Addresses, size: int) -> Pattern:
    """Return what the accesses of a warp look like: the first one with a busy lane tells.

    ``broadcast``: all lanes access one place; ``coalesced``: no sector too many; ``strided``: neighbouring lanes are
    equally far apart; ``scattered``: anything else; ``idle``: no lane accesses anything.
    """
    busy = next((row[row >= 0] for row in addresses if (row >= 0).any()), None)
    if busy is None:
        return "idle"
    if (busy == busy[0]).all():
        return "broadcast"
    distinct = np.unique(busy)
    least = -(-len(distinct) * size // SECTOR)
    if int(sectors(busy[None, :], size)[0]) <= least + 1:
        return "coalesced"
    steps = np.diff(distinct)
    return "strided" if (steps == steps[0]).all() else "scattered"


def _steps(size: int, unit: int) -> list[int]:
    """Return offsets such that each unit that an access of a size touches is met."""
    return sorted({*range(0, size, unit), size - 1})


def _distinct(values: Array) -> Array:
    """Return the number of distinct values of each row, those below 0 not counted."""
    _, is_new = _first_of_each(values)
    counts: Array = is_new.sum(axis=1)
    return counts


def _first_of_each(values: Array) -> tuple[Array, Array]:
    """Return the rows in order, and where each distinct value that is not below 0 stands first."""
    ordered = np.sort(values, axis=1)
    is_new = ordered >= 0
    is_new[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    return ordered, is_new
