"""Fusing adjacent axes into one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from compiler.arith import Analyzer, IntSet
from compiler.arith.int_set import IntervalSet
from compiler.ir.error import ScheduleError
from compiler.ir.expr.primexpr import IntImm, IterVar, PrimExpr, Range, Var, is_const_int
from compiler.ir.expr.substitute import uses_var
from compiler.te.definition.compute_body import reads_tensors
from compiler.te.relations.relation import Relation
from compiler.te.relations.singleton import Singleton
from compiler.te.scheduling.stage_state import StageState, stage_primitive


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Fuse(Relation):
    """``fused = outer * extent(inner) + inner``."""

    participle: ClassVar[str] = "fused"

    outer: IterVar
    inner: IterVar
    fused: IterVar

    @property
    def parents(self) -> tuple[IterVar, ...]:
        return (self.outer, self.inner)

    @property
    def children(self) -> tuple[IterVar, ...]:
        return (self.fused,)

    def extents_down(self, domains: Mapping[IterVar, Range], analyzer: Analyzer) -> tuple[PrimExpr, ...]:
        extent = domains[self.outer].extent * domains[self.inner].extent
        return (extent if isinstance(extent, IntImm) else analyzer.simplify(extent),)

    def values_down(
        self, offsets: Mapping[IterVar, PrimExpr], domains: Mapping[IterVar, Range]
    ) -> tuple[PrimExpr, ...]:
        return (offsets[self.outer] * domains[self.inner].extent + offsets[self.inner],)

    def values_up(self, values: Mapping[IterVar, PrimExpr], domains: Mapping[IterVar, Range]) -> tuple[PrimExpr, ...]:
        value, width = values[self.fused], domains[self.inner].extent
        return value // width, value % width

    def covers_exactly(self, domains: Mapping[IterVar, Range], analyzer: Analyzer) -> bool:
        return True

    def sets_up(
        self, sets: Mapping[IterVar, IntervalSet], domains: Mapping[IterVar, Range], analyzer: Analyzer
    ) -> tuple[IntervalSet, ...]:
        """A piece of a fused loop covers some rows, and a part of a row only if it never crosses a row's end."""
        simplify = analyzer.simplify
        fused, width = sets[self.fused], domains[self.inner].extent
        low, high = fused.min_value, fused.max_value
        if fused.is_single_point():
            return IntSet.single_point(simplify(low // width)), IntSet.single_point(simplify(low % width))
        rows = IntSet.interval(simplify(low // width), simplify(high // width))
        length = simplify(high - low + 1)
        if isinstance(length, IntImm) and all(is_const_int(simplify(e % length), 0) for e in (width, low)):
            return rows, IntSet.interval(simplify(low % width), simplify(high % width))
        return rows, IntSet.from_min_extent(0, width)


@stage_primitive
def fuse(self: StageState, *args: IterVar) -> IterVar:
    """Make one loop of adjacent ones; without arguments, put a loop of one iteration outside of all others.

    ::

        for i in range(4):                            for i_j_fused in range(32):
            for j in range(8):        →                   B[i_j_fused // 8, i_j_fused % 8] = …
                B[i, j] = …

    A loop that is made of one over elements and of a reduction loop is a reduction loop; the initial values are stored
    by loops of their own before it. Raises ScheduleError if the loops are not adjacent loops of this stage, or one is
    as long as data at the position of the other says.
    """
    axes = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
    if not axes:
        singleton = Singleton.make()
        self.relate(singleton, 0)
        return singleton.axis
    self.require_leaf("fuse", axes[0])
    fused = axes[0]
    for axis in axes[1:]:
        fused = _fuse_two(self, fused, axis)
    return fused


def _fuse_two(stage: StageState, outer: IterVar, inner: IterVar) -> IterVar:
    first, second = stage.require_leaf("fuse", outer), stage.require_leaf("fuse", inner)
    if abs(first - second) != 1:
        names = " and ".join(repr(a.var.name) for a in (outer, inner))
        raise ScheduleError(f"fuse: axes must be adjacent, got {names} ({stage.describe_loops()})")
    if second < first:
        outer, inner, first = inner, outer, second
    _check_lengths(stage, outer, inner)
    kind = inner.iter_type if inner.iter_type == IterVar.CommReduce else outer.iter_type
    fused = IterVar(None, Var(f"{outer.var.name}.{inner.var.name}.fused", outer.var.dtype), kind)
    stage.relate(Fuse(outer, inner, fused), first)
    return fused


def _check_lengths(stage: StageState, outer: IterVar, inner: IterVar) -> None:
    """Reject loops of which one is as long as data at the position of the other says: rows would differ in length."""
    made_of = {outer, inner}
    for relation in reversed(stage.relations):
        if not made_of.isdisjoint(relation.children):
            made_of.update(relation.parents)
    for axis in made_of:
        if axis.dom is None:
            continue
        for bound in (axis.dom.min, axis.dom.extent):
            if reads_tensors(bound) and any(uses_var(bound, other.var) for other in made_of):
                raise ScheduleError(
                    f"fuse: {stage.describe(axis)} is as long as data says that is read at the position of the loop "
                    "it would be fused with"
                )
