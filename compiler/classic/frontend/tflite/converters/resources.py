"""Resource variables, which are initialised once."""

from __future__ import annotations

from compiler.classic.frontend.tflite.node import Node
from compiler.classic.frontend.tflite.registry import graph_runner
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError, ModelError
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
    name = f"{node.option('Container', b'')}/{node.option('SharedName', b'')}"
    return constant(node.variables.number(name), "int32")


@graph_runner("ASSIGN_VARIABLE")
def _assign(node: Node) -> list[RelayExpr]:
    (number,), value = node.ints(0, "the variable"), node.inputs[1]
    if not node.variables.is_open:
        raise ConversionError("variables that persist between runs are not supported, only initialized ones")
    node.variables.values[number] = value
    return []


@graph_runner("READ_VARIABLE")
def _read(node: Node) -> RelayExpr:
    (number,) = node.ints(0, "the variable")
    if number not in node.variables.values:
        raise ModelError("it reads a variable to which nothing was assigned")
    return node.variables.values[number]
