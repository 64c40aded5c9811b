"""Effects: which expressions must stay where they are."""

from __future__ import annotations

from compiler.ir.module import IRModule
from compiler.ir.op import Op
from compiler.relay.adt import Constructor
from compiler.relay.analysis.traversal import operands, post_order
from compiler.relay.expr import Call, GraphExpr
from compiler.relay.function import Function
from compiler.relay.operator import RelayOp
from compiler.relay.reference import RefCreate, RefRead, RefWrite


class Effects:
    """Which parts of an expression may have side effects: references, and calls of stateful operators.

    The effects of calling an unknown function are unknown; but where nothing in the whole program, the functions of
    ``mod`` included, has an effect of its own, no function has one either.
    """

    def __init__(self, expr: GraphExpr, mod: IRModule | None = None) -> None:
        parts = post_order(expr)
        others = [func for func in (mod.functions.values() if mod else ()) if isinstance(func, Function)]
        self._any = any(_own_effect(p) for p in parts)
        self._any = self._any or any(_own_effect(p) for func in others for p in post_order(func))
        self._found: dict[GraphExpr, bool] = {}

    def of(self, expr: GraphExpr) -> bool:
        """Return whether evaluating a part of the expression that was analysed may have side effects."""
        if not self._any:
            return False
        if expr not in self._found:
            for part in post_order(expr):
                self._found[part] = self._of_part(part)
        return self._found[expr]

    def _of_part(self, expr: GraphExpr) -> bool:
        if isinstance(expr, Function):  # making a closure has none, whatever calling it may do
            return False
        if isinstance(expr, Call) and isinstance(expr.op, Function):
            return self._found[expr.op.body] or any(self._found[a] for a in expr.args)
        if isinstance(expr, Call) and not isinstance(expr.op, (Op, Constructor)):
            return True
        return _own_effect(expr) or any(self._found[part] for part in operands(expr))


def _own_effect(expr: GraphExpr) -> bool:
    if isinstance(expr, Call):
        return isinstance(expr.op, RelayOp) and expr.op.stateful
    return isinstance(expr, (RefCreate, RefRead, RefWrite))
