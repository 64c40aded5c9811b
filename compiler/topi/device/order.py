"""The sort order on devices: by value, then by position.

No two elements are the same then, which makes any way of sorting a stable one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from compiler import te, tir
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import And, Not, Or, PrimExpr
from compiler.tir.ir_builder import BufferVar, IRBuilder
from compiler.topi.device.rows import Rows
from compiler.topi.operands import Index

Element: TypeAlias = tuple[PrimExpr, PrimExpr]
"""A value, and the place that it had."""


def precedes(a: PrimExpr, b: PrimExpr, is_ascend: bool) -> PrimExpr:
    """Return whether a value comes before another one in order; NaN is greater than any number, and equal to itself."""
    less, more = (a, b) if is_ascend else (b, a)
    if dt.is_bool(less.dtype):
        return And(Not(less), more)
    if dt.is_float(less.dtype):
        return Or(less < more, And(tir.isnan(more), Not(tir.isnan(less))))
    return less < more


@dataclass(frozen=True, slots=True)
class Elements:
    """Memory of values with the places that they had."""

    values: BufferVar
    places: BufferVar

    @classmethod
    def allocate(cls, builder: IRBuilder, name: str, scope: str, dtype: str, shape: Sequence[Index]) -> Elements:
        """Allocate memory for the rest of the builder's block."""
        values = builder.allocate(dtype, shape, f"{name}_values", scope)
        return cls(values, builder.allocate("int32", shape, f"{name}_places", scope))

    def at(self, *indices: Index) -> Element:
        """Return the element at an index of each dimension."""
        return self.values[indices], self.places[indices]

    def store(self, element: Element, *indices: Index) -> None:
        """Write an element at an index of each dimension."""
        self.values[indices], self.places[indices] = element


@dataclass(frozen=True, slots=True)
class Order:
    """Which of two elements of a row comes first; elements behind the ``counts`` of their rows stay in their places."""

    rows: Rows
    is_ascend: bool
    counts: BufferVar | None

    def is_before(self, row: PrimExpr, a: Element, b: Element, has_padding: bool = False) -> PrimExpr:
        """Return whether an element comes before another one."""
        (value, place), (other, other_place) = a, b
        earlier = place < other_place
        ordered = Or(precedes(value, other, self.is_ascend), And(Not(precedes(other, value, self.is_ascend)), earlier))
        if self.counts is None and not has_padding:
            return ordered
        return tir.Select(te.max(place, other_place) < self._sorted_count(row), ordered, earlier)

    def _sorted_count(self, row: PrimExpr) -> Index:
        if self.counts is None:
            return self.rows.length
        return te.min(self.counts[self.rows.others(row)].astype("int32"), self.rows.length)
