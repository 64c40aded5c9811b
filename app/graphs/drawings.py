"""Drawings of graphs as the page shows them: remembered by content hash, laid out on demand."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.artifacts import Answer, Drawing, GraphEdge, GraphNode
from app.graphs.folding import Folding, fold
from app.graphs.layout import LAYER_HEIGHT, NODE_HEIGHT, SMALL_LETTER, Layout, Position, lay_out, second_lines
from app.panes.limits import MAX_STEPS

MAX_KEPT_NODES = 60_000
"""Nodes of all drawings that a process remembers; the oldest are dropped first."""
MAX_NODES, MAX_EDGES = 4_000, 20_000
"""Of a drawing; larger ones are dropped."""
BAND_LAYERS = 8
"""Layers that are drawn or hidden together."""
MAX_LABEL = 30
"""Letters of a label that fit into the widest box."""


class Drawings:
    """The drawings that answers brought, by key, with their layouts.

    Parameters
    ----------
    capacity : int
        Nodes kept over all drawings; the newest drawing is always kept.
    """

    def __init__(self, capacity: int = MAX_KEPT_NODES) -> None:
        self._capacity = capacity
        self._drawings: OrderedDict[str, Drawing] = OrderedDict()
        self._layouts: dict[str, Layout] = {}
        self._order: dict[str, str] = {}
        self._nodes = 0
        self._lock = threading.Lock()

    def add(self, answer: Answer) -> None:
        """Remember the drawings of an answer, and in which order its passes made them."""
        with self._lock:
            for unit in answer.units:
                keys = [step.drawing for step in unit.steps[:MAX_STEPS] if step.drawing in answer.drawings]
                for earlier, later in itertools.pairwise(keys):
                    if earlier != later and earlier is not None and later is not None:
                        self._order.setdefault(later, earlier)
            for key, drawing in answer.drawings.items():
                if not 0 < len(drawing.nodes) <= MAX_NODES or len(drawing.edges) > MAX_EDGES:
                    continue
                if key not in self._drawings:
                    self._drawings[key] = drawing
                    self._nodes += len(drawing.nodes)
                self._drawings.move_to_end(key)
            while self._nodes > self._capacity and len(self._drawings) > 1:
                key, old = self._drawings.popitem(last=False)
                self._nodes -= len(old.nodes)
                self._layouts.pop(key, None)
                self._order.pop(key, None)

    def get(self, key: str, folding: Folding = "") -> DrawnGraph | None:
        """Return a drawing laid out, its nodes where earlier passes had them; None when it is no longer remembered."""
        with self._lock:
            drawing = self._drawings.get(key)
            if drawing is None:
                return None
            if folding:
                folded = fold(drawing, folding)
                return DrawnGraph(folded, lay_out(folded))
            return DrawnGraph(drawing, self._layout(key))

    def _layout(self, key: str) -> Layout:
        """Return a drawing's layout, made after those of the passes before it."""
        chain = [key]
        while chain[-1] not in self._layouts:
            earlier = self._order.get(chain[-1])
            if earlier is None or earlier not in self._drawings or earlier in chain:
                break
            chain.append(earlier)
        for index in range(len(chain) - 1, -1, -1):
            current = chain[index]
            if current not in self._layouts:
                before = chain[index + 1] if index + 1 < len(chain) else None
                self._layouts[current] = lay_out(
                    self._drawings[current],
                    self._drawings[before] if before else None,
                    self._layouts[before] if before else None,
                )
        return self._layouts[key]


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
