"""Which elements of shared memory each thread of a block accesses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from compiler.arith.analyzer import Analyzer
from compiler.arith.int_set import IntervalSet
from compiler.arith.interval_arithmetic import eval_set
from compiler.arith.linear.detect_linear_equation import linear_in
from compiler.ir.expr.primexpr import Add, IntImm, Mul, PrimExpr, Ramp, Sub, Var, const
from compiler.tir.analysis.thread_axes import ThreadAxis
from compiler.tir.analysis.uniformity import Uniformity
from compiler.tir.warp_access.index_values import DataDependentError, IndexValues

MAX_THREADS = 1 << 16
"""Blocks of more threads are not evaluated; no device launches any."""

Values: TypeAlias = npt.NDArray[np.int64]


class ThreadElements:
    """Compares, for all threads of a block, the elements that two accesses are of.

    All axes of the block are needed, since threads along an axis that an index does not use access the same element.
    ``uniformity`` is what all threads of the block agree about.
    """

    def __init__(self, axes: Iterable[ThreadAxis], uniformity: Uniformity, analyzer: Analyzer) -> None:
        self._uniformity = uniformity
        self._analyzer = analyzer
        self._values: dict[Var, Values] = {}
        self._threads = 1
        self._known = True
        for axis in axes:
            self._add(axis)
        self._known = self._known and self._threads <= MAX_THREADS

    def _add(self, axis: ThreadAxis) -> None:
        if not isinstance(axis.extent, IntImm):
            self._known = False
            return
        extent = axis.extent.value
        self._values = {var: np.repeat(values, extent) for var, values in self._values.items()}
        positions = np.tile(np.arange(extent), self._threads)
        self._threads *= extent
        self._values.update(dict.fromkeys(axis.variables, positions))

    def meet(self, a: Sequence[PrimExpr], b: Sequence[PrimExpr], *taken: Sequence[PrimExpr]) -> bool:
        """Return whether two threads may access one element, while all variables but their positions are as they are.

        ``taken`` are the conditions of the threads that make the first access ``a``, and of those that make the second
        ``b``. True where it is not known.
        """
        if not self._known:
            return True
        first, second = (self._satisfying(conditions) for conditions in taken)
        pairs = [pair for x, y in zip(a, b, strict=True) if (pair := self._columns(x, y)) is not None]
        ours = _owned([x for x, _ in pairs], first)
        theirs = _owned([y for _, y in pairs], second)
        _, numbers = np.unique(np.concatenate([ours[:, 1:], theirs[:, 1:]]), axis=0, return_inverse=True)
        elements = numbers.reshape(-1)
        here, there = _owners(ours[:, 0], elements[: len(ours)]), _owners(theirs[:, 0], elements[len(ours) :])
        return any(owner is None or there[element] != owner for element, owner in here.items() if element in there)

    def _satisfying(self, conditions: Sequence[PrimExpr]) -> Values:
        result = np.ones(self._threads, bool)
        for condition in conditions:
            try:
                result &= np.broadcast_to(IndexValues(self._values).visit(condition), result.shape).astype(bool)
            except DataDependentError:
                continue  # any thread may take this branch
        return result

    def _columns(self, x: PrimExpr, y: PrimExpr) -> tuple[Values, Values] | None:
        """Return what of two indices is not the same for both, a row for each thread; None if that is not known."""
        try:
            (first, ours), (second, theirs) = self._column(x), self._column(y)
        except DataDependentError:
            return None
        distance = self._analyzer.simplify(ours - theirs)
        return (first + distance.value, second) if isinstance(distance, IntImm) else None

    def _column(self, index: PrimExpr) -> tuple[Values, PrimExpr]:
        if isinstance(index, Ramp):
            values, rest = self._column(index.base)
            if not (isinstance(index.stride, IntImm) and isinstance(index.lanes, int)):
                raise DataDependentError(str(index))
            return values + index.stride.value * np.arange(index.lanes), rest
        values, rest = self._parts(index)
        return np.broadcast_to(values, (self._threads,))[:, None], rest

    def _parts(self, n: PrimExpr) -> tuple[Values, PrimExpr]:
        """Return the sum of the terms that depend on the thread, and that of those which are the same for all."""
        if self._uniformity.holds(n):
            return np.zeros(self._threads, "int64"), n
        if isinstance(n, Add | Sub):
            (x, rest), (y, other) = self._parts(n.a), self._parts(n.b)
            return (x + y, rest + other) if isinstance(n, Add) else (x - y, rest - other)
        if isinstance(n, Mul) and isinstance(n.b, IntImm):
            values, rest = self._parts(n.a)
            return values * n.b.value, rest * n.b
        return IndexValues(self._values).visit(n), const(0, n.dtype)


def _owned(columns: Sequence[Values], chosen: Values) -> Values:
    """Return a row for each access of the chosen threads: the thread, and the element that it accesses."""
    lanes = max((column.shape[1] for column in columns), default=1)
    threads = np.repeat(np.flatnonzero(chosen), lanes)
    places = [np.broadcast_to(column, (len(chosen), lanes))[chosen].ravel() for column in columns]
    return np.column_stack([threads, *places])


def _owners(threads: Values, elements: Values) -> dict[int, int | None]:
    """Return the thread that accesses each element; None for those that several threads access."""
    owners: dict[int, int | None] = {}
    for thread, element in zip(threads.tolist(), elements.tolist(), strict=True):
        owners[element] = thread if owners.setdefault(element, thread) == thread else None
    return owners


def apart(a: IntervalSet, b: IntervalSet, analyzer: Analyzer) -> bool:
    """Return whether two intervals are known to have no number in common."""
    if not (a.is_bounded() and b.is_bounded()):
        return False
    prove = analyzer.can_prove
    return prove(a.max_value < b.min_value) or prove(b.max_value < a.min_value)


def apart_after_steps(
    a: PrimExpr, b: PrimExpr, loop_var: Var, domains: Mapping[Var, IntervalSet], analyzer: Analyzer
) -> bool:
    """Return whether two indices never meet while they belong to different iterations of a loop.

    For example, ``i * 8 + tx`` and ``i * 8 + 7 - tx`` for eight threads. ``domains`` are what threads and loops within
    this one run over; all other variables have the same value both times.
    """
    first, second = _linear(a, loop_var), _linear(b, loop_var)
    if first is None or second is None or first.step != second.step:
        return False
    p, q = (eval_set(each.rest, domains, analyzer) for each in (first, second))
    if not (p.is_bounded() and q.is_bounded()):
        return False
    prove, step = analyzer.can_prove, abs(first.step)
    return prove(p.max_value + first.width - q.min_value < step) and prove(
        q.max_value + second.width - p.min_value < step
    )


class _Linear(NamedTuple):
    """``step * loop_var + rest`` and the ``width`` elements behind it."""

    step: int
    rest: PrimExpr
    width: int


def _linear(index: PrimExpr, loop_var: Var) -> _Linear | None:
    width = 0
    if isinstance(index, Ramp):
        if not (isinstance(index.stride, IntImm) and isinstance(index.lanes, int) and index.stride.value > 0):
            return None
        width = index.stride.value * (index.lanes - 1)
        index = index.base
    linear = linear_in(index, loop_var)
    if linear is None or not isinstance(linear[0], IntImm):
        return None
    return _Linear(linear[0].value, linear[1], width)
