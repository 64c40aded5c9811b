"""Matching of nodes across the steps of a graph: equal nodes share a slot in all drawings.

A pass rebuilds nodes, so that none is the same object afterwards.  A node is what the step before had of the same
operator, origin, type and constants, in the order of evaluation; where a pass replaced it (a convolution by one of
another layout, a batch normalization by arithmetic), what took its place.  All slots with the edges of all steps are
one graph without cycles, the union, which is laid out once: then no node ever moves.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from app.artifacts import Drawing, GraphEdge, GraphNode
from app.graphs.layout import beside_trunk

MAX_SLOTS = 12_000
"""Slots of one union; the steps that need further ones begin a union of their own."""


@dataclass(frozen=True)
class Union:
    """Some steps of a graph as one graph.

    Attributes
    ----------
    slots : list of list of int
        Of each step the slot of each node.
    drawing : Drawing
        All slots in an order of evaluation, with all edges; a slot's node is the last that stands in it.
    members : list of list of (int, int)
        Of each slot the steps, and the nodes in them, that stand in it.
    """

    slots: list[list[int]]
    drawing: Drawing
    members: list[list[tuple[int, int]]]


def unite(drawings: Sequence[Drawing]) -> list[Union]:
    """Return the unions of a graph's steps: one, unless the steps have very many nodes.

    Parameters
    ----------
    drawings : sequence of Drawing
        In the order of the steps.

    Returns
    -------
    list of Union
        Together they have all steps, in order.
    """
    unions = []
    table = _Table()
    for drawing in drawings:
        if table.steps and len(table.nodes) + len(drawing.nodes) > MAX_SLOTS:
            unions.append(table.union())
            table = _Table()
        table.add(drawing)
    if table.steps:
        unions.append(table.union())
    return unions


_Signature = Callable[[GraphNode], Hashable]


def _origin(node: GraphNode) -> Hashable:
    return node.origins[-1] if node.origins else node.key


_SAME: tuple[_Signature, ...] = (
    lambda node: (node.label, _origin(node), node.type, tuple(node.constants), node.detail),
    lambda node: (node.label, _origin(node), node.type),
    lambda node: (node.label, _origin(node)),
    lambda node: (node.label, tuple(node.layers)) if node.layers else (node.label, node.key),
)
"""What two nodes have in common that are one, the most exact first."""


class _Table:
    """The slots of the steps until now."""

    def __init__(self) -> None:
        self.steps: list[tuple[Drawing, list[int]]] = []
        self.nodes: list[GraphNode] = []
        """Of each slot the last node that stood in it."""
        self._beside: list[bool] = []
        """Of each slot whether it is beside the trunk: what is computed of weights never stands in the trunk."""
        self._edges: list[set[int]] = []
        """Of each slot those that read it, in any step."""

    def add(self, drawing: Drawing) -> None:
        """Give each node of the next step a slot."""
        beside = beside_trunk(drawing)
        matched = self._match(drawing.nodes, beside)
        count = len(self.nodes)
        slots = self._settled(drawing, matched)
        cyclic = _on_cycles(self._with(drawing, slots))
        if cyclic:  # a pass changed the order of some nodes: they get new slots
            del self.nodes[count:]
            matched = {index: slot for index, slot in matched.items() if slot not in cyclic}
            slots = self._settled(drawing, matched)
        self._edges = self._with(drawing, slots)
        self._beside.extend(False for _ in range(len(self.nodes) - len(self._beside)))
        for node, slot, aside in zip(drawing.nodes, slots, beside, strict=True):
            self.nodes[slot], self._beside[slot] = node, aside
        self.steps.append((drawing, slots))

    def _settled(self, drawing: Drawing, matched: dict[int, int]) -> list[int]:
        """Return the slot of each node, new ones for those that match none."""
        slots = []
        for index, node in enumerate(drawing.nodes):
            slot = matched.get(index)
            if slot is None:
                slot = len(self.nodes)
                self.nodes.append(node)
            slots.append(slot)
        return slots

    def _with(self, drawing: Drawing, slots: Sequence[int]) -> list[set[int]]:
        edges = [set(readers) for readers in self._edges]
        edges.extend(set() for _ in range(len(self.nodes) - len(edges)))
        for edge in drawing.edges:
            edges[slots[edge.source]].add(slots[edge.target])
        return edges

    def _match(self, nodes: Sequence[GraphNode], beside: Sequence[bool]) -> dict[int, int]:
        """Return the slots of the nodes that stood somewhere before."""
        before = list(dict.fromkeys(self.steps[-1][1])) if self.steps else []
        previous = set(before)
        older = [slot for slot in range(len(self.nodes)) if slot not in previous]
        matched: dict[int, int] = {}
        for candidates in (before, older):
            for signature in _SAME:
                self._pair(nodes, beside, candidates, signature, matched)
        self._replace(nodes, beside, before, matched)
        return matched

    def _pair(
        self,
        nodes: Sequence[GraphNode],
        beside: Sequence[bool],
        slots: Iterable[int],
        signature: _Signature,
        matched: dict[int, int],
    ) -> None:
        """Match the nodes and the slots that have a signature in common, in their order."""
        taken = set(matched.values())
        free: dict[Hashable, list[int]] = defaultdict(list)
        for slot in slots:
            if slot not in taken:
                free[signature(self.nodes[slot]), self._beside[slot]].append(slot)
        for queue in free.values():
            queue.reverse()
        for index, node in enumerate(nodes):
            mine = signature(node), beside[index]
            if index not in matched and free.get(mine):
                matched[index] = free[mine].pop()

    def _replace(
        self, nodes: Sequence[GraphNode], beside: Sequence[bool], before: Sequence[int], matched: dict[int, int]
    ) -> None:
        """Match what took the place of removed nodes: of what came from a node the most alike, else the last."""
        taken = set(matched.values())
        fresh: dict[Hashable, list[int]] = defaultdict(list)
        for index, node in enumerate(nodes):
            if index not in matched:
                fresh[_origin(node), beside[index]].append(index)
        for slot in before:
            heirs = fresh.get((_origin(self.nodes[slot]), self._beside[slot]))
            if slot not in taken and heirs:
                alike = [index for index in heirs if _alike(self.nodes[slot].label, nodes[index].label)]
                heir = (alike or heirs)[-1]
                heirs.remove(heir)
                matched[heir] = slot

    def union(self) -> Union:
        """Return the steps until now as one graph."""
        order = _order(self._edges)
        position = {slot: index for index, slot in enumerate(order)}
        slots = [[position[slot] for slot in row] for _, row in self.steps]
        members: list[list[tuple[int, int]]] = [[] for _ in order]
        for step, row in enumerate(slots):
            for index, slot in enumerate(row):
                members[slot].append((step, index))
        edges = [GraphEdge(position[slot], position[reader]) for slot in order for reader in sorted(self._edges[slot])]
        nodes = [self.nodes[slot] for slot in order]
        name = self.steps[-1][0].name
        return Union(slots, Drawing(key="", name=name, nodes=nodes, edges=edges), members)


def _alike(label: str, other: str) -> bool:
    """Return whether one operator is a form of another, such as ``nn.contrib_conv2d_NCHWc`` of ``nn.conv2d``."""
    short, long = sorted((label.rpartition(".")[2], other.rpartition(".")[2]), key=len)
    return short in long


def _on_cycles(edges: Sequence[set[int]]) -> set[int]:
    """Return the nodes of a graph that are on cycles or between them."""
    backwards: list[set[int]] = [set() for _ in edges]
    for node, readers in enumerate(edges):
        for reader in readers:
            backwards[reader].add(node)
    left = set(range(len(edges)))
    for onwards, sources in ((edges, backwards), (backwards, edges)):
        waiting = {node: len(sources[node] & left) for node in left}
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


def _order(edges: Sequence[set[int]]) -> list[int]:
    """Return the nodes of a graph without cycles, each after those that it reads, else in their order."""
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
