"""Physical layouts: how ``Stage.transform_layout`` arranges a tensor's elements in its buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.arith import Analyzer
from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import PrimExpr, Range
from compiler.tir.layout.index_map import IndexMap


@dataclass(frozen=True, slots=True, eq=False)
class PhysicalLayout:
    """The layout of a tensor, or of the region of it that exists at a time.

    Attributes
    ----------
    index_maps : tuple of IndexMap
        What is applied to the indices, one map after another.
    axis_separators : tuple of int
        Before which dimensions of the buffer separators stand.
    begin : tuple of PrimExpr
        The first index of the region in each dimension of the tensor, in elements; empty if it is zero.
    """

    index_maps: tuple[IndexMap, ...]
    axis_separators: tuple[int, ...]
    begin: tuple[PrimExpr, ...] = ()

    def shape(self, shape: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
        """Return the shape of the buffer of a tensor, or region, of ``shape``."""
        dims = tuple(shape)
        for index_map in self.index_maps:
            dims = index_map.map_shape(dims)
        return dims

    def indices(self, indices: Sequence[PrimExpr], analyzer: Analyzer) -> tuple[PrimExpr, ...]:
        """Return where in the buffer an element of the tensor lies."""
        place = tuple(indices)
        if self.begin:
            place = tuple([index - first for index, first in zip(place, self.begin, strict=True)])
        for index_map in self.index_maps:
            place = index_map.map_indices(place, analyzer)
        return place

    def of_region(
        self, name: str, region: Sequence[Range], shape: Sequence[PrimExpr], analyzer: Analyzer
    ) -> PhysicalLayout:
        """Return the layout of a region of a tensor, whose indices count from where it begins.

        Over the tensor's shape the maps are one to one.
        """
        for bound, dim in zip(region, shape, strict=True):
            if not analyzer.can_prove(bound.extent <= dim):
                raise LoweringError(
                    f"transform_layout: a region of {bound.extent} elements of {name!r} is stored, and the layout is "
                    f"defined for {dim}"
                )
        return PhysicalLayout(self.index_maps, self.axis_separators, tuple([bound.min for bound in region]))
