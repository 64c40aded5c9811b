"""Flattens the dimensions of a buffer in the groups that its axis separators define."""

from __future__ import annotations

from collections.abc import Collection

from compiler.arith.analyzer import Analyzer
from compiler.ir.expr.primexpr import PrimExpr, is_const_int
from compiler.ir.node import rebuild
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.transform.memory.flat_memory import FlatMemory, storage_dtype


class GroupedMemory(FlatMemory):
    """Lays out buffers with axis separators with one dimension for each group of dimensions.

    That are the buffers in ``only``, or all with separators; others become one row of elements.
    """

    def __init__(self, analyzer: Analyzer, only: Collection[Buffer] | None = None) -> None:
        super().__init__(analyzer)
        self._only = only
        self._grouped: dict[Buffer, Buffer] = {}

    def _keeps_groups(self, buffer: Buffer) -> bool:
        return bool(buffer.axis_separators) and (self._only is None or buffer in self._only)

    def flat(self, buffer: Buffer) -> Buffer:
        if not self._keeps_groups(buffer):
            return super().flat(buffer)
        if buffer not in self._grouped:
            grouped = buffer.get_flattened_buffer()
            dtype, data = storage_dtype(buffer.dtype), self.pointer(buffer.data)
            same = grouped is buffer and dtype == buffer.dtype and data is buffer.data
            self._grouped[buffer] = buffer if same else rebuild(grouped, dtype=dtype, data=data)
        return self._grouped[buffer]

    def is_flat(self, buffer: Buffer) -> bool:
        return self.flat(buffer) is buffer if self._keeps_groups(buffer) else super().is_flat(buffer)

    def flat_indices(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> tuple[PrimExpr, ...]:
        if not self._keeps_groups(buffer):
            return super().flat_indices(buffer, indices)
        return tuple(buffer.offset_of(indices))


def compact_parameters(func: PrimFunc) -> set[Buffer]:
    """Return the parameters whose elements follow each other in memory from the first one on."""
    return {b for b in func.buffer_map.values() if not b.strides and is_const_int(b.elem_offset, 0)}
