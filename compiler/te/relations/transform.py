"""Traversing the elements of a tensor in the order of another layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from compiler.arith import Analyzer
from compiler.ir.error import ScheduleError
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Range, const
from compiler.te.relations.relation import Relation
from compiler.tir.layout.index_map import IndexMap


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Transform(Relation):
    """``transformed = forward(original)``, which is one to one over ``shape``; ``Stage.transform_layout`` makes it.

    The maps are of offsets of axes, which stand in the order of the dimensions; ``shape`` has the original extents.
    """

    participle: ClassVar[str] = "transformed"

    original_variables: tuple[IterVar, ...]
    transformed_variables: tuple[IterVar, ...]
    forward_transformation: IndexMap
    inverse_transformation: IndexMap
    shape: tuple[PrimExpr, ...]

    @property
    def parents(self) -> tuple[IterVar, ...]:
        return self.original_variables

    @property
    def children(self) -> tuple[IterVar, ...]:
        return self.transformed_variables

    def extents_down(self, domains: Mapping[IterVar, Range], analyzer: Analyzer) -> tuple[PrimExpr, ...]:
        """A part of the tensor is traversed as the smallest box of the other layout that holds it."""
        extents = [domains[axis].extent for axis in self.original_variables]
        for axis, extent, dim in zip(self.original_variables, extents, self.shape, strict=True):
            if not analyzer.can_prove(extent <= dim):
                raise ScheduleError(
                    f"transform_layout: {extent} values of axis {axis.var.name!r} are computed, and the layout is "
                    f"defined for {dim}"
                )
        return self.forward_transformation.map_shape(extents)

    def values_down(
        self, offsets: Mapping[IterVar, PrimExpr], domains: Mapping[IterVar, Range]
    ) -> tuple[PrimExpr, ...]:
        return self.forward_transformation.map_indices([offsets[axis] for axis in self.original_variables])

    def values_up(self, values: Mapping[IterVar, PrimExpr], domains: Mapping[IterVar, Range]) -> tuple[PrimExpr, ...]:
        return self.inverse_transformation.map_indices([values[axis] for axis in self.transformed_variables])

    def covers_exactly(self, domains: Mapping[IterVar, Range], analyzer: Analyzer) -> bool:
        return analyzer.can_prove_equal(_size(self.parents, domains), _size(self.children, domains))


def _size(axes: tuple[IterVar, ...], domains: Mapping[IterVar, Range]) -> PrimExpr:
    size: PrimExpr = const(1, axes[0].var.dtype) if axes else const(1)
    for axis in axes:
        size = size * domains[axis].extent
    return size
