"""The first few elements of short rows in order, by insertion: of as many rows at once as vectors have lanes.

::

    first = 7 5 2,  6 comes     →     first = 7 6 5         a comparison and two choices for each place, in registers
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr, Var, const
from compiler.te.definition.tensor import Tensor
from compiler.tir.ir_builder import BufferVar, IRBuilder
from compiler.topi.compute import by_loops
from compiler.topi.device.order import Element, Elements, precedes
from compiler.topi.operands import Extent, Index, dims, product, replaced, unflatten

__all__: list[str] = []

_FEW, _SHORT = 4, 64
"""The places that registers have room for, and the elements of rows that are all inserted."""
_ROWS = 16
"""Rows side by side."""


def few_of(count: Extent, shape: Sequence[Extent], axis: int) -> int | None:
    """Return how many elements are the first ``count`` along an axis; None if insertion is not the way to them."""
    rows = product((*shape[:axis], *shape[axis + 1 :]))
    if not isinstance(length := shape[axis], int) or length > _SHORT or (isinstance(rows, int) and rows < _ROWS):
        return None
    return count if isinstance(count, int) and count <= _FEW else None


def inserted(data: Tensor, axis: int, is_ascend: bool, count: int, dtype: str) -> tuple[Tensor, Tensor]:
    """Return the first ``count`` elements in their order along an axis, and the places that they had.

    Of equal elements the one that stands first comes first.
    """
    shape = dims(data)
    length, others = shape[axis], (*shape[:axis], *shape[axis + 1 :])
    rows = product(others)

    def loops(ib: IRBuilder, source: BufferVar, values: BufferVar, places: BufferVar) -> None:
        result = Elements(values, places)
        with ib.for_range(0, (rows + _ROWS - 1) // _ROWS, "block", kind="parallel") as block:
            first = Elements.allocate(ib, "first", "local", data.dtype, (count, _ROWS))

            def at(lane: Var, i: Index) -> tuple[Index, ...]:
                row = unflatten(te.min(block * _ROWS + lane, rows - 1), others)  # lanes that are left have the last one
                return (*row[:axis], i, *row[axis:])

            def insert(i: PrimExpr, known: int) -> None:
                with ib.for_range(0, _ROWS, "lane", kind="vectorize") as lane:
                    _insert(first, (source[at(lane, i)], i), min(known + 1, count), known, lane, is_ascend)

            for known in range(count):
                insert(const(known, "int32"), known)
            with ib.for_range(count, length, "i") as i:
                insert(i, count)
            with ib.for_range(0, _ROWS, "lane", kind="vectorize") as lane:
                for place in range(count):
                    result.store(first.at(place, lane), *at(lane, place))

    result_shape = replaced(shape, axis, count)
    found = by_loops([data], [(result_shape, data.dtype), (result_shape, dtype)], loops, "inserted", "sort")
    return found[0], found[1]


def _insert(first: Elements, new: Element, count: int, known: int, lane: Var, is_ascend: bool) -> None:
    """Insert an element into the ``known`` ones of a row, of which ``count`` are kept then."""
    comes = [precedes(new[0], first.values[place, lane], is_ascend) for place in range(known)]
    for place in reversed(range(count)):
        here = _chosen(comes[place], new, first.at(place, lane)) if place < known else new
        moved = _chosen(comes[place - 1], first.at(place - 1, lane), here) if place else here
        # The value goes last: by those of this place and the one before it is told what comes first.
        first.places[place, lane] = moved[1]
        first.values[place, lane] = moved[0]


def _chosen(condition: PrimExpr, element: Element, other: Element) -> Element:
    return tir.Select(condition, element[0], other[0]), tir.Select(condition, element[1], other[1])
