"""Hash tables with constant keys and values, from the nodes that initialise them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from google.protobuf.message import Message

from compiler.classic.frontend.tensorflow.messages import calls_of
from compiler.classic.frontend.tensorflow.reader import attributes_of
from compiler.relay.frontend.shared.errors import ModelError, naming_node
from compiler.relay.frontend.shared.folding import Array

TABLES = frozenset({"HashTable", "HashTableV2", "MutableHashTable", "MutableHashTableV2"})
"""Operators that create tables."""
_IMPORTS = frozenset({"LookupTableImport", "LookupTableImportV2", "InitializeTable", "InitializeTableV2"})

Contents = tuple[Array, Array]
"""Keys and values."""


def contents_of(graph: Message) -> dict[str, Contents]:
    """Return the contents of tables by node name."""
    nodes = {node.name: node for node in graph.node}
    contents = dict(_imported(nodes, {}))
    for function, given in calls_of(graph):
        arguments = {name: nodes[source] for name, source in given.items() if source in nodes}
        contents.update(_imported({inner.name: inner for inner in function.node_def}, arguments))
    return contents


def _imported(nodes: Mapping[str, Message], arguments: Mapping[str, Message]) -> Iterator[tuple[str, Contents]]:
    """Return the initialised tables among nodes: the table node, keys and values."""

    def source(name: str) -> Message | None:
        name = name.split(":")[0]
        return arguments.get(name) or nodes.get(name)

    for node in nodes.values():
        if node.op in _IMPORTS and len(node.input) >= 3:
            table, keys, values = (source(name) for name in node.input[:3])
            constants = [n for n in (keys, values) if n is not None and n.op == "Const"]
            if table is not None and table.op in TABLES and len(constants) == 2:
                pair = [_elements(n) for n in constants]
                yield table.name, (pair[0], pair[1])


def _elements(node: Message) -> Array:
    with naming_node("from_tensorflow", f"node {node.name!r} (Const)"):
        value = attributes_of(node).get("value")
        if not isinstance(value, np.ndarray):
            raise ModelError("attribute 'value' must be given")
        return value.reshape(-1)
