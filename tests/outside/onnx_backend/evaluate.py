"""Graphs evaluated with the operators' NumPy references."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.relay.expr import Call, Constant, If, Tuple, TupleGetItem
from compiler.relay.expr_functor import ExprFunctor


class _Evaluator(ExprFunctor):
    """Evaluates what operators, tuples and branches are made of."""

    def __init__(self, values: dict[Any, Any]) -> None:
        super().__init__()
        self._values = values

    def visit_constant(self, value: Constant) -> Any:
        return value.value

    def visit_var(self, var: Any) -> Any:
        return self._values[var]

    def visit_tuple(self, whole: Tuple) -> Any:
        return tuple(self.visit(field) for field in whole.fields)

    def visit_tuple_getitem(self, item: TupleGetItem) -> Any:
        return self.visit(item.tuple_value)[item.index]

    def visit_if(self, choice: If) -> Any:
        return self.visit(choice.true_branch if self.visit(choice.cond) else choice.false_branch)

    def visit_call(self, call: Call) -> Any:
        args = [self.visit(arg) for arg in call.args]
        found = call.op.reference(call.attrs, *args)
        return found if isinstance(found, tuple) else np.asarray(found)


def evaluate(expr: Any, values: dict[Any, Any]) -> Any:
    """Return the value of an expression whose free variables have the given values."""
    with np.errstate(all="ignore"):
        return _Evaluator(values).visit(expr)
