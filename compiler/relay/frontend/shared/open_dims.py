"""The extents that a model leaves open: their names, for errors to ask for those that matter, and where they recur."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar

from compiler.ir.context_stack import setting
from compiler.ir.expr import RelayExpr
from compiler.relay.analysis import free_vars
from compiler.relay.expr import Var
from compiler.relay.frontend.shared.folding import dims_of, ops
from compiler.relay.ty import AnyDim, Dim

_NAMES: ContextVar[Mapping[Var, Sequence[tuple[Dim, str]]] | None] = ContextVar("_NAMES", default=None)


def naming_open_dims(names: Mapping[Var, Sequence[tuple[Dim, str]]]) -> AbstractContextManager[None]:
    """Within it the open extents of inputs have names; the extent of no name is asked for with its input's shape."""
    return setting(_NAMES, names)


def asked_for(expr: RelayExpr, dims: Sequence[Dim]) -> str:
    """Return how to give open extents of an expression: those of inputs that they are, or else that it depends on."""
    names = _NAMES.get() or {}
    of_dims = {id(dim): name for pairs in names.values() for dim, name in pairs}
    wanted = [of_dims.get(id(dim)) for dim in dims if isinstance(dim, AnyDim)]
    if None in wanted:
        wanted = [name for var in free_vars(expr) for _, name in names.get(var, ())]
    given = ", ".join(f"{name}: …" for name in dict.fromkeys(wanted))
    return f"give `shape`: {{{given}}}" if given else "give `shape`"


def told_open(x: RelayExpr, axis: int, dim: object) -> RelayExpr:
    """Return a tensor with a type that says that the extent of an axis is an open one of an input, where it is one."""
    for var in _NAMES.get() or {}:
        for at, own in enumerate(dims_of(var)):
            if own is dim and isinstance(dim, AnyDim) and dims_of(x)[axis] is not dim:
                return ops.reshape_like(x, var, lhs_begin=axis, lhs_end=axis + 1, rhs_begin=at, rhs_end=at + 1)
    return x
