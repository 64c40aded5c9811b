"""SimplifyExpr: rewrites expressions by algebraic rules."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Call, GraphExpr
from compiler.relay.transform.rewriter import GraphMutator, RewritePass, op_name, type_of
from compiler.relay.transform.simplify.simplify_rule import Rule
from compiler.relay.transform.simplify.simplify_rules import BUILD_RULES, RULES

_ENOUGH = 100
"""Rewrites of one expression after which something must be wrong with the rules."""


class SimplifyExpr(RewritePass, required=("InferType",)):
    """Apply algebraic simplifications, by default all :data:`RULES`, until nothing changes.

    Level 0; requires InferType.  ``rules`` are others; ``in_build`` adds those that TVM does not have
    (:data:`BUILD_RULES`), as builds do: reshapes that undo one another go, limits within limits become one, ``x ** 2``
    is a product.

    Examples
    --------
    ``SimplifyExpr()``::

        def @main(%x: Tensor[(2, 6), float32]) { reshape(reshape(add(%x, 0f), newshape=[12]), newshape=[3, 4]) }
        ->
        def @main(%x: Tensor[(2, 6), float32]) { reshape(%x, newshape=[3, 4]) }

    ``SimplifyExpr()``::

        def @main(%x: Tensor[(2, 6), float32]) { transpose(transpose(divide(1f, sqrt(%x)))) }
        ->
        def @main(%x: Tensor[(2, 6), float32]) { rsqrt(%x) }
    """

    rules: Sequence[Rule] | None = None
    in_build: bool = False

    def mutator(self) -> GraphMutator:
        by_operator: dict[str, list[Rule]] = {}
        chosen = RULES if self.rules is None else self.rules
        for rule in (*BUILD_RULES, *chosen) if self.in_build else chosen:
            by_operator.setdefault(rule.operator, []).append(rule)
        return _Simplifier(by_operator)


class _Simplifier(GraphMutator):
    def __init__(self, rules: dict[str, list[Rule]]) -> None:
        super().__init__()
        self._rules = rules

    def visit_call(self, call: Call) -> RelayExpr:
        new: RelayExpr = self.rebuilt_call(call)
        for _ in range(_ENOUGH):
            simpler = self._once(new)
            if simpler is None:
                return new
            new = simpler
        raise AssertionError(f"SimplifyExpr: the rules for {op_name(new)} do not terminate")

    def _once(self, expr: GraphExpr) -> RelayExpr | None:
        rules = self._rules.get(op_name(expr))
        if rules is None or not isinstance(expr, Call):
            return None
        type_of(expr)
        for rule in rules:
            simpler = rule.apply(expr)
            if simpler is not None and simpler is not expr:
                return simpler
        return None
