"""Inlining: substitutes the bodies of inlined operations for reads of their tensors."""

from __future__ import annotations

from collections.abc import Mapping, Set

from compiler.ir.error import ScheduleError
from compiler.ir.expr.primexpr import Let, PrimExpr, ProducerLoad, Var
from compiler.ir.expr.substitute import values_of
from compiler.ir.functor import Mutator
from compiler.te.definition.compute_body import map_body
from compiler.te.definition.operation import ComputeOp
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.scheduling.sharing import shared_values_named

Expansions = dict[tuple[Tensor, tuple[PrimExpr, ...]], PrimExpr]
"""What stands for reads of inlined operations, by tensor and indices."""


def with_inlined(reader: Operation, inlined: Set[Operation]) -> Operation:
    """Return an operation that computes itself what it read from inlined ones.

    The body of an inlined operation is visited once for all reads of the same element, so that the time is linear in
    the size of the operations, and values that are read several times stay shared.
    """
    read = [t.op for t in reader.input_tensors if t.op in inlined]
    if not read:
        return reader
    if not isinstance(reader, ComputeOp):
        raise ScheduleError(
            f"compute_inline: stage {read[0].name!r} must be stored, since {reader.name!r} reads it as a whole"
        )
    body = map_body(reader.body, _Inliner(inlined, {}, {}).visit)
    return reader.with_body(map_body(body, shared_values_named))


class _Inliner(Mutator):
    """Rebuilds one body for certain values of its axes."""

    def __init__(self, inlined: Set[Operation], values: Mapping[Var, PrimExpr], expansions: Expansions) -> None:
        self._inlined = inlined
        self._values = dict(values)
        self._expansions = expansions
        self.memo_map = {}

    def visit_Var(self, n: Var) -> PrimExpr:
        return self._values.get(n, n)

    def visit_Let(self, n: Let) -> PrimExpr:
        value = self.visit(n.value)
        self._values[n.var] = var = Var(n.var.name, n.var.dtype)
        return Let(var, value, self.visit(n.body))

    def visit_ProducerLoad(self, n: ProducerLoad) -> PrimExpr:
        indices = self._visit_tuple(n.indices)
        if n.producer.op not in self._inlined:
            return n if indices is n.indices else ProducerLoad(n.producer, indices)
        key = (n.producer, indices)
        value = self._expansions.get(key)
        if value is None:
            op: ComputeOp = n.producer.op
            at = values_of(zip((a.var for a in op.axis), indices, strict=True))
            inner = _Inliner(self._inlined, at, self._expansions)
            value = self._expansions[key] = inner.visit(op.body[n.producer.value_index])
        return value
