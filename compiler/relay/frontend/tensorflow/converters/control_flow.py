"""Calls of the functions of a graph's library: branches, loops, and plain calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.control_flow import chosen, repeated
from compiler.relay.frontend.shared.folding import known
from compiler.relay.frontend.tensorflow.node import Node
from compiler.relay.frontend.tensorflow.registry import converter

MAX_TURNS = 256
"""Loops of at most as many turns are unrolled, where their number is known."""


@converter("PartitionedCall", "StatefulPartitionedCall")
def _call(node: Node) -> Any:
    return node.run(node.required("f"), node.inputs)


@converter("If", "StatelessIf")
def _if(node: Node) -> Any:
    condition, *arguments = node.inputs
    names = node.required("then_branch"), node.required("else_branch")
    value = known(condition)
    if value is not None:
        return node.run(names[0 if value.item() else 1], arguments)
    return chosen(condition, *(node.run(name, arguments) for name in names))


@converter("While", "StatelessWhile")
def _while(node: Node) -> Any:
    unrolled = _unrolled(node)
    if unrolled is not None:
        return unrolled
    return repeated(
        node.inputs,
        lambda state: node.run(node.required("cond"), state)[0],
        lambda state: node.run(node.required("body"), state),
    )


def _unrolled(node: Node) -> Sequence[RelayExpr] | None:
    """Return the values after the last turn; None if the running program decides which it is, or if it is far off."""
    state: Sequence[RelayExpr] = node.inputs
    for _ in range(MAX_TURNS):
        goes_on = known(node.run(node.required("cond"), state)[0])
        if goes_on is None:
            return None
        if not goes_on.item():
            return state
        state = node.run(node.required("body"), state)
    return None
