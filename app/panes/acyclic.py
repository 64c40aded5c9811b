"""Orders and cycles of directed graphs, given as the readers of each node."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence


def on_cycles(edges: Sequence[Collection[int]]) -> set[int]:
    """Return the nodes of a graph on or between cycles."""
    backwards: list[set[int]] = [set() for _ in edges]
    for node, readers in enumerate(edges):
        for reader in readers:
            backwards[reader].add(node)
    left = set(range(len(edges)))
    for onwards, sources in ((edges, backwards), (backwards, edges)):
        waiting = {node: len(left.intersection(sources[node])) for node in left}
        todo = [node for node, count in waiting.items() if not count]
        while todo:
            node = todo.pop()
            left.discard(node)
            for reader in onwards[node]:
                if reader in left:
                    waiting[reader] -= 1
                    if not waiting[reader]:
                        todo.append(reader)
    return left


def stable_order(edges: Sequence[Collection[int]]) -> list[int]:
    """Return the topological order of an acyclic graph, stable in the order of its nodes."""
    waiting = [0] * len(edges)
    for readers in edges:
        for reader in readers:
            waiting[reader] += 1
    ready = [node for node, count in enumerate(waiting) if not count]
    heapq.heapify(ready)
    order = []
    while ready:
        node = heapq.heappop(ready)
        order.append(node)
        for reader in edges[node]:
            waiting[reader] -= 1
            if not waiting[reader]:
                heapq.heappush(ready, reader)
    return order
