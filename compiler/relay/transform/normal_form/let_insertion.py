"""Let insertion: binds subexpressions to variables, for the normal forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from compiler.ir.expr import RelayExpr
from compiler.ir.instrument import report_rewrite
from compiler.ir.node import rebuild, same_items
from compiler.ir.op import Op
from compiler.ir.origin import derived_from
from compiler.relay.analysis import with_operands
from compiler.relay.analysis.scopes import Scope, Scopes, is_atom, is_kernel, scoped_operands
from compiler.relay.analysis.traversal import post_order
from compiler.relay.expr import Call, Constant, GraphExpr, Let, Var
from compiler.relay.function import Function

E = TypeVar("E", bound=GraphExpr)


@dataclass(eq=False)
class LetInsertion:
    """Binds parts of an expression to variables, in the scopes where they are evaluated.

    Parameters
    ----------
    must_bind : callable
        ``must_bind(part, scopes)`` says which parts are bound, besides those that are bound already; the others stay
        operands of what uses them.
    constants : bool
        Whether constants are parts to bind like others, instead of operands.
    other_names : bool
        Whether a ``let`` that only gives a variable or a constant another name stays; what comes after it in the same
        scope uses that name.
    kernels : bool
        Whether the kernels that are called are bound, in each scope that calls them.
    """

    must_bind: Callable[[Any, Scopes], bool]
    constants: bool = False
    other_names: bool = False
    kernels: bool = False

    def _is_atom(self, expr: GraphExpr) -> bool:
        bound = (self.constants and isinstance(expr, Constant)) or (self.kernels and isinstance(expr, Function))
        return is_atom(expr) and not bound

    def apply(self, expr: GraphExpr) -> RelayExpr:
        """Return the expression with lets; the same object where nothing changed."""
        self._scopes = Scopes(expr)
        self._bindings: dict[Scope, list[tuple[Var, RelayExpr]]] = {}
        self._lets: dict[Var, Let] = {}
        self._names: dict[GraphExpr, Var] = {}
        self._called: dict[tuple[Scope, Any], Var] = {}
        for part in self._scopes.order:
            if isinstance(part, Let):
                self._lets[part.var] = part
                value = _result(part.value)
                if not self._is_atom(value):
                    self._names.setdefault(value, part.var)
        self._new: dict[GraphExpr, Any] = {}
        for part in post_order(expr, _in_order) if self.other_names else self._scopes.order:
            self._new[part] = self._replacement(part)
        return self._block(self._scopes.root, self._new[expr])

    def _replacement(self, part: GraphExpr) -> Any:
        """Return what users of a part use instead of it."""
        if isinstance(part, Let):
            return self._new[part.body]
        if self._is_atom(part):
            return self._alias(part)
        inner = self._scopes.inner
        operands = [
            self._block(inner[part, i], self._new[p]) if (part, i) in inner else self._new[p]
            for i, p in enumerate(scoped_operands(part))
        ]
        with derived_from(part.span):
            value: Any = with_scoped_operands(part, operands)
            if self.kernels and isinstance(value, Call) and isinstance(value.op, Function) and is_kernel(value.op):
                value = rebuild(value, op=self._kernel(value.op, self._scopes.of[part]))
            name = self._names.get(part)
            if name is None:
                if not self.must_bind(part, self._scopes):
                    return value
                name = Var("x")
        self._bindings.setdefault(self._scopes.of[part], []).append((name, value))
        return name

    def _kernel(self, func: Function, scope: Scope) -> Var:
        """Return the variable of a kernel that is called in a scope."""
        key = (scope, func)
        if key not in self._called:
            self._called[key] = Var("x")
            self._bindings.setdefault(scope, []).append((self._called[key], func))
        return self._called[key]

    def _alias(self, part: GraphExpr) -> Any:
        """Return the value of a variable that is only another name for it."""
        let = self._lets.get(part) if isinstance(part, Var) else None
        if let is not None and self.other_names and self._is_atom(let.value):
            return self._renamed(let)
        if let is None or self._names.get(_result(let.value)) is part or let.value not in self._new:
            return part
        return self._new[let.value]

    def _renamed(self, let: Let) -> Var:
        """Bind the variable of a ``let`` to the other name that it is of its value."""
        scope = self._scopes.of[let]
        self._bindings.setdefault(scope, []).append((let.var, self._new.get(let.value, let.value)))
        if self._scopes.of.get(let.value) is scope:
            self._new[let.value] = let.var
        return let.var

    def _block(self, scope: Scope, result: RelayExpr) -> RelayExpr:
        for var, value in reversed(self._bindings.get(scope, ())):
            old = self._lets.get(var)
            if old is not None and old.value is value and old.body is result:
                result = old
            else:
                with derived_from(value.span):
                    result = Let(var, value, result)
        return result


def _in_order(expr: GraphExpr) -> tuple[GraphExpr, ...]:
    """Return what an expression is made of as it is evaluated: a ``let`` names its value before its body."""
    return (expr.value, expr.var, expr.body) if isinstance(expr, Let) else scoped_operands(expr)


def _result(expr: GraphExpr) -> GraphExpr:
    """Return what a chain of lets ends in."""
    while isinstance(expr, Let):
        expr = expr.body
    return expr


def with_scoped_operands(expr: E, new: Sequence[GraphExpr]) -> E:
    """Return an expression made of other operands, in the order of ``scoped_operands``, and report the rewrite."""
    old = scoped_operands(expr)
    if isinstance(expr, Op) or not old or same_items(new, old):
        return expr
    if isinstance(expr, Call) and len(new) == len(expr.args):
        new = (expr.op, *new)  # of the call of a kernel only the arguments are operands
    return reported(expr, with_operands(expr, new))


def reported(before: E, after: E) -> E:
    """Report a rewrite, as mutators do, and return what came of it."""
    if isinstance(before, RelayExpr) and after is not before:
        report_rewrite(before, after)
    return after
