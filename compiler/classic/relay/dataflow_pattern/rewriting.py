"""Rewriting by pattern callbacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.classic.relay.dataflow_pattern.groups import Group, groups
from compiler.classic.relay.dataflow_pattern.pattern import DFPattern
from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.origin import derived_from
from compiler.ir.structural import structural_equal
from compiler.relay.expr import GraphExpr
from compiler.relay.expr_functor import ExprMutator
from compiler.relay.inference import infer_expr

__all__ = ["DFPatternCallback", "rewrite"]

_ROUNDS = 100


class DFPatternCallback:
    """What to do where a pattern matches: set ``self.pattern`` and override :meth:`callback`.

    With ``require_type`` the callback looks at types, which are then inferred first; with ``rewrite_once`` what it made
    is not looked at again.

    Examples
    --------
    >>> class RemoveDoubleNegation(DFPatternCallback):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.x = wildcard()
    ...         self.pattern = is_op("negative")(is_op("negative")(self.x))
    ...     def callback(self, pre, post, node_map):
    ...         return node_map[self.x][0]
    >>> rewrite(RemoveDoubleNegation(), expr)
    """

    pattern: DFPattern

    def __init__(self, require_type: bool = False, rewrite_once: bool = False) -> None:
        self.require_type = require_type
        self.rewrite_once = rewrite_once

    def rewrite(self, expr: GraphExpr) -> Any:
        """Return an expression rewritten wherever the pattern matches; see :func:`rewrite`."""
        return rewrite(self, expr)

    def callback(self, pre: GraphExpr, post: GraphExpr, node_map: dict[Any, list[Any]]) -> Any:
        """Return what takes the place of an expression that matches.

        Raises NotImplementedError if it is not overridden.

        Parameters
        ----------
        pre, post : Expr
            The expression as it was, and with its operands rewritten.
        node_map : dict of DFPattern to list of Expr
            By pattern the rewritten expressions that it matched.
        """
        raise NotImplementedError(f"{type(self).__name__} must override callback")


def rewrite(
    callbacks: DFPatternCallback | Sequence[DFPatternCallback], expr: GraphExpr, mod: IRModule | None = None
) -> Any:
    """Return an expression rewritten wherever patterns match, again and again until nothing changes.

    Types are inferred with the functions of ``mod`` that the expression names. Raises ArgumentError if it still changes
    after 100 rounds.
    """
    rules = [callbacks] if isinstance(callbacks, DFPatternCallback) else list(callbacks)
    for _ in range(_ROUNDS):
        before, again = expr, False
        for rule in rules:
            new = _once(rule, expr, mod)
            again = again or (new is not expr and not rule.rewrite_once)
            expr = new
        rules = [rule for rule in rules if not rule.rewrite_once]
        if not again or structural_equal(before, expr):
            return expr
    raise ArgumentError(f"rewrite: the expression still changes after {_ROUNDS} rounds")


def _once(rule: DFPatternCallback, expr: GraphExpr, mod: IRModule | None) -> Any:
    if rule.require_type:
        infer_expr(expr, mod)
    matches = {group.root: group for group in groups(rule.pattern, expr, separate=False)}
    return _Rewriter(rule, matches, mod).visit(expr) if matches else expr


class _Rewriter(ExprMutator):
    """Applies a callback to groups, operands first."""

    def __init__(self, rule: DFPatternCallback, matches: dict[GraphExpr, Group], mod: IRModule | None) -> None:
        super().__init__()
        self._rule = rule
        self._groups = matches
        self._mod = mod

    def visit(self, expr: GraphExpr) -> RelayExpr:
        if expr in self.memo_map:
            return self.memo_map[expr]
        post = super().visit(expr)
        group = self._groups.get(expr)
        if group is not None:
            node_map = {p: [self.memo_map.get(e, e) for e in exprs] for p, exprs in group.bindings.items()}
            if self._rule.require_type:
                infer_expr(post, self._mod)
            with derived_from(expr.span):
                post = self.memo_map[expr] = self._rule.callback(expr, post, node_map)
        return post
