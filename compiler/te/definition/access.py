"""Bounds of tensor reads: each read is proved to be in bounds, or guarded.

A read that cannot be proved to stay inside, such as a gather by indices that are data, gets a guard and gives zero
outside.  For one that is certain to leave its tensor there is a warning as well, once it is scheduled: only then it
is known whether the tensor is the state of a scan, of which the first steps are left out.

A dimension of an input whose extent is only known at run time is broadcast where that extent is one, as the buffers of
classic TVM do by a stride of zero: reads along it that cannot be proved to stay inside all read its only element.  ::

    A[i]    with A of shape (m,)    →    if_then_else(m == 1 or i < m, A[if_then_else(m == 1, 0, i)], 0)
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from compiler.arith import Analyzer, eval_set
from compiler.arith.linear.detect_linear_equation import detect_linear_equation
from compiler.ir import dtype as dt
from compiler.ir.error import DTypeError, show
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Var, const
from compiler.ir.functor import Mutator
from compiler.ir.origin import user_frame
from compiler.ir.structural import structural_equal
from compiler.te.definition.compute_body import map_body, reads_tensors
from compiler.te.definition.tensor import Tensor
from compiler.tir.expressions.builtin import IF_THEN_ELSE, if_then_else
from compiler.tir.expressions.op import all as all_of


class BoundsWarning(UserWarning):
    """A computation reads elements outside of a tensor; it reads zero for them."""


@dataclass(frozen=True, slots=True)
class OutsideRead:
    """A read that no condition guards, and that is certain to leave its tensor."""

    tensor: expr.DataProducer
    dimension: int
    low: int
    message: str
    place: tuple[str, int] | None

    def warn(self) -> None:
        """Warn on the user's line."""
        if self.place is None:
            warnings.warn(self.message, BoundsWarning, stacklevel=2)
        else:
            warnings.warn_explicit(self.message, BoundsWarning, *self.place)


def keep_inside(
    name: str, axes: Sequence[expr.IterVar], body: tuple[PrimExpr, ...]
) -> tuple[tuple[PrimExpr, ...], tuple[OutsideRead, ...]]:
    """Return the body of a computation with a guard around each read that may leave its tensor, and certain ones.

    The body is the given one where every read is proved to be inside.  The reads that no condition guards and that are
    certain to leave their tensor have indices that are linear in the axes, so that the smallest and the largest value
    of such an index do occur.
    """
    first = body[0]
    reads = _Reads(name, [*axes, *first.axis] if isinstance(first, expr.Reduce) else list(axes))
    if isinstance(first, expr.Reduce) and not (isinstance(first.condition, IntImm) and first.condition.value):
        condition = reads.visit(first.condition)
        new = map_body(body, lambda e: condition if e is first.condition else reads.visit_under(condition, e))
    else:
        new = map_body(body, reads.visit)
    return new, () if reads.is_empty else tuple(reads.outside)


