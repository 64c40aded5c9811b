"""Control flow: branches, loops and calls of subgraphs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from compiler.classic.frontend.tflite.node import Node
from compiler.classic.frontend.tflite.registry import graph_runner
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.control_flow import fitting, if_else, unroll_loop, while_loop
from compiler.relay.frontend.shared.folding import known


@graph_runner("IF")
def _if(node: Node) -> list[RelayExpr]:
    condition, *arguments = node.inputs
    branches = int(node.option("ThenSubgraphIndex")), int(node.option("ElseSubgraphIndex"))
    value = known(condition)
    if value is not None:
        return node.run(branches[0 if value.item() else 1], arguments)
    with node.variables.conditional():
        return if_else(condition, *fitting([partial(node.run, branch, arguments) for branch in branches]))


@graph_runner("WHILE", "STABLEHLO_WHILE")
def _while(node: Node) -> list[RelayExpr]:
    condition, body = int(node.option("CondSubgraphIndex")), int(node.option("BodySubgraphIndex"))

    def goes_on(state: Sequence[RelayExpr]) -> RelayExpr:
        return node.run(condition, state)[0]

    def turn(state: Sequence[RelayExpr]) -> list[RelayExpr]:
        return node.run(body, state)

    with node.variables.conditional():
        after = unroll_loop(node.inputs, goes_on, turn)
        return list(after) if after is not None else while_loop(node.inputs, goes_on, turn)


@graph_runner("CALL")
def _call(node: Node) -> list[RelayExpr]:
    return node.run(int(node.option("Subgraph")), node.inputs)


@graph_runner("STABLEHLO_COMPOSITE")
def _composite(node: Node) -> list[RelayExpr]:
    """Convert a composite operator by its decomposition graph."""
    return node.run(int(node.option("DecompositionSubgraphIndex")), node.inputs)
