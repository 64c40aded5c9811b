"""The state of matching: the graph, and what the patterns have matched so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from compiler.ir.recursion import CHECK_INTERVAL, call_deeper
from compiler.relay.analysis.post_dominators import PostDominators, Use
from compiler.relay.analysis.traversal import operands, post_order
from compiler.relay.expr import GraphExpr


class Graph:
    """An expression with what patterns ask about it: who uses what, and where it comes together again."""

    def __init__(self, root: GraphExpr) -> None:
        self.order = post_order(root)
        self.place = {expr: index for index, expr in enumerate(self.order)}
        self._users: list[list[int]] | None = None
        self._dominators: PostDominators | None = None

    @property
    def users(self) -> list[list[int]]:
        """For each place those of its users."""
        if self._users is None:
            self._users = [[] for _ in self.order]
            for index, expr in enumerate(self.order):
                for operand in operands(expr):
                    self._users[self.place[operand]].append(index)
        return self._users

    def dominates(self, parent: GraphExpr, child: GraphExpr) -> bool:
        """Return whether everything that is made from ``parent`` goes into ``child``."""
        if self._dominators is None:
            self._dominators = PostDominators([[Use(user, 0) for user in users] for users in self.users], 0)
        at, goal = self.place[parent], self.place[child]
        while at < goal:
            at = self._dominators.parent[at]
        return at == goal

    def between(self, parent: GraphExpr, child: GraphExpr) -> list[GraphExpr]:
        """Return the expressions that lead from ``parent`` to ``child``, without the two, in order."""
        first, last = self.place[parent], self.place[child]
        above, todo = {first}, [first]
        while todo:
            for user in self.users[todo.pop()]:
                if user < last and user not in above:
                    above.add(user)
                    todo.append(user)
        return [self.order[index] for index in sorted(above - {first})]


class Pattern(Protocol):
    """What :class:`Matcher` knows of a pattern: it says itself whether an expression matches."""

    def matches(self, matcher: Matcher, expr: GraphExpr) -> bool:
        """Return whether an expression matches, after telling the matcher what it is made of."""


class Matcher:
    """Compares expressions of one graph with patterns, and takes back what a pattern matched in vain.

    After a match, ``bindings`` has the expressions that each pattern matched, and ``inside`` those that make up the
    match, which patterns took apart, without what they left whole.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.bindings: dict[Pattern, list[GraphExpr]] = {}
        self.inside: list[GraphExpr] = []
        self._open: set[tuple[Pattern, GraphExpr]] = set()

    def match(self, pattern: Pattern, expr: GraphExpr) -> bool:
        """Return whether an expression matches a pattern, beginning anew."""
        self.bindings, self.inside = {}, []
        return self.fits(pattern, expr)

    def fits(self, pattern: Pattern, expr: GraphExpr) -> bool:
        """Return whether an expression matches a pattern besides those that have matched."""
        if pattern in self.bindings:
            return self.bindings[pattern][0] is expr
        question = (pattern, expr)
        if question in self._open:  # a pattern that is itself matches nothing by that alone
            return False
        self._open.add(question)
        try:
            before = self._state()
            look = call_deeper if len(self._open) % CHECK_INTERVAL == 0 else _call
            if look(pattern.matches, self, expr):
                self.bindings.setdefault(pattern, [expr])
                return True
            self._restore(before)
            return False
        finally:
            self._open.remove(question)

    def all_fit(self, patterns: Sequence[Pattern] | None, exprs: Sequence[GraphExpr]) -> bool:
        """Return whether each expression matches its pattern; None matches any number of any expressions."""
        if patterns is None:
            return True
        return len(patterns) == len(exprs) and all(self.fits(p, e) for p, e in zip(patterns, exprs, strict=True))

    def try_all(self, patterns: Sequence[Pattern], exprs: Sequence[GraphExpr]) -> bool:
        """Compare several; where they do not match it is as if nothing had been compared."""
        return self.attempt(lambda: self.all_fit(patterns, exprs))

    def attempt(self, compare: Callable[[], bool]) -> bool:
        """Return whether a comparison succeeds; where it does not, the matcher is as it was before."""
        before = self._state()
        if compare():
            return True
        self._restore(before)
        return False

    def take(self, expr: GraphExpr) -> bool:
        """Count an expression as a part of the match; return True."""
        self.inside.append(expr)
        return True

    def dominates(self, parent: Pattern, path: Pattern, child: GraphExpr) -> bool:
        """Return whether all ways up from the child lead along ``path`` to one ``parent``, and all ways back.

        Variables and constants that an operator on the way takes besides are no ways.
        """
        before = self._state()
        if self._ways_lead_to(parent, path, child):
            top = self.bindings[parent][0]
            if self.graph.dominates(top, child):
                between = self.graph.between(top, child)
                self.bindings.setdefault(path, between)
                self.inside.extend(between)
                return True
        self._restore(before)
        return False

    def _ways_lead_to(self, parent: Pattern, path: Pattern, child: GraphExpr) -> bool:
        """Return whether each way up from the child meets the same ``parent``; what is nearest to the child is it."""
        ways, seen, met = [iter(_computed_operands(child))], {child}, False
        while ways:
            expr = next(ways[-1], None)
            if expr is None:
                ways.pop()
            elif expr in seen:
                continue
            elif self.fits(parent, expr):
                met = True
            else:
                seen.add(expr)
                operands = _computed_operands(expr)
                if not operands or not self.alone(path, expr):
                    return False
                ways.append(iter(operands))
        return met

    def alone(self, pattern: Pattern, expr: GraphExpr) -> bool:
        """Return whether an expression matches a pattern by itself, whatever else has matched."""
        return Matcher(self.graph).match(pattern, expr)

    def _state(self) -> tuple[dict[Pattern, list[GraphExpr]], list[Any]]:
        return dict(self.bindings), list(self.inside)

    def _restore(self, state: tuple[dict[Pattern, list[GraphExpr]], list[Any]]) -> None:
        self.bindings, self.inside = state


def _call(matches: Callable[[Matcher, GraphExpr], bool], matcher: Matcher, expr: GraphExpr) -> bool:
    return matches(matcher, expr)


def _computed_operands(expr: GraphExpr) -> list[GraphExpr]:
    return [operand for operand in operands(expr) if operands(operand)]