class _Reads(Mutator):
    """Proves or guards the reads of one expression."""

    def __init__(self, name: str, axes: Sequence[expr.IterVar]) -> None:
        self._name = name
        self._axes = [a for a in axes if isinstance(a.dom, expr.Range)]
        self._vars: list[Var] = [a.var for a in self._axes]
        self._domain = {a.var: a.dom for a in self._axes}
        self._conditional = 0
        self._in_force: list[PrimExpr] = []
        self._analyzer: Analyzer | None = None
        self.outside: list[OutsideRead] = []

    @property
    def is_empty(self) -> bool:
        """Whether an axis has no value, so that nothing is read."""
        extents = [a.dom.extent for a in self._axes if a.dom is not None]
        return any(isinstance(e, IntImm) and e.value == 0 for e in extents)

    @property
    def analyzer(self) -> Analyzer:
        """The analyzer that knows the axes, made when it is needed first."""
        if self._analyzer is None:
            self._analyzer = Analyzer()
            for axis in self._axes:
                if axis.dom is not None:
                    self._analyzer.bind(axis.var, axis.dom)
        return self._analyzer

    def visit_under(self, condition: PrimExpr, e: PrimExpr) -> PrimExpr:
        """Visit ``e`` where it is evaluated only if ``condition`` holds."""
        if isinstance(e, (IntImm, Var)):
            return e
        constraint: AbstractContextManager[None] = nullcontext()
        if condition.dtype == "bool":
            constraint = self.analyzer.constraint(condition)
        self._conditional += 1
        outside = len(self._in_force)
        self._in_force += _conjuncts(condition)
        try:
            with constraint:
                new: PrimExpr = self.visit(e)
                return new
        finally:
            self._conditional -= 1
            del self._in_force[outside:]

    def _choice(self, condition: PrimExpr, then: PrimExpr, other: PrimExpr) -> tuple[PrimExpr, PrimExpr, PrimExpr]:
        new = self.visit(condition)
        return new, self.visit_under(new, then), self.visit_under(expr.Not(new), other)

    def visit_Call(self, n: expr.Call) -> PrimExpr:
        if n.op is not IF_THEN_ELSE:
            return self.visit_Node(n)
        new = self._choice(*n.args)
        return n if all(a is b for a, b in zip(new, n.args, strict=True)) else expr.Call(n.dtype, n.op, new)

    def visit_Select(self, n: expr.Select) -> PrimExpr:
        old = (n.condition, n.true_value, n.false_value)
        new = self._choice(*old)
        return n if all(a is b for a, b in zip(new, old, strict=True)) else expr.Select(*new)

    def _both(self, n: expr.And | expr.Or) -> PrimExpr:
        """Machine code evaluates both sides, but the user may mean the first one as a guard: nothing is refused."""
        a = self.visit(n.a)
        self._conditional += 1
        b = self.visit(n.b)
        self._conditional -= 1
        return n if a is n.a and b is n.b else type(n)(a, b)

    visit_And = visit_Or = _both

    def visit_ProducerLoad(self, n: expr.ProducerLoad) -> PrimExpr:
        indices = list(self._visit_tuple(n.indices))
        needed: list[PrimExpr] = []
        for d, (index, extent) in enumerate(zip(indices, n.producer.shape, strict=True)):
            if not dt.is_integral(index.dtype) or dt.lanes(index.dtype) > 1:
                raise DTypeError(
                    f"compute {self._name!r}: index {d} of {n.producer.name!r} must be an integer, "
                    f"got {index.dtype} {show(index)}"
                )
            conditions = self._conditions(n, d, index, extent)
            if conditions and _is_broadcast(n.producer, index, extent):
                single = extent == 1
                indices[d] = if_then_else(single, const(0, index.dtype), index)
                conditions = [expr.Or(single, c) for c in conditions]
            needed += conditions
        unchanged = all(a is b for a, b in zip(indices, n.indices, strict=True))
        load = n if unchanged else expr.ProducerLoad(n.producer, tuple(indices))
        return if_then_else(all_of(*needed), load, const(0, n.dtype)) if needed else load

    def _conditions(self, n: expr.ProducerLoad, d: int, index: PrimExpr, extent: PrimExpr) -> list[PrimExpr]:
        """Return the conditions under which an index is inside, those that hold anyway left out."""
        if self._runs_along(index, extent):
            return []
        reach = self._reach(index) if isinstance(extent, IntImm) else None
        if reach is not None and isinstance(extent, IntImm):
            low, high = reach
            if low >= 0 and high < extent.value:
                return []
            if not self._conditional:
                self._note(n, d, index, low, high)
        if isinstance(index, expr.FloorMod) and self.analyzer.can_prove_equal(index.b, extent):
            return []
        prove = self.analyzer.can_prove
        below, above = not prove(index >= 0), not prove(index < extent)
        if below or above:
            # With symbolic extents the ends of the whole interval may cancel where single values do not.
            reached = eval_set(index, {v: d for v, d in self._domain.items() if d is not None}, self.analyzer)
            below = below and not (reached.has_lower_bound() and prove(reached.min_value >= 0))
            above = above and not (reached.has_upper_bound() and prove(reached.max_value < extent))
        needed = [index >= 0] * below + [index < extent] * above
        return [c for c in needed if not any(structural_equal(c, given) for given in self._in_force)]

    def _note(self, n: expr.ProducerLoad, d: int, index: PrimExpr, low: int, high: int) -> None:
        """Remember a read whose index leaves its tensor, and the user's line."""
        shape = ", ".join(str(s) for s in n.producer.shape)
        message = (
            f"compute {self._name!r}: index {d} of {n.producer.name!r} runs from {low} to {high}, outside of "
            f"its shape ({shape}), where zero is read; guard the read with te.if_then_else or change the index "
            f"{show(index)}"
        )
        frame = user_frame()
        place = None if frame is None else (frame.f_code.co_filename, frame.f_lineno)
        self.outside.append(OutsideRead(n.producer, d, low, message, place))

    def _runs_along(self, index: PrimExpr, extent: PrimExpr) -> bool:
        """Return whether an index is an axis from zero to no more than ``extent``: the usual case, at no cost."""
        domain = self._domain.get(index) if isinstance(index, Var) else None
        if domain is None or not isinstance(domain.min, IntImm) or domain.min.value:
            return False
        if isinstance(extent, IntImm) and isinstance(domain.extent, IntImm):
            return domain.extent.value <= extent.value
        return domain.extent is extent

    def _reach(self, index: PrimExpr) -> tuple[int, int] | None:
        """Return the smallest and the largest value of a linear index, or None if it is none or has no values."""
        linear = _linear(index) or self._detected(index)
        if linear is None:
            return None
        low = high = linear[1]
        for var, c in linear[0].items():
            if c == 0:
                continue
            dom = self._domain.get(var)
            if dom is None or not isinstance(dom.min, IntImm) or not isinstance(dom.extent, IntImm):
                return None
            if dom.extent.value == 0:
                return None
            ends = c * dom.min.value, c * (dom.min.value + dom.extent.value - 1)
            low, high = low + min(ends), high + max(ends)
        return low, high

    def _detected(self, index: PrimExpr) -> tuple[dict[Var, int], int] | None:
        row = detect_linear_equation(index, self._vars)
        values = [c.value for c in row if isinstance(c, IntImm)]
        return (dict(zip(self._vars, values, strict=False)), values[-1]) if row and len(values) == len(row) else None


