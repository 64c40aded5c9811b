"""Loops of TensorFlow 1 and 2: unrolled if the trip count is known, otherwise recursive functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.classic.frontend.tensorflow.lists import with_element_shapes
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.control_flow import unroll_loop, while_loop
from compiler.relay.frontend.shared.folding import known, ops


def looped(
    initial: Sequence[RelayExpr],
    condition: Callable[[Sequence[RelayExpr]], RelayExpr],
    body: Callable[[Sequence[RelayExpr]], Sequence[RelayExpr]],
    alive: RelayExpr | None = None,
) -> Sequence[RelayExpr]:
    """Convert a loop and return its final values; ``body`` maps those before an iteration to those after it.

    It is ``alive`` if the enclosing branch is taken.  A loop that several results of the branch share is run before the
    branch is selected, and might never end if the branch is not taken.
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
