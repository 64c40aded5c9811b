"""The graph JSON of a built model."""

from __future__ import annotations

from typing import Any

import msgspec

from compiler.ir.error import ArgumentError

ALIAS = "__nop"
"""The function of a node whose result is its input's memory under another shape."""
REFERENCE = "__numpy"
"""The function of a node that calls an operator's NumPy reference."""


class Node(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An input or parameter (``null``), or a call (``tvm_op``).

    A call has ``func_name`` in its ``attrs``; one of a reference also ``operator``, ``operator_attrs`` and ``nest``.
    """

    op: str
    name: str
    attrs: dict[str, str] = {}
    inputs: list[tuple[int, int, int]]


class Graph(msgspec.Struct, kw_only=True):
    """Nodes in the order of evaluation."""

    nodes: list[Node]
    arg_nodes: list[int]
    """The nodes that are inputs or parameters."""
    heads: list[tuple[int, int, int]]
    attrs: dict[str, Any]
    """``shape``, ``dltype``, ``storage_id`` and ``device_index`` of every value, each after the name of its type."""
    node_row_ptr: list[int]
    """The number of each node's first value."""

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shape of every value."""
        return [tuple(s) for s in self.attrs["shape"][1]]

    @property
    def dtypes(self) -> list[str]:
        """The data type of every value."""
        return list(self.attrs["dltype"][1])

    @property
    def storage_ids(self) -> list[int]:
        """The buffer of every value."""
        return list(self.attrs["storage_id"][1])

    def value(self, entry: tuple[int, int, int]) -> int:
        """Return the number of a value."""
        return self.node_row_ptr[entry[0]] + entry[1]

    def to_json(self) -> str:
        """Return the graph as text."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode()


def parse_graph(text: str) -> Graph:
    """Return the graph that a text is, JSON in TVM's layout."""
    try:
        graph = msgspec.json.decode(text, type=Graph)
        count = graph.node_row_ptr[-1]
        tables = (graph.shapes, graph.dtypes, graph.storage_ids)
        complete = len(graph.node_row_ptr) == len(graph.nodes) + 1 and all(len(t) == count for t in tables)
    except (msgspec.MsgspecError, KeyError, IndexError, TypeError) as exc:
        raise ArgumentError(f"graph_executor: the text is not a graph of a built model: {exc}") from None
    if not complete or not all(_refers_back(graph, i) for i in range(len(graph.nodes))):
        raise ArgumentError("graph_executor: the graph is damaged: its tables do not match its nodes")
    if not all(0 <= head[0] < len(graph.nodes) and _has_value(graph, head) for head in graph.heads):
        raise ArgumentError("graph_executor: the graph is damaged: an output refers to a value that does not exist")
    return graph


def _refers_back(graph: Graph, index: int) -> bool:
    return all(0 <= e[0] < index and _has_value(graph, e) for e in graph.nodes[index].inputs)


def _has_value(graph: Graph, entry: tuple[int, int, int]) -> bool:
    return 0 <= entry[1] < graph.node_row_ptr[entry[0] + 1] - graph.node_row_ptr[entry[0]]
