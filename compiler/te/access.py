"""Reads of tensors that are certain to leave them."""

from __future__ import annotations

from typing import Any

from compiler.arith import detect_linear_equation
from compiler.ir.error import BoundError
from compiler.ir.functor import Visitor
from compiler.ir.primexpr import And, Call, IntImm, IterVar, Or, PrimExpr, ProducerLoad, Range, Reduce, Select
from compiler.tir.builtin import IF_THEN_ELSE


def check_accesses(op: Any) -> None:
    """Refuse a computation that certainly reads outside of a tensor.

    Only indices that are linear in the axes are judged, whose smallest and largest value do occur, and only reads that
    no condition guards.

    Raises
    ------
    BoundError
        Names the tensor, the dimension, the range of the index and the shape.
    """
    for e in op.body[:1] if isinstance(op.body[0], Reduce) else op.body:
        _Accesses(op).visit(e)


class _Accesses(Visitor):
    """Visits the reads that happen for every value of the axes."""

    def __init__(self, op: Any) -> None:
        self._op = op
        self._axes: list[IterVar] = [a for a in op.root_iter_vars if isinstance(a.dom, Range)]
        self._vars = [a.var for a in self._axes]

    def visit_Reduce(self, n: Reduce) -> None:
        guarded = not (isinstance(n.condition, IntImm) and n.condition.value)
        for e in (n.condition, *n.init) if guarded else (*n.source, *n.init):
            self.visit(e)

    def visit_Select(self, n: Select) -> None:
        self.visit(n.condition)

    def visit_Call(self, n: Call) -> None:
        for e in n.args[:1] if n.op is IF_THEN_ELSE else n.args:
            self.visit(e)

    def visit_And(self, n: And) -> None:
        self.visit(n.a)

    def visit_Or(self, n: Or) -> None:
        self.visit(n.a)

    def visit_ProducerLoad(self, n: ProducerLoad) -> None:
        for d, (index, extent) in enumerate(zip(n.indices, n.producer.shape, strict=True)):
            self.visit(index)
            found = self._reach(index) if isinstance(extent, IntImm) else None
            if found is not None and (found[0] < 0 or found[1] >= extent.value):
                shape = ", ".join(str(s) for s in n.producer.shape)
                raise BoundError(
                    f"compute {self._op.name!r}: index {d} of {n.producer.name!r} runs from {found[0]} to {found[1]}, "
                    f"outside of its shape ({shape}); guard the read with te.if_then_else or change the index {index}"
                )

    def _reach(self, index: PrimExpr) -> tuple[int, int] | None:
        """Return the smallest and the largest value of a linear index, or None."""
        if isinstance(index, IntImm):
            return index.value, index.value
        row = detect_linear_equation(index, self._vars)
        if not row or not all(isinstance(c, IntImm) for c in row):
            return None
        *coefficients, base = [int(c) for c in row]  # type: ignore[call-overload]
        low = high = base
        for axis, c in zip(self._axes, coefficients, strict=True):
            assert axis.dom is not None
            if c == 0:
                continue
            if not isinstance(axis.dom.min, IntImm) or not isinstance(axis.dom.extent, IntImm):
                return None
            if axis.dom.extent.value == 0:
                return None
            ends = c * axis.dom.min.value, c * (axis.dom.min.value + axis.dom.extent.value - 1)
            low, high = low + min(ends), high + max(ends)
        return low, high
