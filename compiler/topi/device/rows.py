"""Rows of a tensor along an axis, and the thread blocks that process them tile by tile."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr
from compiler.te.definition.tensor import Tensor
from compiler.tir.ir_builder import IRBuilder
from compiler.topi.operands import Index, constant, dims, unflatten

_THREADS = 256
"""Threads of a block, which every device has."""
_MAX_BLOCKS = 65535
"""Blocks along an axis that every device launches."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The elements of a tensor as rows along one axis."""

    shape: tuple[int, ...]
    axis: int

    @classmethod
    def of(cls, tensor: Tensor, axis: int) -> Rows:
        """Return the rows of a tensor whose extents are numbers."""
        return cls(tuple(constant(extent, "rows") for extent in dims(tensor)), axis)

    @property
    def length(self) -> int:
        """The extent along the axis."""
        return self.shape[self.axis]

    @property
    def count(self) -> int:
        """How many rows there are."""
        return math.prod(self._others)

    @property
    def tile(self) -> int:
        """Elements of a row that a block takes at once, each by a thread: a power of two."""
        return min(1 << (self.length - 1).bit_length(), _THREADS)

    @property
    def tiles(self) -> int:
        """Tiles of a row."""
        return -(-self.length // self.tile)

    @property
    def _others(self) -> tuple[int, ...]:
        return (*self.shape[: self.axis], *self.shape[self.axis + 1 :])

    def others(self, row: Index) -> tuple[Index, ...]:
        """Return the indices of a row along the other axes."""
        return tuple(unflatten(row, self._others))

    def indices(self, row: Index, place: Index) -> tuple[Index, ...]:
        """Return the indices of an element of a row."""
        others = self.others(row)
        return (*others[: self.axis], place, *others[self.axis :])


@dataclass(frozen=True, slots=True)
class Launch:
    """Which element of which row a thread works at.

    ``thread`` is its number among the threads of the row's tile, ``slot`` that of the row among those of the block.
    """

    rows: Rows
    row: PrimExpr
    tile: PrimExpr
    thread: PrimExpr
    slot: PrimExpr
    slots: int

    @property
    def place(self) -> PrimExpr:
        """The place of the thread's element in its row, which it may lie behind."""
        return self.tile * self.rows.tile + self.thread

    @property
    def exists(self) -> PrimExpr:
        """Whether there is such a row, and such an element."""
        return tir.all(self.row < self.rows.count, self.place < self.rows.length)

    @property
    def present_row(self) -> PrimExpr:
        """The row, or the last one where there is none."""
        return te.min(self.row, self.rows.count - 1)


def has_rows(data: Tensor) -> bool:
    """Return whether a tensor has rows that kernels can be written for: all extents are numbers, and none is zero."""
    return all(isinstance(extent, int) and extent > 0 for extent in dims(data))


@contextmanager
def launched(builder: IRBuilder, rows: Rows) -> Iterator[Launch]:
    """Write a kernel in which a thread works at each element of each tile; several short rows share a block."""
    slots = max(min(_THREADS // rows.tile, rows.count), 1)
    blocks = -(-rows.count // slots) * rows.tiles
    wide = min(blocks, _MAX_BLOCKS)
    extents = {"blockIdx.y": -(-blocks // wide), "blockIdx.x": wide, "threadIdx.y": slots, "threadIdx.x": rows.tile}
    with builder.new_scope():
        high, low, slot, thread = (_axis(builder, tag, extent) for tag, extent in extents.items())
        block = high * wide + low
        yield Launch(rows, block // rows.tiles * slots + slot, block % rows.tiles, thread, slot, slots)


def _axis(builder: IRBuilder, tag: str, extent: int) -> PrimExpr:
    axis = te.thread_axis(tag)
    builder.scope_attr(axis, "thread_extent", extent)
    return axis.var
