"""Counts the arithmetic operations in the definition of a tensor expression.

Operations of floating-point numbers count, and where the result is of integers those of integers too, but not in
indices and conditions.  The count belongs to the computation, not to a schedule: recomputation through inlining is not
work done.
"""

from __future__ import annotations

from compiler.ir import dtype as dt
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import PrimExpr
from compiler.ir.functor import Visitor
from compiler.te.definition.extern import ExternOp
from compiler.te.definition.operation import ComputeOp, domain
from compiler.te.definition.tensor import Operation
from compiler.te.scheduling.schedule import Schedule
from compiler.tir.statements.allocations import constant_count

_ARITHMETIC = (expr.Add, expr.Sub, expr.Mul, expr.Div, expr.Min, expr.Max)


class _Count(Visitor):
    """Adds up the operations that one evaluation of an expression makes."""

    def __init__(self, integers: bool) -> None:
        self._integers = integers
        self.flops = 0

    def visit_BinaryOp(self, n: expr.BinaryOp) -> None:
        if dt.is_float(n.a.dtype):
            self.flops += isinstance(n, (*_ARITHMETIC, expr.CmpOp))
        else:
            self.flops += self._integers and isinstance(n, _ARITHMETIC)
        Visitor.visit_Node(self, n)

    def visit_CmpOp(self, n: expr.CmpOp) -> None:
        """Integers are compared to say where something is computed."""
        integers, self._integers = self._integers, False
        self.visit_BinaryOp(n)
        self._integers = integers

    def visit_ProducerLoad(self, n: expr.ProducerLoad) -> None:
        """Arithmetic of integers in an index is none of data."""
        integers, self._integers = self._integers, False
        Visitor.visit_Node(self, n)
        self._integers = integers

    def visit_Call(self, n: expr.Call) -> None:
        if dt.is_float(n.dtype) and getattr(n.op, "name", "") not in ("tir.if_then_else", "tir.likely"):
            self.flops += 1
        Visitor.visit_Node(self, n)


def _flops_of(e: PrimExpr) -> int:
    count = _Count(dt.is_integral(e.dtype) and e.dtype != "bool")
    count.visit(e)
    return count.flops


def _extent(e: PrimExpr) -> int | None:
    return e.value if isinstance(e, expr.IntImm) else None


def _product(axes: tuple[expr.IterVar, ...]) -> int | None:
    return constant_count(domain(axis).extent for axis in axes)


def operation_flops(op: Operation) -> int | None:
    """Return the arithmetic operations of one operation; None if a shape is symbolic.

    Placeholders count nothing; a reduction counts its source and its combiner once for each reduced element.  What a
    statement computes is the attribute ``flops`` of its operation, or nothing.
    """
    if isinstance(op, ExternOp):
        stated = op.attrs.get("flops", 0)
        return stated if isinstance(stated, int) else 0
    if not isinstance(op, ComputeOp):
        return 0
    points = _product(op.axis)
    if points is None:
        return None
    first = op.body[0]
    if not isinstance(first, expr.Reduce):
        return points * sum(_flops_of(e) for e in op.body)
    reduced = _product(first.axis)
    if reduced is None:
        return None
    each = sum(_flops_of(e) for e in first.source) + sum(_flops_of(e) for e in first.combiner.result)
    return points * reduced * each


def schedule_flops(schedule: Schedule) -> int | None:
    """Return the arithmetic operations that computing the outputs of a schedule takes; None if a shape is symbolic.

    The operations are those of the definition: what a schedule added (caches, partial reductions) is traced back to
    the original tensors through ``schedule.outputs``.
    """
    total = 0
    seen: set[Operation] = set()
    todo = list(schedule.outputs)
    while todo:
        op = todo.pop()
        if op in seen:
            continue
        seen.add(op)
        flops = operation_flops(op)
        if flops is None:
            return None
        total += flops
        todo.extend(t.op for t in op.input_tensors)
    return total
