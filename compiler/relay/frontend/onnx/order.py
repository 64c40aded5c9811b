"""Topological sorting of nodes."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

import onnx

from compiler.relay.frontend.onnx.reader import subgraphs
from compiler.relay.frontend.shared.errors import ModelError


def in_order(nodes: Sequence[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """Sort nodes topologically, keeping their order in the file where possible."""
    maker = _makers(nodes)
    needs = [{maker[name] for name in _used(node) if name in maker} for node in nodes]
    users: list[list[int]] = [[] for _ in nodes]
    for user, made_by in enumerate(needs):
        for i in made_by:
            users[i].append(user)
    waiting = [len(made_by) for made_by in needs]
    ready = [i for i, count in enumerate(waiting) if count == 0]
    ordered = []
    while ready:
        i = heapq.heappop(ready)
        ordered.append(nodes[i])
        for user in users[i]:
            waiting[user] -= 1
            if waiting[user] == 0:
                heapq.heappush(ready, user)
    if len(ordered) < len(nodes):
        names = [nodes[i].name or next(iter(nodes[i].output), "") for i, count in enumerate(waiting) if count]
        raise ModelError(f"from_onnx: the graph has a cycle: {', '.join(map(repr, names[:5]))}")
    return ordered


def _makers(nodes: Sequence[onnx.NodeProto]) -> dict[str, int]:
    maker: dict[str, int] = {}
    for i, node in enumerate(nodes):
        for name in filter(None, node.output):
            if name in maker:
                raise ModelError(f"from_onnx: two nodes define {name!r}")
            maker[name] = i
    return maker


def _used(node: onnx.NodeProto) -> Iterator[str]:
    """Return the names of the inputs of a node, including those captured by its subgraphs."""
    yield from filter(None, node.input)
    for graph in subgraphs(node):
        own = {item.name for item in (*graph.input, *graph.initializer)}
        own.update(name for inner in graph.node for name in inner.output)
        used = {name for inner in graph.node for name in _used(inner)}
        used.update(item.name for item in graph.output)
        yield from used - own
