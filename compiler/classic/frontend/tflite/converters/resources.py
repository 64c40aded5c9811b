"""Resource variables."""

from __future__ import annotations

from compiler.classic.frontend.tflite.node import Node
from compiler.classic.frontend.tflite.registry import graph_runner
from compiler.classic.frontend.tflite.variables import variable_name
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.folding import constant


@graph_runner("CALL_ONCE")
def _call_once(node: Node) -> list[RelayExpr]:
    """Convert ``CALL_ONCE``, whose graph sets the initial values of variables."""
    with node.variables.initialized():
        node.run(int(node.option("InitSubgraphIndex")), [])
    return []


@graph_runner("VAR_HANDLE")
def _handle(node: Node) -> RelayExpr:
    """Convert ``VAR_HANDLE`` to a constant with the number of the variable."""
    return constant(node.variables.number(variable_name(node.operation)), "int32")


@graph_runner("ASSIGN_VARIABLE")
def _assign(node: Node) -> list[RelayExpr]:
    (number,) = node.ints(0, "the variable")
    node.variables.assign(number, node.inputs[1])
    return []


@graph_runner("READ_VARIABLE")
def _read(node: Node) -> RelayExpr:
    (number,) = node.ints(0, "the variable")
    return node.variables.read(number, node.outputs[0])
