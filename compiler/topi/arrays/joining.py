"""Operators that join tensors along an axis, and those that split them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from compiler import te
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.arrays.transform import reindex
from compiler.topi.compute import compute
from compiler.topi.operands import Extent, axis_of, dims, replaced
from compiler.topi.tag import Tag

__all__ = [
    "concatenate", "split", "stack",
]  # fmt: skip

_ROW = 32
"""Elements of a part of a row that are worth a loop of their own."""


def concatenate(a_tuple: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Concatenate tensors along an axis; their shapes agree along the others."""
    parts = list(a_tuple)
    at = axis_of(axis, len(parts[0].shape), "concatenate")
    extents = [dims(p)[at] for p in parts]
    ends = [sum(extents[: n + 1]) for n in range(len(parts))]

    def element(*i: Var) -> PrimExpr:
        value = parts[-1](*i[:at], i[at] - ends[-2] if len(ends) > 1 else i[at], *i[at + 1 :])
        for n in range(len(parts) - 2, -1, -1):
            begin = ends[n - 1] if n else 0
            here = parts[n](*i[:at], i[at] - begin, *i[at + 1 :])
            value = te.if_then_else(i[at] < ends[n], here, value)
        return value

    is_of_rows = at + 1 == len(dims(parts[0])) and all(isinstance(e, int) and e >= _ROW for e in extents)
    tag = Tag.COPIES if is_of_rows and len(parts) == 2 else Tag.INJECTIVE  # loops are divided at one condition
    return compute(replaced(dims(parts[0]), at, ends[-1]), element, name="concatenate", tag=tag)


def stack(a: Sequence[Tensor], axis: int) -> Tensor:
    """Stack tensors of one shape and data type along a new axis."""
    parts = list(a)
    old = dims(parts[0])
    at = axis_of(axis, len(old) + 1, "stack")

    def element(*i: Var) -> PrimExpr:
        rest = (*i[:at], *i[at + 1 :])
        value = parts[-1](*rest)
        for n in range(len(parts) - 2, -1, -1):
            value = te.if_then_else(i[at].equal(n), parts[n](*rest), value)
        return value

    return compute((*old[:at], len(parts), *old[at:]), element, name="stack", tag=Tag.INJECTIVE)


def split_points(extent: Extent, indices_or_sections: int | Sequence[Extent]) -> list[Extent]:
    """Return the start of each part of a split, followed by the end of the last.

    The split is given as the number of equal parts, or as the start of each part but the first.
    """
    if not isinstance(indices_or_sections, int):
        return [0, *indices_or_sections, extent]
    if isinstance(extent, int) and (indices_or_sections < 1 or extent % indices_or_sections):
        raise ArgumentError(f"split: {extent} elements cannot be split into {indices_or_sections} equal parts")
    each = extent // indices_or_sections
    return [each * n for n in range(indices_or_sections)] + [extent]


def split(ary: Tensor, indices_or_sections: int | Sequence[Extent], axis: int = 0) -> list[Tensor]:
    """Split a tensor along an axis into a number of equal parts, or at the start of each part but the first.

    Raises ArgumentError if the axis is out of range, or the number of equal parts does not divide its extent.
    """
    old = dims(ary)
    at = axis_of(axis, len(old), "split")
    points = split_points(old[at], indices_or_sections)
    return [_part(ary, at, begin, end) for begin, end in pairwise(points)]


def _part(ary: Tensor, at: int, begin: Extent, end: Extent) -> Tensor:
    return reindex(replaced(dims(ary), at, end - begin), ary, lambda i: replaced(i, at, i[at] + begin), "split")
