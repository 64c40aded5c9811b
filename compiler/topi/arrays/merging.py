"""Merge sort of rows, a row on one core at a time.

Runs are merged in pairs from one half of a memory to the other, and so double their length each time; the first ones
are sorted by rank.  Where only the first elements of a row are asked for, the memory holds a few more: whenever it is
full it is sorted and cut, and of what comes then, most is left out after a comparison with the last one that is kept.

References
----------
Knuth, "The Art of Computer Programming", volume 3, sections 5.2, sorting by counting, and 5.2.4, merging.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from compiler import te, tir
from compiler.ir.expr.primexpr import Not, PrimExpr, Var, convert
from compiler.te.definition.tensor import Tensor
from compiler.tir.ir_builder import BufferVar, IRBuilder
from compiler.topi.compute import by_loops
from compiler.topi.device.order import Element, Elements, precedes
from compiler.topi.operands import Extent, Index, dims, product, replaced, same_extent, unflatten

__all__: list[str] = []

_RANKED = 16
"""Elements of the first runs, which vectors compare with one of them at a time."""
_ROOM = 48
"""Elements that are kept, at least."""
_BLOCK = 64
"""Elements that are compared with the last one that is kept before any of them is looked at on its own."""

Row: TypeAlias = Callable[[Index], Element]
"""The element at an index of a row, with that index."""


def merge_sorted(
    data: Tensor, axis: int, is_ascend: bool, count: Extent, dtype: str, valid_count: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return the first ``count`` elements in their order along an axis, and the places that they had.

    ``valid_count`` says how many are sorted, in the shape of ``data`` without the axis; those after stay in their
    places.  Of equal elements the one that stands first comes first.
    """
    shape, inputs = dims(data), [data] if valid_count is None else [data, valid_count]
    length, others = shape[axis], (*shape[:axis], *shape[axis + 1 :])

    def loops(ib: IRBuilder, source: BufferVar, *memory: BufferVar) -> None:
        *counts, values, places = memory
        result = Elements(values, places)
        with ib.for_range(0, product(others), "row", kind="parallel") as row:
            at = unflatten(row, others)

            def element(i: Index) -> Element:
                return source[(*at[:axis], i, *at[axis:])], convert(i)

            if same_extent(count, length):
                end = te.max(te.min(counts[0][tuple(at)].astype("int32"), length), 0) if counts else length
                runs = _sorted(ib, element, ib.let("end", end), length, data.dtype, is_ascend)
            else:
                runs = _selected(ib, element, length, count, data.dtype, is_ascend)
            with ib.for_range(0, runs.size[0], "i") as i:
                result.store(runs.at(i), *at[:axis], i, *at[axis:])
            if counts:
                with ib.for_range(runs.size[0], length, "i") as i:
                    result.store(element(i), *at[:axis], i, *at[axis:])

    result_shape = replaced(shape, axis, count)
    values, places = by_loops(inputs, [(result_shape, data.dtype), (result_shape, dtype)], loops, "sorted", "sort")
    return values, places


def _sorted(ib: IRBuilder, element: Row, end: Var, room: Extent, dtype: str, is_ascend: bool) -> _Runs:
    """Write the sort of the first elements of a row, up to ``end``."""
    runs = _Runs.allocate(ib, dtype, room, is_ascend)
    with ib.for_range(0, end, "i") as i:
        runs.append(element(i))
    runs.sort(room)
    return runs


