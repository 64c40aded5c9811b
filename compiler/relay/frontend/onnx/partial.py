"""Partially known vectors: shapes with a symbolic batch, and values computed from them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar

from compiler.ir.context_stack import setting
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.folding import known
from compiler.relay.frontend.shared.tensors import Extent

_KNOWN: ContextVar[dict[RelayExpr, list[Extent]] | None] = ContextVar("_KNOWN", default=None)


def remembering() -> AbstractContextManager[None]:
    """Record known elements within the context, for one import."""
    return setting(_KNOWN, {})


def remember(expr: RelayExpr, values: Sequence[Extent] | None) -> RelayExpr:
    """Record the known elements of an expression, and return it."""
    notes = _KNOWN.get()
    if notes is not None and values is not None and known(expr) is None:
        notes[expr] = list(values)
    return expr


def partial_of(expr: RelayExpr) -> list[Extent] | None:
    """Return the known elements of an integer vector or scalar.

    Unknown elements are None, or the symbolic extent that they equal; the result is None if nothing is known.
    """
    value = known(expr)
    if value is not None:
        return [int(v) for v in value.reshape(-1)]
    return (_KNOWN.get() or {}).get(expr)
