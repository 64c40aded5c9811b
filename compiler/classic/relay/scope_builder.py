"""Building programs of nested lets and branches statement by statement: ``relay.ScopeBuilder``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import ExprLike, If, Let, Var, as_expr


class WithScope:
    """A context manager, what methods return that open a scope: ``with`` binds ``enter_value``.

    ``exit_cb`` is called where the scope ends without an error.
    """

    def __init__(self, enter_value: Any, exit_cb: Callable[[], None]) -> None:
        self._enter_value = enter_value
        self._exit_cb = exit_cb

    def __enter__(self) -> Any:
        return self._enter_value

    def __exit__(self, ptype: type[BaseException] | None, value: BaseException | None, trace: object) -> None:
        if value is None:
            self._exit_cb()


class ScopeBuilder:
    """Collects lets, and the branches of an if, and puts them together at the end.

    Examples
    --------
    ::

        sb = relay.ScopeBuilder()
        y = sb.let("y", relay.add(x, x))
        with sb.if_scope(condition):
            sb.ret(y)
        with sb.else_scope():
            sb.ret(relay.negative(y))
        func = relay.Function([condition, x], sb.get())
    """

    def __init__(self) -> None:
        self._scopes: list[_Scope] = [_Scope()]

    def let(self, var: Any, value: ExprLike) -> Var:
        """Bind a value to a variable for the rest of the scope: a new one of a name, or of a (name, type), or the one
        given.

        Raises ArgumentError if ``var`` is not one of these.
        """
        if isinstance(var, str):
            var = Var(var)
        elif isinstance(var, tuple):
            var = Var(*var)
        if not isinstance(var, Var):
            raise ArgumentError(f"ScopeBuilder.let: var must be a name, a name with a type, or a Var, got {show(var)}")
        self._scopes[-1].lets.append((var, as_expr(value)))
        return var

    def ret(self, value: ExprLike) -> None:
        """Set the scope's value.

        Raises ArgumentError if the scope already has a value.
        """
        self._end(as_expr(value))

    def type_of(self, expr: object) -> Type | None:
        """Return the type of an expression: of a variable what it was declared with; of others None before type
        inference.
        """
        return expr.type_annotation if isinstance(expr, Var) else getattr(expr, "checked_type_", None)

    def if_scope(self, cond: ExprLike) -> WithScope:
        """Open the scope of a branch that is taken where a condition, a scalar ``bool``, holds; :meth:`else_scope` must
        follow.
        """

        def leave() -> None:
            branch = self._scopes.pop().build()
            self._scopes[-1].pending = (as_expr(cond), branch)

        self._scopes.append(_Scope())
        return WithScope(None, leave)

    def else_scope(self) -> WithScope:
        """Open the scope of the other branch; the ``if`` becomes the value of the scope around.

        Raises ArgumentError if no ``if_scope`` came before.
        """
        scope = self._scopes[-1]
        if scope.pending is None:
            raise ArgumentError("ScopeBuilder.else_scope: must follow an if_scope")
        (cond, true_branch), scope.pending = scope.pending, None

        def leave() -> None:
            self._end(If(cond, true_branch, self._scopes.pop().build()))

        self._scopes.append(_Scope())
        return WithScope(None, leave)

    def get(self) -> Any:
        """Return what was built.

        Raises ArgumentError if a scope has no value.
        """
        return self._scopes[-1].build()

    def _end(self, value: RelayExpr) -> None:
        if self._scopes[-1].result is not None:
            raise ArgumentError("ScopeBuilder.ret: the scope already has a value")
        self._scopes[-1].result = value


class _Scope:
    def __init__(self) -> None:
        self.lets: list[tuple[Var, RelayExpr]] = []
        self.pending: tuple[RelayExpr, RelayExpr] | None = None
        self.result: RelayExpr | None = None

    def build(self) -> RelayExpr:
        if self.result is None:
            what = "an else_scope" if self.pending else "ret"
            raise ArgumentError(f"ScopeBuilder: the scope has no value; {what} is missing")
        body = self.result
        for var, value in reversed(self.lets):
            body = Let(var, value, body)
        return body
