"""Scopes: where each expression of a graph is evaluated.

The body of a function, each branch of an if and each clause of a match are scopes of their own.  An expression that
several of them use belongs to the innermost scope around all of its users.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.ir.function import GlobalVar
from compiler.ir.op import Op
from compiler.relay.adt import Constructor, Match
from compiler.relay.analysis.traversal import operands, post_order
from compiler.relay.expr import Call, Constant, GraphExpr, If, Var
from compiler.relay.function import Function

_ATOMS = (Var, Constant, GlobalVar, Op, Constructor)


@dataclass(eq=False, slots=True)
class Scope:
    """A block of evaluation; ``owner`` is the function, if or match that it is part of, None for the outermost."""

    parent: Scope | None
    owner: GraphExpr | None
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        self.depth = 0 if self.parent is None else self.parent.depth + 1


class Scopes:
    """The scopes of an expression and of its parts."""

    def __init__(self, expr: GraphExpr) -> None:
        # all parts, operands before what uses them; kernels (functions with the attribute ``Primitive``) are not looked
        # into
        self.order = post_order_outside_kernels(expr)
        self.root = Scope(None, None)
        self.of: dict[GraphExpr, Scope] = {expr: self.root}
        # the scope of the operand of that number of a function, an if or a match
        self.inner: dict[tuple[GraphExpr, int], Scope] = {}
        # parts that are used from a scope inside of the one where they are evaluated
        self.shared: set[GraphExpr] = set()
        for user in reversed(self.order):
            if user not in self.of:  # a variable that is defined and never used
                continue
            for index, part in enumerate(scoped_operands(user)):
                self._use(part, self._scope_of_operand(user, index))

    def _scope_of_operand(self, user: GraphExpr, index: int) -> Scope:
        around = self.of[user]
        if not _opens_scope(user, index):
            return around
        return self.inner.setdefault((user, index), Scope(around, user))

    def _use(self, part: GraphExpr, scope: Scope) -> None:
        earlier = self.of.get(part)
        if earlier is None:
            self.of[part] = scope
        elif earlier is not scope:
            self.of[part] = common_scope(earlier, scope)
            self.shared.add(part)


def scoped_operands(expr: GraphExpr) -> tuple[GraphExpr, ...]:
    """Return what an expression is made of; a kernel is one thing."""
    if isinstance(expr, Function) and is_kernel(expr):
        return ()
    if isinstance(expr, Call) and isinstance(expr.op, Function) and is_kernel(expr.op):
        return expr.args
    return operands(expr)


def post_order_outside_kernels(expr: GraphExpr) -> list[GraphExpr]:
    """Return every part of an expression, operands before users, without those inside of kernels."""
    return post_order(expr, scoped_operands)


def is_kernel(func: Function) -> bool:
    """Return whether a function is a group of operators that becomes one kernel."""
    return bool(func.attrs.get("Primitive"))


def _opens_scope(user: GraphExpr, index: int) -> bool:
    return isinstance(user, Function) or (isinstance(user, (If, Match)) and index > 0)


def common_scope(a: Scope, b: Scope) -> Scope:
    """Return the innermost scope around two scopes."""
    while a is not b:
        if a.depth >= b.depth:
            assert a.parent is not None
            a = a.parent
        else:
            assert b.parent is not None
            b = b.parent
    return a


def is_atom(expr: GraphExpr) -> bool:
    """Return whether an expression needs no evaluation."""
    return isinstance(expr, _ATOMS) or (isinstance(expr, Function) and is_kernel(expr))


def check_basic_block_normal_form(expr: GraphExpr) -> bool:
    """Return whether no block uses an expression of the block around it other than by name.

    :class:`tvm.relay.transform.ToBasicBlockNormalForm` makes it so.
    """
    return all(is_atom(part) for part in Scopes(expr).shared)
