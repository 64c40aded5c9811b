"""Compares parts of a graph with patterns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compiler.ir.attrs import DictAttrs
from compiler.ir.op import Op
from compiler.ir.structural import structural_equal
from compiler.ir.types import Type
from compiler.relay.analysis.post_dominators import PostDominators, Use
from compiler.relay.analysis.traversal import operands, post_order
from compiler.relay.dataflow_pattern.pattern import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
)
from compiler.relay.expr import Call, Constant, Function, GraphExpr, If, Let, Tuple, TupleGetItem, Var
from compiler.relay.inference import infer_expr
from compiler.relay.ty import TensorType, same_dim

__all__ = [
    "Graph",
    "Matcher",
]

_COMMUTATIVE = ("add", "multiply")


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

    def between(self, parent: GraphExpr, child: GraphExpr) -> list[Any]:
        """Return the expressions that lead from ``parent`` to ``child``, without the two, in order."""
        first, last = self.place[parent], self.place[child]
        above, todo = {first}, [first]
        while todo:
            for user in self.users[todo.pop()]:
                if user < last and user not in above:
                    above.add(user)
                    todo.append(user)
        return [self.order[index] for index in sorted(above - {first})]


class Matcher:
    """Compares expressions of one graph with patterns.

    Attributes
    ----------
    found : dict
        After a match: the expressions that each pattern stands for.
    inside : list
        The expressions that make up the match, which patterns took apart, without what they left whole.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.found: dict[DFPattern, list[Any]] = {}
        self.inside: list[Any] = []

    def match(self, pattern: DFPattern, expr: GraphExpr) -> bool:
        """Return whether an expression fits a pattern."""
        self.found, self.inside = {}, []
        return self._fits(pattern, expr)

    def _fits(self, pattern: DFPattern, expr: GraphExpr) -> bool:
        if pattern in self.found:
            return self.found[pattern][0] is expr
        bindings, inside = dict(self.found), list(self.inside)
        if _RULES[type(pattern)](self, pattern, expr):
            self.found.setdefault(pattern, [expr])
            return True
        self.found, self.inside = bindings, inside
        return False

    def _all(self, patterns: Sequence[DFPattern] | None, exprs: Sequence[Any]) -> bool:
        if patterns is None:
            return True
        return len(patterns) == len(exprs) and all(self._fits(p, e) for p, e in zip(patterns, exprs, strict=True))

    def _try(self, patterns: Sequence[DFPattern], exprs: Sequence[Any]) -> bool:
        """Compare several; where they do not fit it is as if nothing had been compared."""
        bindings, inside = dict(self.found), list(self.inside)
        if self._all(patterns, exprs):
            return True
        self.found, self.inside = bindings, inside
        return False

    def _wildcard(self, pattern: WildcardPattern, expr: GraphExpr) -> bool:
        return True

    def _constant(self, pattern: ConstantPattern, expr: GraphExpr) -> bool:
        return isinstance(expr, Constant) and self._take(expr)

    def _var(self, pattern: VarPattern, expr: GraphExpr) -> bool:
        return isinstance(expr, Var) and pattern.name in ("", expr.name_hint)

    def _expr(self, pattern: ExprPattern, expr: GraphExpr) -> bool:
        if isinstance(pattern.expr, Op):
            return expr is pattern.expr
        same = expr is pattern.expr or structural_equal(expr, pattern.expr)
        return same and (not isinstance(expr, Constant) or self._take(expr))

    def _take(self, expr: GraphExpr) -> bool:
        self.inside.append(expr)
        return True

    def _alt(self, pattern: AltPattern, expr: GraphExpr) -> bool:
        return self._fits(pattern.left, expr) or self._fits(pattern.right, expr)

    def _call(self, pattern: CallPattern, expr: GraphExpr) -> bool:
        if not isinstance(expr, Call) or not self._fits(pattern.op, expr.op):
            return False
        args = pattern.args
        swapped = isinstance(expr.op, Op) and expr.op.name in _COMMUTATIVE and args is not None and len(args) == 2
        if args is None or self._try(args, expr.args) or (swapped and self._try(args[::-1], expr.args)):
            return self._take(expr)
        return False

    def _function(self, pattern: FunctionPattern, expr: GraphExpr) -> bool:
        if not isinstance(expr, Function) or not self._all(pattern.params, expr.params):
            return False
        return self._fits(pattern.body, expr.body) and self._take(expr)

    def _if(self, pattern: IfPattern, expr: GraphExpr) -> bool:
        parts = (pattern.cond, pattern.true_branch, pattern.false_branch)
        return isinstance(expr, If) and self._all(parts, operands(expr)) and self._take(expr)

    def _let(self, pattern: LetPattern, expr: GraphExpr) -> bool:
        parts = (pattern.var, pattern.value, pattern.body)
        return isinstance(expr, Let) and self._all(parts, (expr.var, expr.value, expr.body)) and self._take(expr)

    def _tuple(self, pattern: TuplePattern, expr: GraphExpr) -> bool:
        return isinstance(expr, Tuple) and self._all(pattern.fields, expr.fields) and self._take(expr)

    def _item(self, pattern: TupleGetItemPattern, expr: GraphExpr) -> bool:
        if not isinstance(expr, TupleGetItem) or pattern.index not in (None, expr.index):
            return False
        return self._fits(pattern.tuple, expr.tuple_value) and self._take(expr)

    def _attributes(self, pattern: AttrPattern, expr: GraphExpr) -> bool:
        if isinstance(expr, Op):
            get: Callable[[str], Any] = getattr(expr, "get_attr", lambda name: None)
        else:
            get = getattr(expr, "attrs", DictAttrs()).get
        expected = DictAttrs(pattern.attrs)
        return all(get(name) == expected[name] for name in expected) and self._fits(pattern.pattern, expr)

    def _type(self, pattern: TypePattern, expr: GraphExpr) -> bool:
        return structural_equal(_type_of(expr), pattern.type) and self._fits(pattern.pattern, expr)

    def _dtype(self, pattern: DataTypePattern, expr: GraphExpr) -> bool:
        t = _type_of(expr)
        return isinstance(t, TensorType) and t.dtype == pattern.dtype and self._fits(pattern.pattern, expr)

    def _shape(self, pattern: ShapePattern, expr: GraphExpr) -> bool:
        t = _type_of(expr)
        if not isinstance(t, TensorType) or len(t.dims) != len(pattern.shape):
            return False
        return all(map(same_dim, t.dims, pattern.shape)) and self._fits(pattern.pattern, expr)

    def _dominator(self, pattern: DominatorPattern, expr: GraphExpr) -> bool:
        """Look upwards from the child for the nearest parent whose uses all lead to the child through the path."""
        if not self._fits(pattern.child, expr):
            return False
        todo, seen = list(operands(expr)), set()
        while todo:
            candidate = todo.pop(0)
            if candidate in seen:
                continue
            seen.add(candidate)
            if self._is_parent(pattern, candidate, expr):
                return True
            if self._on_path(pattern.path, candidate):
                todo.extend(operands(candidate))
        return False

    def _is_parent(self, pattern: DominatorPattern, candidate: GraphExpr, child: GraphExpr) -> bool:
        bindings, inside = dict(self.found), list(self.inside)
        if self._fits(pattern.parent, candidate) and self._graph.dominates(candidate, child):
            path = self._graph.between(candidate, child)
            if all(self._on_path(pattern.path, part) for part in path):
                self.found.setdefault(pattern.path, path)
                self.inside.extend(path)
                return True
        self.found, self.inside = bindings, inside
        return False

    def _on_path(self, path: DFPattern, expr: GraphExpr) -> bool:
        """Compare with the path, which every expression on it fits by itself."""
        return not isinstance(expr, Op) and Matcher(self._graph).match(path, expr)


def _type_of(expr: GraphExpr) -> Type | None:
    return None if isinstance(expr, Op) else infer_expr(expr)


_RULES: dict[type, Callable[[Matcher, Any, Any], bool]] = {
    AltPattern: Matcher._alt,
    AttrPattern: Matcher._attributes,
    CallPattern: Matcher._call,
    ConstantPattern: Matcher._constant,
    DataTypePattern: Matcher._dtype,
    DominatorPattern: Matcher._dominator,
    ExprPattern: Matcher._expr,
    FunctionPattern: Matcher._function,
    IfPattern: Matcher._if,
    LetPattern: Matcher._let,
    ShapePattern: Matcher._shape,
    TupleGetItemPattern: Matcher._item,
    TuplePattern: Matcher._tuple,
    TypePattern: Matcher._type,
    VarPattern: Matcher._var,
    WildcardPattern: Matcher._wildcard,
}
