"""Loops that start at zero whatever their axis starts at; created by :mod:`compiler.te.scheduling.normalize`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compiler.arith import Analyzer
from compiler.arith.int_set import IntervalSet
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Range
from compiler.te.relations.relation import Relation


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rebase(Relation):
    """``parent = rebased + min(parent)``."""

    parent: IterVar
    rebased: IterVar

    @property
    def parents(self) -> tuple[IterVar, ...]:
        return (self.parent,)

    @property
    def children(self) -> tuple[IterVar, ...]:
        return (self.rebased,)

    def extents_down(self, domains: Mapping[IterVar, Range], analyzer: Analyzer) -> tuple[PrimExpr, ...]:
        return (domains[self.parent].extent,)

    def values_down(
        self, offsets: Mapping[IterVar, PrimExpr], domains: Mapping[IterVar, Range]
    ) -> tuple[PrimExpr, ...]:
        return (offsets[self.parent],)

    def values_up(self, values: Mapping[IterVar, PrimExpr], domains: Mapping[IterVar, Range]) -> tuple[PrimExpr, ...]:
        return (values[self.rebased],)

    def covers_exactly(self, domains: Mapping[IterVar, Range], analyzer: Analyzer) -> bool:
        return True

    def sets_up(
        self, sets: Mapping[IterVar, IntervalSet], domains: Mapping[IterVar, Range], analyzer: Analyzer
    ) -> tuple[IntervalSet, ...]:
        return (sets[self.rebased],)
