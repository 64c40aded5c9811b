"""Merge sort on devices: tiles in shared memory by one block each, then merges of tiles.

The merge is one of counting: the place of an element in a merged run is its place in its own run, and the number of
elements of the other run that come before it, which bisection finds.  All elements are placed at once, a thread each.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr
from compiler.te.definition.tensor import Tensor
from compiler.tir.ir_builder import BufferVar, IRBuilder
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.stmt import Stmt
from compiler.topi.device.bisection import bisected
from compiler.topi.device.merge import Merge
from compiler.topi.device.order import Elements, Order
from compiler.topi.device.rows import Launch, Rows, launched
from compiler.topi.operands import dims

__all__ = ["sorted_rows"]


def sorted_rows(data: Tensor, axis: int, is_ascend: bool, valid_count: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the elements in their order along an axis, and the places that they had (int32), by kernels for a device.

    Extents are numbers, none of them zero. Of equal elements the one that stands first comes first. ``valid_count``
    says how many are sorted, in the shape of ``data`` without the axis; those after stay in their places.
    """
    rows = Rows.of(data, axis)
    inputs = [data] if valid_count is None else [data, valid_count]

    def statement(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        builder = tir.ir_builder.create()
        source, *counts = [builder.buffer_ptr(buffer) for buffer in ins]
        order = Order(rows, is_ascend, counts[0] if counts else None)
        result = Elements(*(builder.buffer_ptr(buffer) for buffer in outs))
        _Sort(builder, order, data.dtype).emit(source, result)
        return builder.get()

    made = te.extern(
        [dims(data), dims(data)],
        inputs,
        statement,
        dtype=[data.dtype, "int32"],
        in_buffers=[decl_buffer(t.shape, t.dtype, t.name) for t in inputs],
        name="sorted",
        tag="sort",
    )
    assert isinstance(made, list)
    values, places = made
    return values, places


@dataclass(frozen=True, slots=True)
class _Sort:
    """The kernels of one sort: what they are written with, and the order of elements of type ``dtype``."""

    builder: IRBuilder
    order: Order
    dtype: str

    def emit(self, source: BufferVar, result: Elements) -> None:
        """Sort the tiles, then merge runs until one is left; of two memories one is read and one written in turn."""
        rows = self.order.rows
        merges = (rows.tiles - 1).bit_length()
        memories = [result]
        if merges:
            memories.append(Elements.allocate(self.builder, "run", "global", self.dtype, rows.shape))
        self._sort_tiles(source, memories[merges % 2])
        for level in range(merges):
            left = merges - level
            merge = Merge(self.builder, self.order, rows.tile << level)
            merge.emit(memories[left % 2], memories[(left - 1) % 2])

    def _sort_tiles(self, source: BufferVar, target: Elements) -> None:
        builder, rows = self.builder, self.order.rows
        with launched(builder, rows) as launch:
            tile = Elements.allocate(builder, "tile", "shared", self.dtype, (launch.slots, rows.tile))
            at, indices = (launch.slot, launch.thread), rows.indices(launch.row, launch.place)
            tile.store((tir.const(0, self.dtype), launch.place), *at)
            with builder.if_scope(launch.exists):
                tile.values[at] = source[indices]
            with builder.for_range(0, rows.tile.bit_length() - 1, name="level") as level:
                value, place = tile.at(*at)
                element = builder.let("value", value), builder.let("place", place)
                tile.store(element, launch.slot, self._merged_place(launch, tile, level))
            with builder.if_scope(launch.exists):
                target.store(tile.at(*at), *indices)

    def _merged_place(self, launch: Launch, tile: Elements, level: PrimExpr) -> PrimExpr:
        """Return where a thread's element goes when runs of ``2 ** level`` elements are merged in pairs."""
        builder, at = self.builder, launch.thread
        width = builder.let("width", tir.const(1, "int32") << level)
        other = builder.let("other", (at ^ width) & ~(width - 1))
        row, has_padding = launch.present_row, self.order.rows.length % self.order.rows.tile != 0
        end = bisected(
            builder,
            other,
            other + width,
            level + 1,
            lambda middle: self.order.is_before(
                row, tile.at(launch.slot, middle), tile.at(launch.slot, at), has_padding
            ),
        )
        # Its place in its own run, and how many elements of the other run come before it.
        return (at & ~(2 * width - 1)) + (at & (width - 1)) + end - other
