"""One look at a function, so that a pass with nothing to do can say so at once."""

from __future__ import annotations

from typing import NamedTuple

from compiler.ir.node import Node
from compiler.ir.primexpr import Call
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import AttrStmt, For, ForKind


class Features(NamedTuple):
    """What occurs in a function body: node classes, kinds of loops, keys of attributes, names of operators."""

    nodes: frozenset[type]
    kinds: frozenset[ForKind]
    attrs: frozenset[str]
    ops: frozenset[str]


_last: list[tuple[PrimFunc, Features]] = []


def features(func: PrimFunc) -> Features:
    """Return what occurs in the body of ``func``.

    The answer for the last function is kept: as long as passes return the function that they were given, the body is
    walked only once.
    """
    for known, found in _last:
        if known is func:
            return found
    found = _scan(func)
    _last[:] = [(func, found)]
    return found


def _scan(func: PrimFunc) -> Features:
    nodes: set[type] = set()
    kinds: set[ForKind] = set()
    attrs: set[str] = set()
    ops: set[str] = set()
    todo: list[Node] = [func.body]
    while todo:
        n = todo.pop()
        cls = type(n)
        nodes.add(cls)
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
