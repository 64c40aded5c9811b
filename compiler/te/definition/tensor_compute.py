"""Compute operations whose innermost dimensions are computed by an intrinsic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from compiler.arith import Analyzer, eval_set, union
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Range, Var, const
from compiler.ir.node import node
from compiler.ir.origin import derived_from
from compiler.te.definition.operation import domain, same_dtype
from compiler.te.definition.tensor import BaseComputeOp, Operation, Tensor

if TYPE_CHECKING:
    from compiler.arith.int_set import IntervalSet
    from compiler.te.definition.tensor import Region
    from compiler.te.definition.tensor_intrin import TensorIntrin


@node
class TensorComputeOp(BaseComputeOp):
    """Computes its outputs by calls of an intrinsic; made by ``te.compute`` of such a call.

    Attributes
    ----------
    axes : tuple of IterVar
        One for each dimension; those that the intrinsic computes are not loops.
    reduce_axes : tuple of IterVar
        Over what the calls add to the outputs.
    schedulable_ndim : int
        How many of the first dimensions are loops.
    input_regions : tuple of tuple of Range
        Which elements of each, as functions of the axes.
    """

    axes: tuple[IterVar, ...]
    reduce_axes: tuple[IterVar, ...]
    schedulable_ndim: int
    intrin: TensorIntrin
    inputs: tuple[Tensor, ...]
    input_regions: tuple[tuple[Range, ...], ...]
    outputs: tuple[Tensor, ...] = field(init=False)

    def __post_init__(self) -> None:
        shape = tuple(domain(a).extent for a in self.axes)
        self._set_outputs([(shape, t.dtype) for t in self.intrin.op.outputs])

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        return tuple(dict.fromkeys(self.inputs))

    @property
    def axis(self) -> tuple[IterVar, ...]:
        return self.axes

    @property
    def reduce_axis(self) -> tuple[IterVar, ...]:
        return self.reduce_axes

    @property
    def expressions(self) -> tuple[PrimExpr, ...]:
        ranges = [domain(a) for a in self.root_iter_vars] + [r for region in self.input_regions for r in region]
        return tuple(e for r in ranges for e in (r.min, r.extent))

    def output_region(self) -> tuple[Range, ...]:
        """Return the elements of an output that one call computes."""
        first = [Range.from_min_extent(a.var, const(1, a.var.dtype)) for a in self.axes[: self.schedulable_ndim]]
        return (*first, *(domain(a) for a in self.axes[self.schedulable_ndim :]))

    def with_inputs(self, mapping: Mapping[Tensor, Tensor]) -> TensorComputeOp:
        inputs = tuple(mapping.get(t, t) for t in self.inputs)
        with derived_from(self.span):
            return TensorComputeOp(
                self.name,
                self.tag,
                self.attrs,
                self.axes,
                self.reduce_axes,
                self.schedulable_ndim,
                self.intrin,
                inputs,
                self.input_regions,
            )

    def regions_read(self, producer: Operation, sets: Mapping[Var, IntervalSet], analyzer: Analyzer) -> list[Region]:
        return [
            (tensor, [eval_set(r, sets, analyzer) for r in region])
            for tensor, region in zip(self.inputs, self.input_regions, strict=True)
            if tensor.op is producer
        ]

    def domains_for(self, regions: list[Region], analyzer: Analyzer) -> dict[IterVar, Range]:
        domains = {axis: domain(axis) for axis in (*self.reduce_axes, *self.axes[self.schedulable_ndim :])}
        for d, axis in enumerate(self.axes[: self.schedulable_ndim]):
            needed = union([region[d] for _, region in regions], analyzer)
            domains[axis] = same_dtype(needed.cover_range(domain(axis), analyzer), axis)
        return domains

    def realized(self, index: int, domains: Mapping[IterVar, Range]) -> tuple[Range, ...]:
        return tuple(domains[a] for a in self.axes)

    def __repr__(self) -> str:
        return f"tensor_compute_op({self.name}, {hex(id(self))})"

    __str__ = __repr__
