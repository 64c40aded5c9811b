"""Calls whose result aliases their argument's memory."""

from __future__ import annotations

from compiler.relay.expr import Call, GraphExpr
from compiler.relay.function import Function
from compiler.relay.operator import RelayOp
from compiler.relay.ty import TupleType

RESHAPES = ("expand_dims", "contrib_reverse_reshape", "nn.batch_flatten", "reshape", "squeeze")
"""Operators whose result has the elements of their first argument, in the same order, and another shape."""


def is_alias(expr: GraphExpr) -> bool:
    """Return whether a call's result, or a function's, is the memory of its only argument."""
    if isinstance(expr, Call):
        return is_alias(expr.op) if isinstance(expr.op, Function) else _hands_on(expr)
    if not isinstance(expr, Function) or len(expr.params) != 1:
        return False
    inside = expr.body
    while isinstance(inside, Call) and _hands_on(inside):
        inside = inside.args[0]
    return inside is expr.params[0] and inside is not expr.body


def _hands_on(call: Call) -> bool:
    if len(call.args) != 1 or isinstance(call.checked_type_, TupleType):
        return False
    return isinstance(call.op, RelayOp) and call.op.name in (*RESHAPES, "copy")
