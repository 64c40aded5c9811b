"""ManifestLifetimes: marks where each value of a program dies."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.transform import ModulePass, PassContext
from compiler.relay.adt import Match
from compiler.relay.analysis.variables import free_vars
from compiler.relay.binding import bind
from compiler.relay.expr import If, Let, Var
from compiler.relay.expr_functor import bound_in_pattern
from compiler.relay.function import Function
from compiler.relay.inference import infer_module
from compiler.relay.operator import call_op
from compiler.relay.transform.rewriter import is_primitive

Variables = frozenset[Var]


class ManifestLifetimes(ModulePass, required=("InferType",)):
    """Put ``memory.kill`` behind the line that uses a variable last.

    Level 0; requires InferType.  Programs are in A-normal form: every intermediate value has a variable, and ``if`` and
    ``match`` are values of variables.  Where a value is used last in one branch, it is killed there.  Variables that
    stand for other variables go.

    Examples
    --------
    ``ManifestLifetimes()``::

        def @main(%x: Tensor[(3), float32]) {
          let %y = exp(%x);
          let %z = add(%y, %y);
          %z
        }
        ->
        def @main(%x: Tensor[(3), float32]) {
          let %y = exp(%x);
          let %k = memory.kill(%x);
          let %z = add(%y, %y);
          let %l = memory.kill(%y);
          %z
        }
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        functions = {
            var: rebuild(func, body=_with_kills(func.body, frozenset())[0]) if _is_program(func) else func
            for var, func in mod.items()
        }
        return infer_module(mod.with_functions(functions))


def _is_program(func: RelayExpr) -> bool:
    return isinstance(func, Function) and not is_primitive(func)


def _with_kills(expr: RelayExpr, needed_after: Set[Var]) -> tuple[Any, Variables]:
    """Return lines with kills, and the variables that they and what comes after them need."""
    lets: list[tuple[Var, RelayExpr]] = []
    while isinstance(expr, Let):
        if isinstance(expr.value, Var):
            expr = bind(expr.body, {expr.var: expr.value})
            continue
        lets.append((expr.var, expr.value))
        expr = expr.body
    if isinstance(expr, (If, Match)):
        raise ArgumentError(f"ManifestLifetimes: every if and match must be the value of a variable, got {expr}")
    result, live = expr, frozenset(needed_after) | frozenset(free_vars(expr))
    for var, value in reversed(lets):
        new, uses, needed = _value(value, live - {var})
        uses.discard(var)
        dead = [used for used in free_vars(value) if used in uses and used not in needed]
        for used in reversed(dead):
            result = Let(Var("x"), call_op("memory.kill", used), result)
        result = Let(var, new, result)
        live = needed | uses
    return result, live


def _value(value: RelayExpr, needed_after: Variables) -> tuple[Any, set[Var], Variables]:
    """Return the value of a variable, with kills in its branches; what it uses itself; and what is needed then."""
    if isinstance(value, If):
        yes, in_yes = _with_kills(value.true_branch, needed_after)
        no, in_no = _with_kills(value.false_branch, needed_after)
        new = rebuild(value, true_branch=yes, false_branch=no)
        return new, set(free_vars(value.cond)), in_yes | in_no
    if isinstance(value, Match):
        clauses, needed = [], Variables()
        for clause in value.clauses:
            body, in_clause = _with_kills(clause.rhs, needed_after)
            clauses.append(rebuild(clause, rhs=body))
            needed |= in_clause.difference(bound_in_pattern(clause.lhs))
        return rebuild(value, clauses=tuple(clauses)), set(free_vars(value.data)), needed
    return value, set(free_vars(value)), needed_after
