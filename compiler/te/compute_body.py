"""The bodies of compute operations: one expression for each output; those of a reduction differ in an index only."""

from __future__ import annotations

from collections.abc import Callable

from compiler.ir.functor import Mutator
from compiler.ir.node import Node
from compiler.ir.origin import derived_from
from compiler.ir.primexpr import PrimExpr, ProducerLoad, Reduce
from compiler.ir.substitute import post_order_visit
from compiler.te.tensor import Tensor

__all__ = ["Body", "LoadMutator", "map_body", "reads_tensors"]

Body = tuple[PrimExpr, ...]


def map_body(body: Body, f: Callable[[PrimExpr], PrimExpr]) -> Body:
    """Apply ``f`` to the expressions of a body: inside of a reduction, to each part of it once.

    Parameters
    ----------
    body : tuple of PrimExpr
        The body of a compute operation.
    f : callable
        Returns the new expression, or the same one.

    Returns
    -------
    tuple of PrimExpr
        ``body`` itself where ``f`` changes nothing.
    """
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


class LoadMutator(Mutator):
    """Replaces reads of tensors.

    Parameters
    ----------
    replace : callable
        ``replace(tensor, indices)`` returns what stands for a read, or None to leave it.
    """

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
    reads = False

    def look(n: Node) -> None:
        nonlocal reads
        reads = reads or isinstance(n, ProducerLoad)

    post_order_visit(e, look)
    return reads
