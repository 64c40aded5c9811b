"""Beta reduction: inlines calls of function literals, such as fused kernels."""

from __future__ import annotations

from compiler.ir.expr import RelayExpr
from compiler.relay.analysis import bottom_up
from compiler.relay.expr import Call, GraphExpr
from compiler.relay.expr_functor import ExprMutator
from compiler.relay.function import Function
from compiler.relay.transform.normal_form.inline import inlined


def beta_reduced(expr: GraphExpr) -> RelayExpr:
    """Return an expression in which no function literal is called."""
    return bottom_up(_Reduce(), expr)


class _Reduce(ExprMutator):
    def visit(self, expr: GraphExpr) -> RelayExpr:
        result = super().visit(expr)
        self.memo_map[result] = result  # it may be a part of an argument around it
        return result

    def visit_call(self, call: Call) -> RelayExpr:
        if not isinstance(call.op, Function):
            return super().visit_call(call)
        return self.visit(inlined(call.op, [self.visit(arg) for arg in call.args]))
