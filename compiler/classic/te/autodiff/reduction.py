"""Derivatives of reductions other than sums with respect to the values that they combine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.classic.te.autodiff.derivative import differential
from compiler.classic.te.autodiff.tensors import axis_names
from compiler.ir.expr.primexpr import Add, CommReducer, IterVar, PrimExpr, Reduce, Var, const
from compiler.ir.expr.substitute import substitute
from compiler.ir.node import Node
from compiler.te.definition.compute_body import reducer_at
from compiler.te.definition.operation import ComputeOp, compute, domain
from compiler.te.definition.tensor import Tensor
from compiler.tir.expressions import op as tir


def is_sum(combiner: CommReducer) -> bool:
    """Return whether a reduction adds up single values, so that each contributes as it is."""
    match combiner.result:
        case (Add(a, b),):
            return {a, b} == {combiner.lhs[0], combiner.rhs[0]}
    return False


def share_of_source(op: ComputeOp, output: int, source: int) -> Tensor:
    """Return the derivatives of a result of a reduction by each of the values that it combines."""
    reduction = _DifferentialReduction(op)

    def share(*indices: Var) -> list[PrimExpr]:
        at = indices[len(op.axes) :]
        same = [axis.var.equal(i + domain(axis).min) for axis, i in zip(reduction.axes, at, strict=True)]
        return reduction.results(indices, reduction.chosen(source, tir.all(*same)), reduction.chosen(None))

    extents = [domain(axis).extent for axis in reduction.axes]
    return _declare(op, output, extents, share)


def share_of_start(op: ComputeOp, output: int, source: int) -> Tensor:
    """Return the derivatives of a result of a reduction by the value that it starts from."""
    reduction = _DifferentialReduction(op)

    def share(*indices: Var) -> list[PrimExpr]:
        return reduction.results(indices, reduction.chosen(None), reduction.chosen(source))

    return _declare(op, output, [], share)


def _declare(op: ComputeOp, output: int, extents: Sequence[PrimExpr], share: Callable[..., list[PrimExpr]]) -> Tensor:
    shape = (*op.output(output).shape, *extents)
    outputs: Sequence[Tensor] = compute(shape, share, f"{op.name}.share", varargs_names=axis_names(len(shape)))
    return outputs[output]


class _DifferentialReduction:
    """A reduction of values together with their differentials, by which the values keep their meaning.

    Of ``max(x, y)`` it makes ``(select(x >= y, dx, dy), max(x, y))``.
    """

    def __init__(self, op: ComputeOp) -> None:
        body = op.body[0]
        assert isinstance(body, Reduce)
        self._op = op
        self._body = body
        self.axes = tuple(IterVar(a.dom, Var(a.var.name, a.var.dtype), IterVar.CommReduce) for a in body.axis)
        self._combiner = self._combined(body.combiner)

    def _combined(self, combiner: CommReducer) -> CommReducer:
        lhs, rhs = ([Var(f"d_{v.name}", v.dtype) for v in operands] for operands in (combiner.lhs, combiner.rhs))
        seeds: dict[Node, PrimExpr] = dict(zip((*combiner.lhs, *combiner.rhs), (*lhs, *rhs), strict=True))
        zeros = self.chosen(None)
        changes = [differential(e, seeds) for e in combiner.result]
        result = [zero if change is None else change for change, zero in zip(changes, zeros, strict=True)]
        return CommReducer(
            (*lhs, *combiner.lhs),
            (*rhs, *combiner.rhs),
            (*result, *combiner.result),
            (*zeros, *combiner.identity_element),
        )

    def chosen(self, source: int | None, condition: PrimExpr | None = None) -> list[PrimExpr]:
        """Return differentials: one for a value where a condition holds, zero for all others."""
        differentials: list[PrimExpr] = []
        for i, e in enumerate(self._body.source):
            one, zero = const(1, e.dtype), const(0, e.dtype)
            chosen = one if condition is None else tir.if_then_else(condition, one, zero)
            differentials.append(chosen if i == source else zero)
        return differentials

    def results(
        self, indices: Sequence[Var], differentials: Sequence[PrimExpr], start: Sequence[PrimExpr]
    ) -> list[PrimExpr]:
        """Return the results of the reduction, the differentials first."""
        values: dict[Var, PrimExpr] = dict(zip((a.var for a in self._op.axes), indices, strict=False))
        combiner = reducer_at(self._combiner, values)
        values |= {old.var: new.var for old, new in zip(self._body.axis, self.axes, strict=True)}
        source = (*differentials, *(substitute(e, values) for e in self._body.source))
        condition = substitute(self._body.condition, values)
        init = tuple(substitute(e, values) for e in self._body.init)
        starts = (*start, *init) if init else ()
        return [Reduce(combiner, source, self.axes, condition, i, starts) for i in range(len(source))]
