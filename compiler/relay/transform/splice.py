"""Calls of functions where they stand, such as fused groups, as what they compute."""

from __future__ import annotations

from typing import Any

from compiler.relay.analysis import bottom_up
from compiler.relay.expr import Call, Function, GraphExpr
from compiler.relay.expr_functor import ExprMutator
from compiler.relay.transform.inline import inlined


def splice_calls(expr: GraphExpr) -> Any:
    """Return an expression in which no function is called where it is written down."""
    return bottom_up(_Splice(), expr)


class _Splice(ExprMutator):
    def visit(self, expr: GraphExpr) -> Any:
        result = super().visit(expr)
        self.memo_map[result] = result  # it may be a part of what is spliced around it
        return result

    def visit_call(self, call: Call) -> Any:
        if not isinstance(call.op, Function):
            return super().visit_call(call)
        return self.visit(inlined(call.op, [self.visit(arg) for arg in call.args]))
