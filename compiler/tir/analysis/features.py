"""The constructs that occur in a function, so that passes without work can return at once."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from compiler.ir.expr.primexpr import Call, Cast
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, AttrStmt, For, ForKind


class Features(NamedTuple):
    """What occurs in the body of a function."""

    nodes: frozenset[type]
    kinds: frozenset[ForKind]
    attrs: frozenset[str]
    ops: frozenset[str]
    dtypes: frozenset[str]
    """Of what is allocated, converted to or called for."""


@lru_cache(maxsize=4)
def features(func: PrimFunc) -> Features:
    """Return what occurs in the body of a function.

    The answers for the last functions are remembered: as long as passes return the function that they were given, the
    body is walked only once.
    """
    nodes: set[type] = set()
    kinds: set[ForKind] = set()
    attrs: set[str] = set()
    ops: set[str] = set()
    dtypes: set[str] = set()
    todo: list[Any] = [func.body]
    while todo:
        n = todo.pop()
        cls = type(n)
        nodes.add(cls)
        if not cls.children:
            continue
        if cls is For:
            kinds.add(n.kind)
        elif cls is AttrStmt:
            attrs.add(n.attr_key)
        elif cls is Call:
            ops.add(str(getattr(n.op, "name", "")))
        if cls in (Allocate, Call, Cast):
            dtypes.add(n.dtype)
        for name in cls.children:
            child = getattr(n, name)
            if type(child) is tuple:
                todo.extend(child)
            elif child is not None:
                todo.append(child)
    return Features(frozenset(nodes), frozenset(kinds), frozenset(attrs), frozenset(ops), frozenset(dtypes))
