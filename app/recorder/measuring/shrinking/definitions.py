"""Rebuilds the definitions of a computation with other extents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from app.recorder.measuring.shrinking.dimensions import Dimension, Dimensions
from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import IntImm, IterVar, PrimExpr, ProducerLoad, Range, Reduce, Var, const
from compiler.ir.functor import Mutator
from compiler.te.definition.operation import ComputeOp, PlaceholderOp, domain, placeholder
from compiler.te.definition.tensor import Operation, Tensor


class NotShrinkable(TVMError):
    """There is no smaller computation of the same structure, or none is known."""


def defined_operations(outputs: Iterable[Operation]) -> list[Operation]:
    """Return the operations that some depend on, each after those that it reads."""
    ordered: dict[Operation, None] = {}
    todo = [(op, False) for op in outputs]
    while todo:
        op, ready = todo.pop()
        if ready or op in ordered:
            ordered[op] = None
            continue
        if not isinstance(op, ComputeOp | PlaceholderOp):
            raise NotShrinkable(f"{op.name} is a {type(op).__name__}, whose extents cannot be changed")
        todo.append((op, True))
        todo += [(tensor.op, False) for tensor in op.input_tensors]
    return list(ordered)


def extents_of(op: Operation) -> dict[Dimension, int]:
    """Return the extents of an operation's axes, or of the dimensions of a placeholder."""
    pairs: list[tuple[Dimension, PrimExpr, PrimExpr]] = [
        ((op, i), const(0), extent) for i, extent in enumerate(op.output(0).shape)
    ]
    pairs += [(axis.var, domain(axis).min, domain(axis).extent) for axis in op.root_iter_vars]
    extents: dict[Dimension, int] = {}
    for member, low, extent in pairs:
        if not isinstance(extent, IntImm) or not isinstance(low, IntImm) or low.value:
            raise NotShrinkable(f"{op.name} has an extent that is not constant, or an axis that begins elsewhere")
        extents[member] = extent.value
    return extents


def redefine(
    operations: Iterable[Operation], dimensions: Dimensions, sizes: Mapping[Dimension, int]
) -> dict[Operation, Operation]:
    """Define operations anew with other extents."""
    made: dict[Operation, Operation] = {}
    for op in operations:
        if isinstance(op, PlaceholderOp):
            shape = [sizes[dimensions.class_of((op, i))] for i in range(len(op.shape))]
            made[op] = placeholder(shape, op.dtype, op.name).op
        else:
            assert isinstance(op, ComputeOp)
            axes = {a.var: _resized(a, sizes[dimensions.class_of(a.var)]) for a in op.root_iter_vars}
            rewrite = _ShrunkDefinition(axes, made)
            body = tuple(rewrite.visit(e) for e in op.body)
            made[op] = ComputeOp(op.name, op.tag, op.attrs, tuple(axes[a.var] for a in op.axis), body)
    return made


def _resized(axis: IterVar, extent: int) -> IterVar:
    dtype = axis.var.dtype
    return IterVar(Range.from_fields(const(0, dtype), const(extent, dtype)), Var(axis.var.name, dtype), axis.iter_type)


class _ShrunkDefinition(Mutator):
    """Puts new axes and tensors in place of others."""

    def __init__(self, axes: Mapping[Var, IterVar], operations: Mapping[Operation, Operation]) -> None:
        self._axes = axes
        self._operations = operations
        self._reductions: dict[Reduce, Reduce] = {}

    def visit_Var(self, n: Var) -> PrimExpr:
        return self._axes[n].var if n in self._axes else n

    def visit_ProducerLoad(self, n: ProducerLoad) -> PrimExpr:
        tensor: Tensor = n.producer
        return ProducerLoad(
            self._operations[tensor.op].output(tensor.value_index), tuple(self.visit(i) for i in n.indices)
        )

    def visit_Reduce(self, n: Reduce) -> PrimExpr:
        return Reduce(
            n.combiner,
            tuple(self.visit(e) for e in n.source),
            tuple(self._axes[a.var] for a in n.axis),
            self.visit(n.condition),
            n.value_index,
            tuple(self.visit(e) for e in n.init),
        )
