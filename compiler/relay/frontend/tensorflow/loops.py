"""Loops of both generations of TensorFlow: unrolled where the number of turns is known, functions where it is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.control_flow import unroll_loop, while_loop
from compiler.relay.frontend.shared.folding import known, ops
from compiler.relay.frontend.tensorflow.lists import with_element_shapes

__all__ = ["looped"]


def looped(
    initial: Sequence[RelayExpr],
    condition: Callable[[Sequence[RelayExpr]], RelayExpr],
    body: Callable[[Sequence[RelayExpr]], Sequence[RelayExpr]],
    alive: RelayExpr | None = None,
) -> Sequence[RelayExpr]:
    """Return the values after a loop.

    Parameters
    ----------
    initial : sequence of Expr
        The initial values.
    condition, body : callable
        From the values before a turn to whether there is one, and to those after it.
    alive : Expr, optional
        Whether the branch that the loop lies in is taken.  Where it is not, the loop's condition may never become
        false, and a loop that several results of the branch need is run before the branch is chosen.
    """
    if alive is not None and (taken := known(alive)) is not None:
        if not taken.item():
            return initial
        alive = None
    if (after := unroll_loop(initial, condition, body)) is not None:
        return after
    initial = with_element_shapes(initial, body(initial))
    if alive is None:
        return while_loop(initial, condition, body)
    return while_loop(initial, lambda state: ops.logical_and(alive, condition(state)), body)
