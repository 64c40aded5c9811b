"""Evaluates an index for many threads and iterations at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from compiler.ir.expr.primexpr import BinaryOp, Call, Cast, IntImm, Not, Select, Var
from compiler.ir.functor import Functor
from compiler.ir.node import Node
from compiler.tir.expressions.evaluation import UFUNCS, Array

_CALLS: dict[str, Callable[..., Array]] = {
    "tir.likely": lambda value: value,
    "tir.if_then_else": np.where,
    "tir.shift_left": np.left_shift,
    "tir.shift_right": np.right_shift,
    "tir.bitwise_and": np.bitwise_and,
    "tir.bitwise_or": np.bitwise_or,
    "tir.bitwise_xor": np.bitwise_xor,
}
"""What calls in indices compute, by operator."""


class DataDependentError(Exception):
    """An index depends on what memory holds, or on something else that only a run knows."""


class IndexValues(Functor):
    """Evaluates expressions of integers over arrays of one shape, or of shapes that broadcast."""

    def __init__(self, values: Mapping[Var, Array]) -> None:
        self._values = values

    def visit_Node(self, n: Node) -> Array:
        raise DataDependentError(type(n).__name__)

    def visit_Var(self, n: Var) -> Array:
        if n not in self._values:
            raise DataDependentError(n.name)
        return self._values[n]

    def visit_IntImm(self, n: IntImm) -> Array:
        return np.asarray(n.value, "int64")

    def visit_Cast(self, n: Cast) -> Array:
        value: Array = self.visit(n.value)
        return value

    def visit_Select(self, n: Select) -> Array:
        chosen: Array = np.where(self.visit(n.condition), self.visit(n.true_value), self.visit(n.false_value))
        return chosen

    def visit_BinaryOp(self, n: BinaryOp) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):  # by zero: in iterations that a loop does not have
            return _OPERATIONS[n.symbol](self.visit(n.a), self.visit(n.b))

    def visit_Not(self, n: Not) -> Array:
        negated: Array = np.logical_not(self.visit(n.a))
        return negated

    def visit_Call(self, n: Call) -> Array:
        operation = _CALLS.get(getattr(n.op, "name", ""))
        if operation is None:
            raise DataDependentError(str(n.op))
        return operation(*(self.visit(argument) for argument in n.args))


def _truncated(dividend: Array, divisor: Array) -> Array:
    """Return quotients that are rounded towards zero."""
    quotients: Array = (dividend - np.fmod(dividend, divisor)) // divisor
    return quotients


_OPERATIONS: dict[str, Callable[[Array, Array], Array]] = {**UFUNCS, "/": _truncated}
