"""Loops of one iteration that derive from no axis; created by ``Stage.fuse`` without arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compiler.arith import Analyzer
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Range, Var, const
from compiler.te.relations.relation import Relation


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Singleton(Relation):
    """``axis = 0``."""

    axis: IterVar

    @classmethod
    def make(cls) -> Singleton:
        """Return the relation of a new axis."""
        return cls(IterVar(None, Var("singleton"), IterVar.DataPar))

    @property
    def parents(self) -> tuple[IterVar, ...]:
        return ()

    @property
    def children(self) -> tuple[IterVar, ...]:
        return (self.axis,)

    def extents_down(self, domains: Mapping[IterVar, Range], analyzer: Analyzer) -> tuple[PrimExpr, ...]:
        return (const(1),)

    def values_down(
        self, offsets: Mapping[IterVar, PrimExpr], domains: Mapping[IterVar, Range]
    ) -> tuple[PrimExpr, ...]:
        return (const(0),)

    def values_up(self, values: Mapping[IterVar, PrimExpr], domains: Mapping[IterVar, Range]) -> tuple[PrimExpr, ...]:
        return ()

    def covers_exactly(self, domains: Mapping[IterVar, Range], analyzer: Analyzer) -> bool:
        return True
