"""Drawings of graphs as the page shows them, laid out on demand: nodes stand where earlier passes had them."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.artifacts import Answer, Drawing, GraphEdge, GraphNode
from app.graphs.folding import Folding, fold
from app.graphs.layout import LAYER_HEIGHT, NODE_HEIGHT, SMALL_LETTER, Layout, Position, lay_out, second_lines
from app.panes.limits import MAX_STEPS

MAX_POINTS = 100_000
"""Nodes, and points that edges go through, of all layouts of an answer that are kept."""
BAND_LAYERS = 8
"""Layers that are drawn or hidden together."""
MAX_LABEL = 30
"""Letters of a label that fit into the widest box."""


class Drawings:
    """The drawings of an answer, by key, with their layouts.

    Parameters
    ----------
    answer : Answer
    capacity : int
        Nodes and points of edges of all layouts that are kept; the newest layout always is.
    """

    def __init__(self, answer: Answer, capacity: int = MAX_POINTS) -> None:
        self._drawings = answer.drawings
        self._capacity = capacity
        self._layouts: OrderedDict[str, Layout] = OrderedDict()
        self._points = 0
        self._before: dict[str, str] = {}
        """Of each drawing the one that the pass before it made."""
        for unit in answer.units:
            keys = [step.drawing for step in unit.steps[:MAX_STEPS] if step.drawing in answer.drawings]
            for earlier, later in itertools.pairwise(keys):
                if earlier is not None and later is not None and earlier != later:
                    self._before.setdefault(later, earlier)

    def get(self, key: str, folding: Folding = "") -> DrawnGraph | None:
        """Return a drawing laid out, its nodes where earlier passes had them; None where the answer has no such."""
        drawing = self._drawings.get(key)
        if drawing is None or not drawing.nodes:
            return None
        if folding:
            folded = fold(drawing, folding)
            return DrawnGraph(folded, lay_out(folded))
        return DrawnGraph(drawing, self._layout(key))

    def _layout(self, key: str) -> Layout:
        """Return a drawing's layout, made after those of the passes before it."""
        chain = {key: self._drawings[key]}
        while key not in self._layouts:
            key = self._before.get(key, key)
            if key in chain or not self._drawings[key].nodes:
                break
            chain[key] = self._drawings[key]
        layout: Layout | None = None
        before: Drawing | None = None
        for current, drawing in reversed(chain.items()):
            kept = self._layouts.get(current)
            if kept is None:
                kept = lay_out(drawing, before, layout)
                self._keep(current, kept)
            layout, before = kept, drawing
        assert layout is not None
        return layout

    def _keep(self, key: str, layout: Layout) -> None:
        self._layouts[key] = layout
        self._points += layout.points
        while self._points > self._capacity and len(self._layouts) > 1:
            _, old = self._layouts.popitem(last=False)
            self._points -= old.points


@dataclass(frozen=True)
class DrawnNode:
    """A node with its position, as the template draws it."""

    node: GraphNode
    position: Position
    second_line: str

    @property
    def subtitle(self) -> str:
        """The second line, as much of it as fits."""
        return _fitting(self.second_line, int((self.position.width - 14) / SMALL_LETTER))

    @property
    def label(self) -> str:
        """The first line, as much of it as fits."""
        return _fitting(self.node.label, MAX_LABEL)

    @property
    def tooltip(self) -> str:
        """Label, type, attributes and constants of the node, a line each."""
        node = self.node
        return "\n".join(text for text in (node.label, node.type, node.detail, *node.constants) if text)


@dataclass(frozen=True)
class DrawnEdge:
    """An edge as a path, and where its type is written."""

    edge: GraphEdge
    path: str
    label: str
    """Its type, where no other edge from the same node has it already."""
    x: float
    y: float


@dataclass(frozen=True)
class DrawnGraph:
    """A drawing and its layout."""

    drawing: Drawing
    layout: Layout

    @property
    def nodes(self) -> list[DrawnNode]:
        """The nodes in their order."""
        rows = zip(self.drawing.nodes, self.layout.positions, second_lines(self.drawing), strict=True)
        return [DrawnNode(node, position, second_line) for node, position, second_line in rows]

    @property
    def edges(self) -> list[DrawnEdge]:
        """The edges in their order."""
        said: set[tuple[int, str]] = set()
        drawn = []
        for edge, route in zip(self.drawing.edges, self.layout.routes, strict=True):
            fresh = (edge.source, edge.type) not in said and self.drawing.nodes[edge.source].kind != "input"
            said.add((edge.source, edge.type))
            x, y = route[0]
            label = edge.type.partition(" float32")[0] if fresh else ""
            drawn.append(DrawnEdge(edge, edge_path(route), label, x + 5, y + NODE_HEIGHT / 2 + 12))
        return drawn

    @property
    def bands(self) -> list[Band]:
        """The drawing cut into stretches of layers: what is out of sight need not be drawn."""
        height = BAND_LAYERS * LAYER_HEIGHT
        count = int(self.layout.height // height) + 1
        bands = [Band(index * height, (index + 1) * height) for index in range(count)]
        for node in self.nodes:
            bands[int(node.position.y // height)].nodes.append(node)
        for edge, route in zip(self.edges, self.layout.routes, strict=True):
            band = bands[int(route[0][1] // height)]
            band.edges.append(edge)
            band.bottom = max(band.bottom, route[-1][1])
        return bands


@dataclass
class Band:
    """Some layers of a drawn graph: the nodes in them, and the edges that begin in them."""

    top: float
    bottom: float
    """As far as its edges reach."""
    nodes: list[DrawnNode] = field(default_factory=list)
    edges: list[DrawnEdge] = field(default_factory=list)


def edge_path(route: Sequence[tuple[float, float]]) -> str:
    """Return an edge as SVG path data: smooth between the layers that it crosses, from box to box."""
    half = NODE_HEIGHT / 2
    (x, y), *rest = route
    y += half
    parts = [f"M{x:g} {y:g}"]
    for index, (to_x, to_y) in enumerate(rest):
        if index == len(rest) - 1:
            to_y -= half
        bend = (y + to_y) / 2
        parts.append(f"C{x:g} {bend:g} {to_x:g} {bend:g} {to_x:g} {to_y:g}")
        x, y = to_x, to_y
    return "".join(parts)


def _fitting(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
