"""The adjoint of one operation: how the gradient of its output contributes to that of a tensor it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.arith.deep_equal import deep_equal
from compiler.classic.te.autodiff.derivative import differential
from compiler.classic.te.autodiff.reduction import is_sum, share_of_source, share_of_start
from compiler.classic.te.autodiff.tensors import axis_names, sum_of
from compiler.classic.te.autodiff.zero_elimination import iterations_that_read
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import And, IntImm, IterVar, PrimExpr, ProducerLoad, Range, Reduce, Var, binary, const
from compiler.ir.expr.substitute import post_order_visit, substitute
from compiler.ir.node import Node
from compiler.te.definition.compute_body import substitute_body
from compiler.te.definition.operation import ComputeOp, compute, domain
from compiler.te.definition.tensor import Tensor
from compiler.tir.expressions import op as tir


@dataclass(frozen=True, slots=True)
class _Term:
    """What one read adds to each element of the output, to first order: ``factor`` times the change of the element.

    ``axes`` are the iterations that read: over the output's axes, then over those of a reduction.
    """

    axes: tuple[IterVar, ...]
    indices: tuple[PrimExpr, ...]
    factor: PrimExpr
    condition: PrimExpr | None = None


def vector_jacobian_product(output: Tensor, tensor: Tensor, head: Tensor) -> Tensor | None:
    """Return the gradient of a tensor that an operation reads; None if no derivative is but zero.

    The last dimensions of ``head``, the gradient of ``output``, are those of ``output``; the result has the first ones
    and the shape of ``tensor``.
    """
    op = output.op
    if not isinstance(op, ComputeOp):
        raise ArgumentError(
            f"gradient: {type(op).__name__} {op.name!r} has no derivative; only compute operations have one"
        )
    name = f"{op.name}.{tensor.op.name}.grad"
    terms = _terms(op, output.value_index, tensor)
    if not terms:
        return None
    leading = len(head.shape) - len(op.axes)
    shape = (*head.shape[:leading], *tensor.shape)
    names = axis_names(len(shape))
    own = [Var(name, extent.dtype) for name, extent in zip(names, shape, strict=True)]
    element = [IterVar(Range(0, extent), var, IterVar.DataPar) for extent, var in zip(shape, own, strict=True)]
    values = [_summed(term, element[leading:], head(*own[:leading], *(a.var for a in op.axes))) for term in terms]

    def declare(value: PrimExpr, name: str) -> Tensor:
        def at(*indices: Var) -> PrimExpr:
            return substitute_body((value,), {v: i.astype(v.dtype) for v, i in zip(own, indices, strict=True)})[0]

        return compute(shape, at, name, varargs_names=names)

    if len(terms) == 1 or not any(isinstance(value, Reduce) for value in values):
        return declare(sum(values[1:], values[0]), name)
    return sum_of([declare(value, f"{name}.part{i}") for i, value in enumerate(values)], name)


def _terms(op: ComputeOp, output: int, tensor: Tensor) -> list[_Term]:
    """Return what each read of a tensor adds to an output of an operation."""
    body = op.body[output]
    if not isinstance(body, Reduce):
        return _terms_of(body, tensor, op.axes)
    axes = (*op.axes, *body.axis)
    every = isinstance(body.condition, IntImm) and bool(body.condition.value)
    condition = None if every else body.condition
    if is_sum(body.combiner):
        start = [term for e in body.init for term in _terms_of(e, tensor, op.axes)]
        return start + _terms_of(body.source[0], tensor, axes, None, condition)
    terms = []
    for place, e in enumerate(body.init):
        if _reads_of(e, tensor):
            starts = share_of_start(op, output, place)
            terms += _terms_of(e, tensor, op.axes, starts(*(a.var for a in op.axes)))
    for place, e in enumerate(body.source):
        if _reads_of(e, tensor):
            share = share_of_source(op, output, place)
            at = share(*(a.var for a in op.axes), *(a.var - domain(a).min for a in body.axis))
            terms += _terms_of(e, tensor, axes, at, condition)
    return terms


def _terms_of(
    e: PrimExpr,
    tensor: Tensor,
    axes: tuple[IterVar, ...],
    share: PrimExpr | None = None,
    condition: PrimExpr | None = None,
) -> list[_Term]:
    terms = []
    for reads in _reads_of(e, tensor):
        slope = differential(e, dict.fromkeys(reads, const(1, tensor.dtype)))
        if slope is not None:
            terms.append(_Term(axes, reads[0].indices, slope if share is None else slope * share, condition))
    return terms


def _reads_of(e: PrimExpr, tensor: Tensor) -> list[list[ProducerLoad]]:
    """Return the reads of a tensor, those of the same element together."""
    groups: list[list[ProducerLoad]] = []

    def look(n: Node) -> None:
        if not isinstance(n, ProducerLoad) or n.producer is not tensor:
            return
        for group in groups:
            if all(deep_equal(a, b) for a, b in zip(group[0].indices, n.indices, strict=True)):
                group.append(n)
                return
        groups.append([n])

    post_order_visit(e, look)
    return groups


def _summed(term: _Term, element: Sequence[IterVar], head: PrimExpr) -> PrimExpr:
    """Return the sum of a term over the iterations that read an element, times the gradients of these iterations."""
    iterations = iterations_that_read(term.axes, term.indices, element)
    value, condition = substitute(head * term.factor, iterations.values), iterations.condition
    if term.condition is not None:
        condition = binary(And, condition, substitute(term.condition, iterations.values))
    if iterations.axes:
        return tir.sum(value, iterations.axes, condition)
    always = isinstance(condition, IntImm) and condition.value
    return value if always else tir.if_then_else(condition, value, const(0, value.dtype))
