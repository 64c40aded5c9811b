"""Reversing an axis: its last value first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from compiler.arith import Analyzer
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Range
from compiler.te.relations.relation import Relation
from compiler.te.scheduling.stage_state import StageState, stage_primitive


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reverse(Relation):
    """``parent = extent(parent) - 1 - reversed``."""

    participle: ClassVar[str] = "reversed"

    parent: IterVar
    reversed: IterVar

    @property
    def parents(self) -> tuple[IterVar, ...]:
        return (self.parent,)

    @property
    def children(self) -> tuple[IterVar, ...]:
        return (self.reversed,)

    def extents_down(self, domains: Mapping[IterVar, Range], analyzer: Analyzer) -> tuple[PrimExpr, ...]:
        return (domains[self.parent].extent,)

    def values_down(
        self, offsets: Mapping[IterVar, PrimExpr], domains: Mapping[IterVar, Range]
    ) -> tuple[PrimExpr, ...]:
        return (domains[self.parent].extent - 1 - offsets[self.parent],)

    def values_up(self, values: Mapping[IterVar, PrimExpr], domains: Mapping[IterVar, Range]) -> tuple[PrimExpr, ...]:
        return (domains[self.parent].extent - 1 - values[self.reversed],)

    def covers_exactly(self, domains: Mapping[IterVar, Range], analyzer: Analyzer) -> bool:
        return True


@stage_primitive
def reverse(self: StageState, axis: IterVar) -> IterVar:
    """Run a loop backwards, from the last value of its axis to the first one.

    The elements are the same; those of a reduction are combined in the opposite order, which may round differently.
    The loop keeps its annotations.  An extension: classic TVM has no such primitive.  ::

        for i in range(8):            →               for i_reversed in range(8):
            B[i] = A[i]                                   B[7 - i_reversed] = A[7 - i_reversed]
    """
    at = self.require_leaf("reverse", axis)
    backwards = self.derived_axis(axis, f"{axis.var.name}.reversed")
    self.relate(Reverse(axis, backwards), at)
    return backwards
