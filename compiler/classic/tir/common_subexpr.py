"""Subexpressions that an expression computes several times."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from compiler.arith.deep_equal import deep_equal
from compiler.ir.expr.primexpr import Broadcast, FloatImm, IntImm, PrimExpr, Ramp, StringImm, Var
from compiler.ir.node import Node
from compiler.ir.structural import structural_hash
from compiler.tir.analysis.side_effect import is_pure

_NO_COMPUTATION = (Var, IntImm, FloatImm, StringImm, Ramp, Broadcast)


def detect_common_subexpr(expr: PrimExpr, threshold: int) -> dict[PrimExpr, int]:
    """Return the largest subexpressions that occur at least ``threshold`` times.

    Those that occur less often are taken apart, and their parts counted with the others.  What reads memory or changes
    it is not a subexpression, but its arguments are.

    Examples
    --------
    >>> detect_common_subexpr((x + y) * 2 + (x + y) * 3, 2)
    {x + y: 2}
    """
    counts = _Counts()
    for part in _computations(expr):
        counts.add(part, 1)
    common: dict[PrimExpr, int] = {}
    while counts:
        part, count = counts.take_largest()
        if count >= threshold:
            common[part] = count
        else:
            for inner in _parts(part):
                counts.add(inner, count)
    return common


class _Counts:
    """How often expressions occur, from the largest to the smallest."""

    def __init__(self) -> None:
        self._alike: dict[int, list[PrimExpr]] = {}
        self._count: dict[PrimExpr, int] = {}
        self._queue: list[tuple[int, int, PrimExpr]] = []

    def __bool__(self) -> bool:
        return bool(self._queue)

    def add(self, e: PrimExpr, count: int) -> None:
        """Count an expression ``count`` times; those that are written the same are one."""
        alike = self._alike.setdefault(structural_hash(e), [])
        first = next((other for other in alike if deep_equal(other, e)), None)
        if first is None:
            alike.append(e)
            self._count[e] = 0
            heapq.heappush(self._queue, (-_size(e), len(self._count), e))
            first = e
        self._count[first] += count

    def take_largest(self) -> tuple[PrimExpr, int]:
        """Return the largest expression and its count; all that contain it have been taken before."""
        _, _, e = heapq.heappop(self._queue)
        return e, self._count[e]


def _computations(e: PrimExpr) -> Iterator[PrimExpr]:
    """Yield the outermost computations of an expression, which may be itself."""
    if not isinstance(e, _NO_COMPUTATION) and is_pure(e):
        yield e
    else:
        yield from _parts(e)


def _parts(e: PrimExpr) -> Iterator[PrimExpr]:
    """Yield the outermost computations below an expression."""
    for child in _children(e):
        if isinstance(child, PrimExpr):
            yield from _computations(child)


def _children(n: Node) -> Iterator[Node]:
    for name in type(n).children:
        child = getattr(n, name)
        if isinstance(child, Node):
            yield child
        elif child is not None:
            yield from child


def _size(e: Node) -> int:
    """Return how many nodes an expression has."""
    todo, count = [e], 0
    while todo:
        count += 1
        todo.extend(_children(todo.pop()))
    return count
