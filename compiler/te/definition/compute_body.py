"""The bodies of compute operations: one expression for each output; those of a reduction differ in an index only."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compiler.ir.expr.primexpr import CommReducer, IterVar, PrimExpr, ProducerLoad, Range, Reduce, Var
from compiler.ir.expr.substitute import substitute
from compiler.ir.functor import Mutator, nodes_of
from compiler.ir.origin import derived_from
from compiler.te.definition.tensor import Tensor

Body = tuple[PrimExpr, ...]


def map_body(body: Body, f: Callable[[PrimExpr], PrimExpr]) -> Body:
    """Apply ``f`` to the expressions of a body: inside of a reduction, to each part of it once."""
    first = body[0]
    if not isinstance(first, Reduce):
        new = tuple(f(e) for e in body)
        return body if all(a is b for a, b in zip(new, body, strict=True)) else new
    parts = (*first.source, first.condition, *first.init)
    new = tuple(f(e) for e in parts)
    if all(a is b for a, b in zip(new, parts, strict=True)):
        return body
    count = len(first.source)
    with derived_from(first.span):
        return tuple(
            Reduce(first.combiner, new[:count], first.axis, new[count], i, new[count + 1 :]) for i in range(count)
        )


def substitute_body(body: Body, values: Mapping[Var, PrimExpr]) -> Body:
    """Put values in place of variables, such as axes; in a reduction also in its domain and in how it combines."""
    new = map_body(body, lambda e: substitute(e, values))
    first = new[0]
    if not isinstance(first, Reduce):
        return new
    axes = tuple(_axis_at(axis, values) for axis in first.axis)
    combiner = reducer_at(first.combiner, values)
    if combiner is first.combiner and all(a is b for a, b in zip(axes, first.axis, strict=True)):
        return new
    with derived_from(first.span):
        return tuple(
            Reduce(combiner, first.source, axes, first.condition, i, first.init) for i in range(len(first.source))
        )


def reducer_at(combiner: CommReducer, values: Mapping[Var, PrimExpr]) -> CommReducer:
    """Return a reducer with values in place of the variables that are not its operands; mostly the same one."""
    result = tuple(substitute(e, values) for e in combiner.result)
    identity = tuple(substitute(e, values) for e in combiner.identity_element)
    old = (*combiner.result, *combiner.identity_element)
    if all(a is b for a, b in zip((*result, *identity), old, strict=True)):
        return combiner
    return CommReducer(combiner.lhs, combiner.rhs, result, identity)


def _axis_at(axis: IterVar, values: Mapping[Var, PrimExpr]) -> IterVar:
    dom = axis.dom
    assert dom is not None
    low, extent = substitute(dom.min, values), substitute(dom.extent, values)
    if low is dom.min and extent is dom.extent:
        return axis
    return IterVar(Range.from_fields(low, extent), axis.var, axis.iter_type, axis.thread_tag, span=axis.span)


class LoadMutator(Mutator):
    """Replaces reads of tensors by what ``replace(tensor, indices)`` returns, unless it is None."""

    def __init__(self, replace: Callable[[Tensor, tuple[PrimExpr, ...]], PrimExpr | None]) -> None:
        self._replace = replace

    def visit_ProducerLoad(self, n: ProducerLoad) -> PrimExpr:
        indices = self._visit_tuple(n.indices)
        new = self._replace(n.producer, indices)
        if new is not None:
            return new
        return n if indices is n.indices else ProducerLoad(n.producer, indices)


def reads_tensors(e: PrimExpr) -> bool:
    """Return whether an expression reads an element of any tensor."""
    return next(nodes_of(e, ProducerLoad), None) is not None
