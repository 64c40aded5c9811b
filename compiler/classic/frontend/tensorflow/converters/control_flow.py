"""Functional control flow: branches, loops and calls of library functions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from compiler.classic.frontend.tensorflow.branches import selected
from compiler.classic.frontend.tensorflow.loops import looped
from compiler.classic.frontend.tensorflow.node import Node
from compiler.classic.frontend.tensorflow.registry import converter
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.control_flow import fitting, if_else
from compiler.relay.frontend.shared.folding import known


@converter("PartitionedCall", "StatefulPartitionedCall")
def _call(node: Node) -> list[RelayExpr]:
    return node.run(node.required("f"), node.inputs)


@converter("If", "StatelessIf")
def _if(node: Node) -> list[RelayExpr]:
    condition, *arguments = node.inputs
    names = node.required("then_branch"), node.required("else_branch")
    value = known(condition)
    if value is not None:
        return node.run(names[0 if value.item() else 1], arguments)
    return if_else(condition, *fitting([partial(node.run, name, arguments) for name in names]))


@converter("Case", "StatelessCase")
def _case(node: Node) -> Sequence[RelayExpr]:
    number, *arguments = node.inputs
    return selected(number, fitting([partial(node.run, name, arguments) for name in node.required("branches")]))


@converter("While", "StatelessWhile")
def _while(node: Node) -> Sequence[RelayExpr]:
    return looped(
        node.inputs,
        lambda state: node.run(node.required("cond"), state)[0],
        lambda state: node.run(node.required("body"), state),
    )
