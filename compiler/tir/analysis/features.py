"""The constructs that occur in a function, so that passes without work can return at once."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from compiler.ir.expr.primexpr import Call
from compiler.ir.node import Node
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AttrStmt, For, ForKind


class Features(NamedTuple):
    """What occurs in the body of a function."""

    nodes: frozenset[type]
    kinds: frozenset[ForKind]
    attrs: frozenset[str]
    ops: frozenset[str]


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
    todo: list[Node] = [func.body]
    while todo:
        n = todo.pop()
        cls = type(n)
        nodes.add(cls)
        if not cls.children:
            continue
        if isinstance(n, For):
            kinds.add(n.kind)
        elif isinstance(n, AttrStmt):
            attrs.add(n.attr_key)
        elif isinstance(n, Call):
            ops.add(str(getattr(n.op, "name", "")))
        for name in cls.children:
            child = getattr(n, name)
            if isinstance(child, Node):
                todo.append(child)
            elif child is not None:
                todo.extend(child)
    return Features(frozenset(nodes), frozenset(kinds), frozenset(attrs), frozenset(ops))
