"""Branches of TensorFlow, of which a number chooses one."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.control_flow import if_else
from compiler.relay.frontend.shared.folding import known, ops

__all__ = ["selected"]


def selected(number: RelayExpr, branches: Sequence[Sequence[RelayExpr]]) -> Sequence[RelayExpr]:
    """Return the results of the branch of a number; those of the last one where there is none of that number.

    Parameters
    ----------
    number : Expr
        A single integer.
    branches : sequence of sequence of Expr
        The results of each branch.
    """
    value = known(number)
    if value is not None:
        index = int(value.item())
        return branches[index if 0 <= index < len(branches) else -1]
    results = branches[-1]
    for i in reversed(range(len(branches) - 1)):
        results = if_else(ops.equal(number, i), branches[i], results)
    return results