def _selected(ib: IRBuilder, element: Row, length: Extent, count: Extent, dtype: str, is_ascend: bool) -> _Runs:
    """Write the choice of the first ``count`` elements in order."""
    room = te.min(length, te.max(2 * count, _ROOM))
    runs = _Runs.allocate(ib, dtype, room, is_ascend)
    hits = ib.allocate("int32", 1, "hits", "local")

    def may_count(i: PrimExpr) -> PrimExpr:
        return precedes(element(i)[0], runs.at(te.max(count - 1, 0))[0], is_ascend)

    def cut() -> None:
        runs.sort(count)
        runs.size[0] = te.min(room, count)

    with ib.for_range(0, (length + _BLOCK - 1) // _BLOCK, "block") as block:
        first = ib.let("first", block * _BLOCK)
        end = ib.let("end", te.min(first + _BLOCK, length))
        hits[0] = te.max(room - first, 0)
        with ib.if_scope(first >= room), ib.for_range(first, end, "i") as i:
            hits[0] = hits[0] + may_count(i).astype("int32")
        with (
            ib.if_scope(hits[0] > 0),
            ib.for_range(first, end, "i") as i,
            ib.if_scope(te.if_then_else(i < room, True, may_count(i))),
        ):
            runs.append(element(i))
            with ib.if_scope(runs.size[0].equal(room)):
                cut()
    with ib.if_scope(runs.size[0] > count):
        cut()
    return runs


@dataclass(frozen=True, slots=True)
class _Runs:
    """Elements of which ``half``, one of two halves of the memory, holds the first ``size``, at most ``room``."""

    ib: IRBuilder
    memory: Elements
    half: BufferVar
    size: BufferVar
    room: Extent
    is_ascend: bool

    @classmethod
    def allocate(cls, ib: IRBuilder, dtype: str, room: Extent, is_ascend: bool) -> _Runs:
        """Allocate memory, in which nothing is yet."""
        whole_runs = (room + _RANKED - 1) // _RANKED * _RANKED
        memory = Elements.allocate(ib, "run", "global", dtype, (2, whole_runs))
        half, size = (ib.allocate("int32", 1, name, "local") for name in ("half", "size"))
        half[0], size[0] = 0, 0
        return cls(ib, memory, half, size, room, is_ascend)

    def at(self, place: Index) -> Element:
        """Return an element."""
        return self.memory.at(self.half[0], place)

    def append(self, element: Element) -> None:
        """Add an element."""
        self.memory.store(element, self.half[0], self.size[0])
        self.size[0] = self.size[0] + 1

    def sort(self, count: Extent) -> None:
        """Sort runs by rank, then merge the first ``count`` of them in pairs until one is left."""
        ib, size = self.ib, self.ib.let("size", self.size[0])
        blocks = ib.let("blocks", (size + _RANKED - 1) // _RANKED)
        with ib.for_range(size, blocks * _RANKED, "rest") as rest:  # read with the last block, and not counted
            self.memory.values[self.half[0], rest] = tir.const(0, self.memory.values.dtype)
        with ib.for_range(0, blocks, "block") as block:
            begin = ib.let("begin", block * _RANKED)
            self._rank(self.half[0], begin, te.min(size - begin, _RANKED))
        self.half[0] = 1 - self.half[0]
        width = ib.allocate("int32", 1, "width", "local")
        width[0] = _RANKED
        with ib.while_loop(width[0] < size):
            half, wide = ib.let("half", self.half[0]), ib.let("wide", width[0])
            with ib.for_range(0, (size + 2 * wide - 1) // (2 * wide), "pair") as pair:
                begin = ib.let("begin", pair * 2 * wide)
                self._merge(half, begin, te.min(begin + wide, size), te.min(begin + 2 * wide, size), count)
            self.half[0], width[0] = 1 - half, 2 * wide

    def _rank(self, half: PrimExpr, begin: Var, count: PrimExpr) -> None:
        """Move elements to the other half, each to where as many of them stand before it as come before it in order."""
        ib, values = self.ib, self.memory.values
        rank = ib.allocate("int32", _RANKED, "rank", "local")
        with ib.for_range(0, _RANKED, "lane", kind="vectorize") as lane:
            rank[lane] = 0
        with ib.for_range(0, count, "k") as k, ib.for_range(0, _RANKED, "lane", kind="vectorize") as lane:
            here, other = values[half, begin + lane], values[half, begin + k]
            is_not_after, is_before = Not(precedes(here, other, self.is_ascend)), precedes(other, here, self.is_ascend)
            rank[lane] = rank[lane] + tir.Select(k < lane, is_not_after, is_before).astype("int32")
        with ib.for_range(0, count, "k") as k:
            self.memory.store(self.memory.at(half, begin + k), 1 - half, begin + rank[k])

    def _merge(self, half: Var, begin: Var, middle: PrimExpr, end: PrimExpr, count: Extent) -> None:
        """Move the first ``count`` of two runs to the other half as one."""
        ib, values = self.ib, self.memory.values
        middle, end = ib.let("middle", middle), ib.let("end", end)
        left, right = (ib.allocate("int32", 1, name, "local") for name in ("left", "right"))
        left[0], right[0] = begin, middle
        with ib.for_range(begin, te.min(end, begin + count), "to") as to:
            is_less = precedes(values[half, right[0]], values[half, left[0]], self.is_ascend)
            of_right = te.if_then_else(left[0] < middle, te.if_then_else(right[0] < end, is_less, False), True)
            of_right = ib.let("of_right", of_right)
            origin = ib.let("origin", tir.Select(of_right, right[0], left[0]))
            self.memory.store(self.memory.at(half, origin), 1 - half, to)
            left[0] = left[0] + Not(of_right).astype("int32")
            right[0] = right[0] + of_right.astype("int32")
