"""Drawings as trees of text: an expression a line, above its operands."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from compiler.classic.contrib.relay_viz.interface import (
    DefaultVizParser,
    Numbers,
    Parsed,
    Plotter,
    VizEdge,
    VizGraph,
    VizNode,
    VizParser,
)
from compiler.ir.function import GlobalVar
from compiler.ir.op import Op
from compiler.relay.adt import Constructor
from compiler.relay.expr import Call, GraphExpr, If, Let
from compiler.relay.function import Function
from compiler.runtime.arrays.ndarray import NDArray


class TermVizParser(VizParser):
    """Draws a call above its operator and its arguments."""

    def __init__(self) -> None:
        self._default = DefaultVizParser()

    def get_node_edges(self, node: GraphExpr, relay_param: Mapping[str, NDArray], node_to_id: Numbers) -> Parsed:
        """Return the node of an expression with the edges that end there."""
        number = node_to_id[node]
        match node:
            case Op() | Constructor():
                return VizNode(number, str(getattr(node, "name", getattr(node, "name_hint", ""))), ""), []
            case GlobalVar():
                return VizNode(number, f"@{node.name_hint}", ""), []
            case Call():
                return VizNode(number, "Call", ""), _edges(number, (node.op, *node.args), node_to_id)
            case Let():
                return VizNode(number, "Let", "(var, val, body)"), _edges(
                    number, (node.var, node.value, node.body), node_to_id
                )
            case If():
                parts = (node.cond, node.true_branch, node.false_branch)
                return VizNode(number, "If", "(cond, true, false)"), _edges(number, parts, node_to_id)
            case Function():
                names = ", ".join(f"%{param.name_hint}" for param in node.params)
                return VizNode(number, "Func", f"[{names}]"), _edges(number, (node.body,), node_to_id)
        return self._default.get_node_edges(node, relay_param, node_to_id)


def _edges(number: str, parts: tuple[GraphExpr, ...], numbers: Numbers) -> list[VizEdge]:
    return [VizEdge(numbers[part], number) for part in parts]


class TermGraph(VizGraph):
    """A function as a tree; the node that was added last is its root."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: dict[str, VizNode] = {}
        self._operands: dict[str, list[str]] = {}

    def node(self, viz_node: VizNode) -> None:
        """Add a node."""
        self._nodes[viz_node.identity] = viz_node

    def edge(self, viz_edge: VizEdge) -> None:
        """Add an edge."""
        self._operands.setdefault(viz_edge.end, []).append(viz_edge.start)

    def render(self) -> str:
        """Return the tree.

        What has operands and is used more than once stands there once, and later as a line that says so.
        """
        if not self._nodes:
            return f"@{self._name}()"
        root = next(reversed(self._nodes.values()))
        lines = [f"@{self._name}({root.detail})"]
        shown = {root.identity}
        pending = self._below("", root.identity)
        while pending:
            prefix, identity = pending.pop()
            node = self._nodes[identity]
            text = " ".join([node.type_name, *node.detail.splitlines()]) if node.detail else node.type_name
            again = identity in shown and identity in self._operands
            lines.append(f"{prefix}{text}{' (shown above)' if again else ''}")
            shown.add(identity)
            if not again:
                inner = prefix.replace("|--", "|  ").replace("`--", "   ")
                pending += self._below(inner, identity)
        return "\n".join(lines)

    def _below(self, prefix: str, identity: str) -> list[tuple[str, str]]:
        """Return the operands with what stands before each, the first one last."""
        operands = [operand for operand in self._operands.get(identity, ()) if operand in self._nodes]
        marks = ["|--"] * (len(operands) - 1) + ["`--"]
        return [(prefix + mark, operand) for mark, operand in zip(marks, operands, strict=False)][::-1]


class TermPlotter(Plotter):
    """Writes functions as trees of text."""

    def __init__(self) -> None:
        self._name_to_graph: dict[str, TermGraph] = {}

    def create_graph(self, name: str) -> TermGraph:
        """Begin the tree of a function."""
        self._name_to_graph[name] = TermGraph(name)
        return self._name_to_graph[name]

    def render(self, filename: str | None = None) -> None:
        """Write the trees into a file, or print them."""
        text = "\n".join(graph.render() for graph in self._name_to_graph.values())
        if filename is None:
            print(text)
        else:
            Path(filename).write_text(text + "\n", encoding="utf-8")
