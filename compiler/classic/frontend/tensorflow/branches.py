"""Switches over branches by an integer."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.control_flow import if_else
from compiler.relay.frontend.shared.folding import known, ops


def selected(number: RelayExpr, branches: Sequence[Sequence[RelayExpr]]) -> Sequence[RelayExpr]:
    """Select the results of a branch by index; an index out of range selects the last branch."""
    value = known(number)
    if value is not None:
        index = int(value.item())
        return branches[index if 0 <= index < len(branches) else -1]
    results = branches[-1]
    for i in reversed(range(len(branches) - 1)):
        results = if_else(ops.equal(number, i), branches[i], results)
    return results
