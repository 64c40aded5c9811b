"""Loops, as functions that call themselves: ``relay.loops``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.classic.relay.scope_builder import ScopeBuilder
from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Let, Tuple, Var
from compiler.relay.function import Function
from compiler.relay.operator import call_op


def while_loop(
    cond: Callable[..., RelayExpr], loop_vars: Sequence[RelayExpr], loop_bodies: Callable[..., Sequence[RelayExpr]]
) -> Let:
    """Return a loop that goes on while a condition holds: a function from the first values to the tuple of the last
    ones.

    Parameters
    ----------
    cond : callable
        From the values of the loop to a scalar of data type ``bool``.
    loop_vars : sequence of Expr
        Variables whose names and types the values have.
    loop_bodies : callable
        From the values to those of the next iteration.

    Examples
    --------
    >>> loop = while_loop(lambda i, s: relay.less(i, ten), [i, s], lambda i, s: (i + one, s + i))
    >>> total = relay.TupleGetItem(loop(zero, zero), 1)
    """
    builder, loop = ScopeBuilder(), Var("while_loop")
    values = tuple(_value(var, index) for index, var in enumerate(loop_vars))
    with builder.if_scope(cond(*values)):
        builder.ret(loop(*loop_bodies(*values)))
    with builder.else_scope():
        builder.ret(Tuple(values))
    return Let(loop, Function(values, builder.get()), loop)


def _value(var: RelayExpr, index: int) -> Var:
    if isinstance(var, Var):
        return Var(var.name_hint, var.type_annotation)
    return Var(f"arg{index}", var.checked_type_)


def for_loop(
    lower: RelayExpr,
    upper: RelayExpr,
    step: RelayExpr,
    loop_vars: Sequence[RelayExpr],
    loop_bodies: Callable[..., Sequence[RelayExpr]],
) -> RelayExpr:
    """Return a loop that counts from an integer ``lower`` up to, and without, ``upper`` in steps.

    It is a function from the first values to the tuple of the last ones, behind the counter.  They have the names and
    types of ``loop_vars``, and ``loop_bodies`` computes them for the next iteration from the counter and the values.
    """
    counter = Var("i", getattr(lower, "checked_type_", None) or getattr(lower, "type_annotation", None))

    def once_more(i: RelayExpr, *values: RelayExpr) -> Sequence[RelayExpr]:
        return [call_op("add", i, step), *loop_bodies(i, *values)]

    loop = while_loop(lambda i, *_: call_op("less", i, upper), [counter, *loop_vars], once_more)
    values = tuple(_value(var, index) for index, var in enumerate(loop_vars))
    return Function(values, loop(lower, *values))
