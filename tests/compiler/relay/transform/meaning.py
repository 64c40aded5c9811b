"""What a program means, said as directly as can be: the measure for passes that may not change it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.ir import IRModule
from compiler.ir.function import GlobalVar
from compiler.relay.adt import Constructor, Match, PatternTuple, PatternVar, PatternWildcard
from compiler.relay.expr import Call, Constant, If, Let, Tuple, TupleGetItem, Var
from compiler.relay.function import Function
from compiler.relay.operator import RelayOp
from compiler.relay.reference import RefCreate, RefRead, RefWrite


def run(mod: IRModule, *args: Any, entry: str = "main") -> Any:
    """Return the value of a function of a module: arrays, tuples, or (constructor's name, parts)."""
    return meaning(mod[entry], {}, mod)(*args)


def meaning(e: Any, scope: dict[Any, Any], mod: IRModule, seen: dict[Any, Any] | None = None) -> Any:
    """Return the value of an expression; ``seen`` has those of what is shared inside of one block."""
    seen = {} if seen is None else seen
    while isinstance(e, Let):
        scope = dict(scope)  # a closure sees itself, as the dictionary is filled in after it was made
        scope[e.var] = meaning(e.value, scope, mod, seen)
        e = e.body
    if isinstance(e, Var):
        return scope[e]
    if e not in seen:
        seen[e] = _RULES[type(e)](e, lambda part: meaning(part, scope, mod, seen), scope, mod)
    return seen[e]


Of = Callable[[Any], Any]


def _call(e: Call, of: Of, scope: Any, mod: IRModule) -> Any:
    args = [of(a) for a in e.args]
    if isinstance(e.op, RelayOp):
        assert e.op.reference is not None
        return e.op.reference(e.attrs, *args)
    return of(e.op)(*args)


def _function(e: Function, of: Of, scope: dict[Any, Any], mod: IRModule) -> Any:
    return lambda *args: meaning(e.body, {**scope, **dict(zip(e.params, args, strict=True))}, mod)


def _if(e: If, of: Of, scope: dict[Any, Any], mod: IRModule) -> Any:
    return of(e.true_branch if of(e.cond) else e.false_branch)


def _match(e: Match, of: Of, scope: dict[Any, Any], mod: IRModule) -> Any:
    data = of(e.data)
    for clause in e.clauses:
        bound: dict[Any, Any] = {}
        if _fits(clause.lhs, data, bound):
            return meaning(clause.rhs, {**scope, **bound}, mod)
    raise AssertionError("no clause fits")


def _fits(pattern: Any, data: Any, bound: dict[Any, Any]) -> bool:
    match pattern:
        case PatternWildcard():
            return True
        case PatternVar(var=var):
            bound[var] = data
            return True
        case PatternTuple(patterns=parts):
            return all(_fits(p, d, bound) for p, d in zip(parts, data, strict=True))
        case _:
            name, fields = data
            same = name == pattern.constructor.name_hint
            return same and all(_fits(p, d, bound) for p, d in zip(pattern.patterns, fields, strict=True))


def _write(e: RefWrite, of: Of, scope: Any, mod: IRModule) -> Any:
    cell = of(e.ref)
    cell[0] = of(e.value)
    return ()


_RULES: dict[type, Callable[..., Any]] = {
    Call: _call,
    Constant: lambda e, of, scope, mod: np.asarray(e.value),
    Constructor: lambda e, of, scope, mod: lambda *parts: (e.name_hint, parts),
    Function: _function,
    GlobalVar: lambda e, of, scope, mod: meaning(mod[e], {}, mod),
    If: _if,
    Match: _match,
    RefCreate: lambda e, of, scope, mod: [of(e.value)],
    RefRead: lambda e, of, scope, mod: of(e.ref)[0],
    RefWrite: _write,
    Tuple: lambda e, of, scope, mod: tuple(of(f) for f in e.fields),
    TupleGetItem: lambda e, of, scope, mod: of(e.tuple_value)[e.index],
}
