"""Details of a node for the side panel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.artifacts import HEIGHTS, Answer, GraphNode, OriginId, Unit, Weight
from app.graphs.drawings import DrawnGraph, DrawnNode
from app.panes.graph_changes import NodeChange, type_bytes, type_parts
from app.panes.kernels import KernelRow, became
from app.panes.limits import MAX_STEPS

MAX_NEIGHBOURS, MAX_WEIGHTS, MAX_ATTRIBUTES, MAX_ORIGINS = 12, 8, 40, 200
"""Of a node that are told."""
BAR, PLOT = 7, 46
"""Width of the bars of a histogram, and height of the tallest, in pixels."""


@dataclass(frozen=True)
class Neighbour:
    """A predecessor or successor of a node, with the type of the value between them."""

    slot: int
    label: str
    type: str


@dataclass(frozen=True)
class Bar:
    """A bar of a histogram, in pixels."""

    x: int
    height: float


@dataclass(frozen=True)
class WeightRow:
    """A weight as shown in the panel."""

    weight: Weight

    @property
    def bars(self) -> list[Bar]:
        """The bars of its histogram."""
        top = len(HEIGHTS) - 1
        heights = [HEIGHTS.index(digit) for digit in self.weight.histogram]
        return [Bar(BAR * index, round(PLOT * height / top, 1)) for index, height in enumerate(heights)]

    @property
    def width(self) -> int:
        """Width of the histogram in pixels."""
        return BAR * len(self.weight.histogram)

    @property
    def words(self) -> str:
        """The text for screen readers."""
        weight = self.weight
        return f"Histogram of {weight.name} from {weight.minimum:.3g} to {weight.maximum:.3g}"


@dataclass(frozen=True)
class NodeDetails:
    """A node with its neighbours, origin and cost."""

    drawn: DrawnNode
    inputs: list[Neighbour]
    readers: list[Neighbour]
    lines: list[int]
    """Lines of the script."""
    kernels: list[KernelRow]
    """The kernels that contain the node."""
    fused_with: list[str]
    """Labels of the other nodes of its group."""

    @property
    def node(self) -> GraphNode:
        """The node."""
        return self.drawn.node

    @property
    def change(self) -> NodeChange | None:
        """What became of it, where two graphs are drawn as one and that is something."""
        change = self.drawn.change
        return change if change is not None and (change.kind != "same" or change.revalued) else None

    @property
    def attributes(self) -> list[tuple[str, str]]:
        """Names and values of the attributes."""
        return list(self.node.attributes.items())[:MAX_ATTRIBUTES]

    @property
    def weights(self) -> list[WeightRow]:
        """The weights with their histograms."""
        return [WeightRow(weight) for weight in self.node.weights[:MAX_WEIGHTS]]

    @property
    def shape(self) -> str:
        """Shape of its value, e.g. ``1 × 64 × 56 × 56``; empty if it is not a tensor of static shape."""
        return " × ".join(type_parts(self.node.type)[0])

    @property
    def dtype(self) -> str:
        """Data type of its value; empty if it is not a tensor."""
        return type_parts(self.node.type)[1]

    @property
    def bytes(self) -> float | None:
        """Size of its value in bytes."""
        return type_bytes(self.node.type)

    @property
    def moved(self) -> float | None:
        """Bytes read from other nodes and written, without fusion; None if a type is unknown."""
        sizes = [type_bytes(neighbour.type) for neighbour in self.inputs]
        return None if self.bytes is None or None in sizes else self.bytes + sum(size or 0 for size in sizes)


def node_details(answer: Answer, graph: DrawnGraph, key: str, slot: int, other: str = "") -> NodeDetails | None:
    """Return the details of a node.

    Parameters
    ----------
    answer : Answer
        The answer with the drawing.
    key : str
        Key of the drawing.
    slot : int
        Slot of the node.
    other : str
        Key of the drawing that it is drawn as one with; nodes that are removed are of that one.

    Returns
    -------
    NodeDetails, optional
        None if the drawing has no node in that slot.
    """
    nodes = graph.nodes
    at = next((index for index, item in enumerate(nodes) if item.slot == slot), None)
    if at is None:
        return None
    edges = graph.drawing.edges
    node = nodes[at].node
    group = [item.node for item in nodes if item.node.group == node.group] if node.group else [node]
    return NodeDetails(
        nodes[at],
        [_neighbour(nodes[edge.source], edge.type) for edge in edges if edge.target == at][:MAX_NEIGHBOURS],
        [_neighbour(nodes[edge.target], edge.type) for edge in edges if edge.source == at][:MAX_NEIGHBOURS],
        source_lines(answer, node.origins[:MAX_ORIGINS]),
        became(_unit_of(answer, other if nodes[at].is_removed else key), group, graph.drawing.name == "file"),
        [other.label for other in group if other is not node],
    )


def _neighbour(drawn: DrawnNode, kind: str) -> Neighbour:
    return Neighbour(drawn.slot, drawn.node.label, kind)


def _unit_of(answer: Answer, key: str) -> Unit | None:
    """Return the last graph that has a drawing among its steps."""
    return next((u for u in reversed(answer.units) if any(s.drawing == key for s in u.steps[:MAX_STEPS])), None)


def source_lines(answer: Answer, origins: Sequence[OriginId]) -> list[int]:
    """Return the lines of the script for some origins, in order."""
    rows = {origin.id: origin for origin in answer.origins}
    lines, seen, todo = set[int](), set[OriginId](), list(origins)
    while todo:
        row = rows.get(todo.pop())
        if row is None or row.id in seen:
            continue
        seen.add(row.id)
        if row.level == "source" and row.line:
            lines.add(row.line)
        todo += row.parents
    return sorted(lines)
