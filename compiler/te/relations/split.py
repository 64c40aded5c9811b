"""Splitting an axis in two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from compiler.arith import Analyzer, eval_set
from compiler.arith.int_set import IntervalSet
from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import ExprLike, IntImm, IterVar, PrimExpr, Range, convert
from compiler.te.relations.relation import Relation
from compiler.te.scheduling.stage_state import StageState, stage_primitive
from compiler.tir.expressions.op import ceildiv


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Split(Relation):
    """``parent = outer * extent(inner) + inner``; exactly one of ``factor`` and ``nparts`` is given."""

    participle: ClassVar[str] = "split"

    parent: IterVar
    outer: IterVar
    inner: IterVar
    factor: PrimExpr | None
    nparts: PrimExpr | None

    @property
    def parents(self) -> tuple[IterVar, ...]:
        return (self.parent,)

    @property
    def children(self) -> tuple[IterVar, ...]:
        return (self.outer, self.inner)

    def extents_down(self, domains: Mapping[IterVar, Range], analyzer: Analyzer) -> tuple[PrimExpr, ...]:
        """Neither loop is longer than the parent, where that is constant, unless it is bound to a thread axis."""
        extent = domains[self.parent].extent
        given = self.nparts if self.factor is None else self.factor
        assert given is not None
        if isinstance(extent, IntImm) and isinstance(given, IntImm):
            size = max(1, min(extent.value, given.value))
            one: PrimExpr = IntImm(extent.dtype, size)
            other: PrimExpr = IntImm(extent.dtype, -(-extent.value // size))
        else:
            one = given.astype(extent.dtype)
            other = analyzer.simplify(ceildiv(extent, one))
        return (one, other) if self.factor is None else (other, one)

    def requested_extents(self) -> tuple[PrimExpr | None, ...]:
        return (self.nparts, self.factor)

    def values_down(
        self, offsets: Mapping[IterVar, PrimExpr], domains: Mapping[IterVar, Range]
    ) -> tuple[PrimExpr, ...]:
        offset, width = offsets[self.parent], domains[self.inner].extent
        return offset // width, offset % width

    def values_up(self, values: Mapping[IterVar, PrimExpr], domains: Mapping[IterVar, Range]) -> tuple[PrimExpr, ...]:
        return (values[self.inner] + values[self.outer] * domains[self.inner].extent,)

    def covers_exactly(self, domains: Mapping[IterVar, Range], analyzer: Analyzer) -> bool:
        covered = domains[self.inner].extent * domains[self.outer].extent
        return analyzer.can_prove_equal(covered, domains[self.parent].extent)

    def sets_up(
        self, sets: Mapping[IterVar, IntervalSet], domains: Mapping[IterVar, Range], analyzer: Analyzer
    ) -> tuple[IntervalSet, ...]:
        """The bounds of a stage that is computed here begin with the outer loop, as classic TVM writes them."""
        offset = self.outer.var * domains[self.inner].extent + self.inner.var
        return (eval_set(offset, {child.var: sets[child] for child in self.children}, analyzer),)


@stage_primitive
def split(
    self: StageState,
    parent: IterVar,
    factor: ExprLike | None = None,
    nparts: ExprLike | None = None,
    disable_predication: bool = False,
) -> tuple[IterVar, IterVar]:
    """Split a loop in two; where the sizes do not divide its extent, the last iterations are guarded.

    ::

        for i in range(100):                          for i_outer in range(4):
            B[i] = A[i]               →                   for i_inner in range(30):
                                                              if i_inner + i_outer * 30 < 100:
                                                                  B[i_inner + i_outer * 30] = …

    Raises ArgumentError if not exactly one of ``factor`` and ``nparts`` is given, or it is not a positive integer.
    Raises ScheduleError if ``parent`` is not a loop of this stage.

    Parameters
    ----------
    factor : int or PrimExpr, optional
        Extent of the inner loop, in iterations.
    nparts : int or PrimExpr, optional
        Extent of the outer loop, in iterations; exactly one of the two must be given.
    disable_predication : bool
        Must be False; TVM's parameter of this name drops the guards.
    """
    at = self.require_leaf("split", parent)
    if (factor is None) == (nparts is None):
        got = "neither" if factor is None else "both"
        raise ArgumentError(f"split: one of factor and nparts must be given, got {got} ({self.describe(parent)})")
    if disable_predication:
        raise ArgumentError(
            f"split: disable_predication must be False ({self.describe(parent)}): guards are only"
            f" emitted where they are needed"
        )
    by = None if factor is None else _size(self, "factor", factor, parent)
    parts = None if nparts is None else _size(self, "nparts", nparts, parent)
    outer, inner = (self.derived_axis(parent, f"{parent.var.name}.{end}") for end in ("outer", "inner"))
    self.relate(Split(parent, outer, inner, by, parts), at)
    return outer, inner


def _size(stage: StageState, name: str, value: ExprLike, axis: IterVar) -> PrimExpr:
    if not isinstance(value, (bool, float, str)):
        e = convert(value)
        largest = dt.int_range(axis.var.dtype)[1]
        if 0 < e.value <= largest if isinstance(e, IntImm) else dt.is_integral(e.dtype):
            return e.astype(axis.var.dtype)
    raise ArgumentError(f"split: {name} must be a positive int, got {show(value)} ({stage.describe(axis)})")
