"""Calls that compute nothing: their result is their argument's memory under another shape."""

from __future__ import annotations

from compiler.relay.expr import Call
from compiler.relay.operator import RelayOp
from compiler.relay.ty import TupleType

__all__ = ["is_alias"]

RESHAPES = frozenset(("reshape", "squeeze", "expand_dims", "nn.batch_flatten", "copy"))
"""Operators whose result has the elements of their first argument, in the same order."""


def is_alias(call: Call) -> bool:
    """Return whether a call's result is the memory of its only argument.

    Parameters
    ----------
    call : Call
        Whose type may be unknown yet.

    Returns
    -------
    bool
    """
    if len(call.args) != 1 or isinstance(call.checked_type_, TupleType):
        return False
    return isinstance(call.op, RelayOp) and call.op.name in RESHAPES
