"""Hybrid operations: a statement over tensors whose loops can be scheduled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from compiler.arith import Analyzer
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Range
from compiler.ir.node import node
from compiler.ir.origin import derived_from
from compiler.te.definition.mutator import TensorMutator
from compiler.te.definition.operation import domain
from compiler.te.definition.tensor import Operation, Tensor
from compiler.tir.statements.stmt import Stmt

if TYPE_CHECKING:
    from compiler.te.definition.tensor import Region


@node
class HybridOp(Operation):
    """Computes its outputs by the statement of a hybrid script; made by :func:`tvm.te.hybrid.script`.

    Attributes
    ----------
    inputs : tuple of Tensor
        What it reads, or changes in place.
    output_placeholders : tuple of Tensor
        Stand for its outputs in the statement.
    loop_axes : tuple of IterVar
        The loops of the statement, in the order in which they begin; the domain of one may depend on those around it.
    body : Stmt
        Stores to the placeholders, by loops over the variables of the axes.
    """

    inputs: tuple[Tensor, ...]
    output_placeholders: tuple[Tensor, ...]
    loop_axes: tuple[IterVar, ...]
    body: Stmt

    def __post_init__(self) -> None:
        self._set_outputs([(t.shape, t.dtype) for t in self.output_placeholders])

    @property
    def axis(self) -> tuple[IterVar, ...]:
        """The loops of the statement."""
        return self.loop_axes

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        return self.inputs

    @property
    def expressions(self) -> tuple[PrimExpr, ...]:
        extents = (domain(axis).extent for axis in self.loop_axes)
        return (*extents, *(extent for t in self.outputs for extent in t.shape))

    def with_inputs(self, mapping: Mapping[Tensor, Tensor]) -> HybridOp:
        if mapping.keys().isdisjoint(self.inputs):
            return self
        inputs = tuple(mapping.get(t, t) for t in self.inputs)
        body = TensorMutator(mapping).visit(self.body)
        with derived_from(self.span):
            return HybridOp(self.name, self.tag, self.attrs, inputs, self.output_placeholders, self.loop_axes, body)

    def domains_for(self, regions: list[Region], analyzer: Analyzer) -> dict[IterVar, Range]:
        return {axis: domain(axis) for axis in self.loop_axes}

    def statement(self) -> Stmt:
        """Return the statement, with its outputs in place of the tensors that stand for them."""
        outputs = dict(zip(self.output_placeholders, self.outputs, strict=True))
        statement: Stmt = TensorMutator(outputs).visit(self.body)
        return statement

    def __repr__(self) -> str:
        return f"hybrid({self.name}, {hex(id(self))})"

    __str__ = __repr__
