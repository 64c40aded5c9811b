"""Pads the rows of shared memory to avoid bank conflicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import lcm

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import IntImm, PrimExpr, const
from compiler.ir.expr.substitute import free_vars
from compiler.ir.node import rebuild
from compiler.tir.statements.buffer import Buffer
from compiler.tir.transform.blocks.coalesced_copy import CoalescedCopy
from compiler.tir.warp_access.index_values import DataDependentError, IndexValues
from compiler.tir.warp_access.transactions import BANKS, bank_ways

_WARP = 32
_WORD = 4
"""Bytes of a bank's element."""
_FRAGMENT_ROW = 16
"""Bytes that a lane reads of a matrix for tensor cores at a time."""
_FRAGMENT_UNIT = 8
"""The rows of such a matrix are a multiple of this many elements apart."""


@dataclass(frozen=True, slots=True)
class _Access:
    """What the lanes of a warp access at a time."""

    indices: np.ndarray  # shape (accesses, lanes, dimensions)
    size: int
    unit: int  # rows have to stay a multiple of this many elements apart


@dataclass
class SharedMemoryPadding:
    """Collects how warps access shared memory, and says how far apart its rows should be."""

    _accesses: dict[Buffer, list[_Access]] = field(default_factory=dict)

    def note_copy(self, copy: CoalescedCopy, buffer: Buffer, indices: Sequence[PrimExpr]) -> None:
        """Note an access to an element in the loops of a copy; indices that depend on data are left out."""
        extents = [thread.extent.value for thread in copy.threads if isinstance(thread.extent, IntImm)]
        if len(extents) < len(copy.threads):
            return
        lanes = np.arange(min(_WARP, int(np.prod(extents, dtype=int))))
        values = {var: np.zeros((), "int64") for var in free_vars(tuple(indices))}
        places = np.unravel_index(lanes, extents) if extents else ()
        values |= {t.var: place[None, :] for t, place in zip(copy.threads, places, strict=True)}
        values[copy.lane] = np.arange(copy.lanes)[:, None]
        try:
            places_of_lanes = [np.broadcast_to(IndexValues(values).visit(i), (copy.lanes, len(lanes))) for i in indices]
        except DataDependentError:
            return
        self._note(buffer, np.stack(places_of_lanes, axis=-1), copy.lanes)

    def _note(self, buffer: Buffer, indices: np.ndarray, lanes: int) -> None:
        size, step = dt.storage_bytes(buffer.dtype), np.zeros(len(buffer.shape), "int64")
        step[-1] = 1
        if lanes > 1 and (np.diff(indices, axis=0) == step).all():
            self._add(buffer, _Access(indices[:1], size * lanes, lanes))
        else:
            self._add(buffer, _Access(indices, size, 1))

    def note_matrix(self, buffer: Buffer, rows: int, columns: int) -> None:
        """Note that a matrix in the last two dimensions goes to or comes from the fragments of tensor cores."""
        at_once = max(1, _FRAGMENT_ROW // dt.storage_bytes(buffer.dtype))
        column, row = np.divmod(np.arange(rows * columns // at_once), rows)
        indices = np.zeros((len(row), len(buffer.shape)), "int64")
        indices[:, -2], indices[:, -1] = row, column * at_once
        lanes = min(_WARP, len(row))
        self._add(buffer, _Access(indices.reshape(-1, lanes, len(buffer.shape)), _FRAGMENT_ROW, _FRAGMENT_UNIT))

    def _add(self, buffer: Buffer, access: _Access) -> None:
        self._accesses.setdefault(buffer, []).append(access)

    def padded(self, buffer: Buffer) -> Buffer:
        """Return a buffer with the strides that cost least, the compact ones where none are better.

        A buffer that has strides, or that nothing is known of, stays as it is.
        """
        shape = [dim.value for dim in buffer.shape if isinstance(dim, IntImm)]
        accesses = self._accesses.get(buffer)
        if not accesses or buffer.strides or len(shape) < len(buffer.shape):
            return buffer
        size, unit = dt.storage_bytes(buffer.dtype), lcm(*(access.unit for access in accesses))
        pads = [0] * len(shape)
        for dimension in reversed(range(len(shape) - 1)):
            candidates = [
                [*pads[:dimension], pad, *pads[dimension + 1 :]] for pad in range(0, BANKS * _WORD // size, unit)
            ]
            pads = min(candidates, key=lambda pads: _cost(accesses, _strides(shape, pads), size))
        return rebuild(buffer, strides=tuple([const(s, buffer.shape[0].dtype) for s in _strides(shape, pads)]))


def _strides(shape: Sequence[int], pads: Sequence[int]) -> list[int]:
    """Return how far apart the elements along each dimension are, where rows are longer by ``pads``."""
    strides = [1]
    for dim, pad in zip(reversed(shape[1:]), reversed(pads[:-1]), strict=True):
        strides.append(strides[-1] * dim + pad)
    return strides[::-1]


def _cost(accesses: Sequence[_Access], strides: Sequence[int], size: int) -> float:
    """Return how many times as long the accesses take as those without conflicts, summed up."""
    return sum(float(bank_ways(access.indices @ np.asarray(strides) * size, access.size).mean()) for access in accesses)