def _linear(index: PrimExpr) -> tuple[dict[Var, int], int] | None:
    """Return the factors of the variables of a sum of multiples, and what is added; None for other forms."""
    factors: dict[Var, int] = {}
    base = 0
    todo: list[tuple[PrimExpr, int]] = [(index, 1)]
    while todo:
        e, times = todo.pop()
        match e:
            case IntImm():
                base += times * e.value
            case Var():
                factors[e] = factors.get(e, 0) + times
            case expr.Add():
                todo += [(e.a, times), (e.b, times)]
            case expr.Sub():
                todo += [(e.a, times), (e.b, -times)]
            case expr.Mul() if isinstance(e.b, IntImm):
                todo.append((e.a, times * e.b.value))
            case _:
                return None
    return factors, base


def _is_broadcast(tensor: expr.DataProducer, index: PrimExpr, extent: PrimExpr) -> bool:
    """Return whether a dimension may have one element for all indices: of an input, walked by loops and not by data."""
    is_input = isinstance(tensor, Tensor) and not tensor.op.input_tensors
    return is_input and not isinstance(extent, IntImm) and not reads_tensors(index)


def _conjuncts(condition: PrimExpr) -> list[PrimExpr]:
    """Return the conditions that all hold where ``condition`` does."""
    conjuncts, todo = [], [condition]
    while todo:
        e = todo.pop()
        if isinstance(e, expr.And):
            todo += (e.b, e.a)
        else:
            conjuncts.append(e)
    return conjuncts
