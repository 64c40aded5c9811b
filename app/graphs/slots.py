"""Matching of nodes across the steps of a graph: equal nodes share a slot in all drawings.

As passes rebuild nodes, object identity does not survive them.  A node is matched with a node of the previous step that
has the same operator, origin, type and constants, in evaluation order; a node that was replaced (a convolution by one
of another layout, a batch normalization by arithmetic) is matched with its replacement.  The slots with the edges of
all steps form an acyclic graph, the union, which is laid out once, so that no node ever moves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from app.artifacts import Drawing, GraphEdge, GraphNode
from app.graphs.layout import beside_trunk
from app.panes.acyclic import on_cycles, stable_order

MAX_SLOTS = 12_000
"""Maximum number of slots of a union; steps that need more start a new union."""


@dataclass(frozen=True)
class Union:
    """The union of consecutive steps of a graph.

    Attributes
    ----------
    slots : list of list of int
        For each step, the slot of each node.
    drawing : Drawing
        All slots in evaluation order, with all edges; each slot is represented by its last node.
    members : list of list of (int, int)
        For each slot, its nodes as pairs of step and node.
    """

    slots: list[list[int]]
    drawing: Drawing
    members: list[list[tuple[int, int]]]


def unite(drawings: Sequence[Drawing]) -> list[Union]:
    """Return the unions of a graph's steps: a single one, unless the steps have very many nodes.

    Parameters
    ----------
    drawings : sequence of Drawing
        The drawings of the steps, in order.

    Returns
    -------
    list of Union
        Unions of consecutive steps, which together cover all of them.
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
"""Signatures for matching nodes, the most exact first."""


class _Table:
    """The slots of the steps so far."""

    def __init__(self) -> None:
        self.steps: list[tuple[Drawing, list[int]]] = []
        self.nodes: list[GraphNode] = []
        """The last node of each slot."""
        self._beside: list[bool] = []
        """Whether each slot is beside the trunk; values computed from weights never join the trunk."""
        self._edges: list[set[int]] = []
        """The slots that read each slot, in any step."""

    def add(self, drawing: Drawing) -> None:
        """Assign slots to the nodes of the next step."""
        beside = beside_trunk(drawing)
        matched = self._match(drawing.nodes, beside)
        count = len(self.nodes)
        slots = self._settled(drawing, matched)
        cyclic = on_cycles(self._with(drawing, slots))
        if cyclic:  # nodes that a pass reordered get new slots
            del self.nodes[count:]
            matched = {index: slot for index, slot in matched.items() if slot not in cyclic}
            slots = self._settled(drawing, matched)
        self._edges = self._with(drawing, slots)
        self._beside.extend(False for _ in range(len(self.nodes) - len(self._beside)))
        for node, slot, aside in zip(drawing.nodes, slots, beside, strict=True):
            self.nodes[slot], self._beside[slot] = node, aside
        self.steps.append((drawing, slots))

    def _settled(self, drawing: Drawing, matched: dict[int, int]) -> list[int]:
        """Return the slot of each node, creating slots for unmatched ones."""
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
        """Return the slots of the nodes that match earlier ones."""
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
        """Match nodes and slots with equal signatures, in order."""
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
        """Match replacements of removed nodes: of nodes with the same origin, a similar or else the last one."""
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
        """Return the union of the steps so far."""
        order = stable_order(self._edges)
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
    """Return whether one operator is a variant of another, such as ``nn.contrib_conv2d_NCHWc`` of ``nn.conv2d``."""
    short, long = sorted((label.rpartition(".")[2], other.rpartition(".")[2]), key=len)
    return short in long
