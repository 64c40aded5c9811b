"""Merge sort on devices: tiles in shared memory by one block each, then merges of tiles.

The merge is one of counting: the place of an element in a merged run is its place in its own run, and the number of
elements of the other run that come before it, which bisection finds.  All elements are placed at once, a thread each.

Each block of threads produces a tile of a merged run, from a part of either run.  Where these begin and end is found by
bisection in global memory; the parts are then copied to shared memory, where each element counts those of the other
part that come before it.

References
----------
Green, McColl and Bader, "GPU Merge Path", ICS 2012.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compiler import te, tir
from compiler.ir.expr.primexpr import ExprLike, PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.tir.ir_builder import BufferVar, IRBuilder
from compiler.topi.compute import by_loops
from compiler.topi.device.order import Elements, Order
from compiler.topi.device.rows import Launch, Rows, launched


@dataclass(frozen=True, slots=True)
class _Run:
    """A sorted part of a row, or the part of one that a tile comes from."""

    begin: PrimExpr
    length: PrimExpr


@dataclass(frozen=True, slots=True)
class Merge:
    """The kernel that merges runs of ``width`` elements, a multiple of a tile's; the last of a row may be shorter."""

    builder: IRBuilder
    order: Order
    width: int

    def emit(self, source: Elements, target: Elements) -> None:
        """Write the kernel."""
        builder, rows, dtype = self.builder, self.order.rows, source.values.dtype
        with launched(builder, rows) as launch:
            row, at = builder.let("row", launch.present_row), launch.thread
            first = builder.let("first", launch.tile * rows.tile)
            count = builder.let("count", te.min(rows.length - first, rows.tile))
            parts = Elements.allocate(builder, "part", "shared", dtype, (rows.tile,))
            from_left = self._copy_parts(source, parts, row, first, count, at)
            merged = Elements.allocate(builder, "merged", "shared", dtype, (rows.tile,))
            with builder.if_scope(at < count):
                merged.store(parts.at(at), self._merged_place(parts, row, at, from_left, count))
            with builder.if_scope(launch.exists):
                target.store(merged.at(at), *rows.indices(launch.row, launch.place))

    def _copy_parts(self, source: Elements, parts: Elements, row: Var, first: Var, count: Var, at: PrimExpr) -> Var:
        """Copy what the tile comes from, that of the left run first; return how many elements are of the left run."""
        builder, rows, width = self.builder, self.order.rows, self.width
        begin = builder.let("begin", first - first % (2 * width))
        left = _Run(begin, te.min(rows.length - begin, width))
        right = _Run(begin + width, te.max(te.min(rows.length - begin - width, width), 0))
        splits = builder.allocate("int32", 2, "splits", "local")
        with builder.for_range(0, 2, name="end") as end:
            splits[end] = self._split(source, row, left, right, first - begin + end * count)
        of_left = builder.let("of_left", splits[0])
        from_left = builder.let("from_left", splits[1] - of_left)
        of_right = first - begin - of_left
        place = tir.Select(at < from_left, left.begin + of_left, right.begin + of_right - from_left) + at
        with builder.if_scope(at < count):
            parts.store(source.at(*rows.indices(row, place)), at)
        return from_left

    def _split(self, source: Elements, row: Var, left: _Run, right: _Run, diagonal: PrimExpr) -> Var:
        """Return how many of the first ``diagonal`` elements of two runs together are of the left one."""
        rows = self.order.rows

        def is_of_left(middle: Var) -> PrimExpr:
            mine = source.at(*rows.indices(row, left.begin + middle))
            other = source.at(*rows.indices(row, right.begin + diagonal - 1 - middle))
            return self.order.is_before(row, mine, other)

        low, high = te.max(diagonal - right.length, 0), te.min(diagonal, left.length)
        return bisected(self.builder, low, high, self.width.bit_length(), is_of_left)

    def _merged_place(self, parts: Elements, row: Var, at: PrimExpr, from_left: Var, count: Var) -> PrimExpr:
        """Return the place of a thread's element of the parts in the merged tile."""
        is_left = at < from_left
        before = bisected(
            self.builder,
            tir.Select(is_left, from_left, tir.const(0, "int32")),
            tir.Select(is_left, count, from_left),
            self.order.rows.tile.bit_length(),
            lambda middle: self.order.is_before(row, parts.at(middle), parts.at(at)),
        )
        return before + at - from_left


def sorted_rows(data: Tensor, axis: int, is_ascend: bool, valid_count: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the elements in their order along an axis, and the places that they had (int32), by kernels for a device.

    Extents are numbers, none of them zero. Of equal elements the one that stands first comes first. ``valid_count``
    says how many are sorted, in the shape of ``data`` without the axis; those after stay in their places.
    """
    rows = Rows.of(data, axis)
    inputs = [data] if valid_count is None else [data, valid_count]

    def loops(builder: IRBuilder, source: BufferVar, *memory: BufferVar) -> None:
        *counts, values, places = memory
        order = Order(rows, is_ascend, counts[0] if counts else None)
        _Sort(builder, order, data.dtype).emit(source, Elements(values, places))

    values, places = by_loops(inputs, [(rows.shape, data.dtype), (rows.shape, "int32")], loops, "sorted", "sort")
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


def bisected(
    builder: IRBuilder, low: ExprLike, high: ExprLike, rounds: ExprLike, holds: Callable[[Var], PrimExpr]
) -> Var:
    """Write a bisection of a range, and return its result: ``high`` where the condition holds for all of it.

    ``rounds`` is how often the range may have to be halved: bits of its length.  Once the condition ``holds`` does not
    hold for a number, it holds for none after it.
    """
    begin = builder.allocate("int32", 1, "low", "local")
    end = builder.allocate("int32", 1, "high", "local")
    begin[0], end[0] = low, high
    with builder.for_range(0, rounds, name="halving"), builder.if_scope(begin[0] < end[0]):
        middle = builder.let("middle", (begin[0] + end[0]) >> 1)
        with builder.if_scope(holds(middle)):
            begin[0] = middle + 1
        with builder.else_scope():
            end[0] = middle
    return builder.let("split", begin[0])
