"""Replaces the tensors in a statement."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.ir.expr.primexpr import PrimExpr, ProducerLoad
from compiler.ir.functor import Mutator
from compiler.te.definition.tensor import Tensor
from compiler.tir.statements.producer_stmt import ProducerRealize, ProducerStore
from compiler.tir.statements.stmt import Stmt


class TensorMutator(Mutator):
    """Puts tensors in place of others, in reads, stores and realizations."""

    def __init__(self, tensors: Mapping[Tensor, Tensor] | None = None) -> None:
        self._tensors = tensors or {}

    def _tensor(self, tensor: Tensor) -> Tensor:
        return self._tensors.get(tensor, tensor)

    def visit_ProducerLoad(self, n: ProducerLoad) -> PrimExpr:
        return ProducerLoad(self._tensor(n.producer), self._visit_tuple(n.indices))

    def visit_ProducerStore(self, n: ProducerStore) -> Stmt:
        return ProducerStore(self._tensor(n.producer), self.visit(n.value), self._visit_tuple(n.indices))

    def visit_ProducerRealize(self, n: ProducerRealize) -> Stmt:
        return ProducerRealize(self._tensor(n.producer), n.bounds, n.condition, self.visit(n.body), n.storage_scope)
