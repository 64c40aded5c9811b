"""Drawings of graphs for the page, laid out on demand with stable node positions across steps."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from app.artifacts import Answer, Drawing, GraphEdge, GraphNode
from app.graphs.folding import Folding, fold
from app.graphs.layout import LAYER_HEIGHT, NODE_HEIGHT, SMALL_LETTER, Layout, Position, second_lines
from app.graphs.still import StillLayouts, still_layouts
from app.panes.limits import MAX_STEPS
from app.panes.names import elided

Steps = tuple[str, ...]
"""The keys of the drawings of a graph, from step to step."""
MAX_POINTS = 100_000
"""Nodes, and points that edges go through, of all layouts of an answer that are kept."""
BAND_LAYERS = 8
"""Layers that are drawn or hidden together."""
MAX_LABEL = 30
"""Letters of a label that fit into the widest box."""
MAX_TYPE = 200
"""Letters of a type that is written along an edge."""


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
        self._layouts: OrderedDict[tuple[Steps, Folding], list[StillLayouts]] = OrderedDict()
        self._points = 0
        self._steps: dict[str, list[Steps]] = {}
        """Of each drawing the graphs that have it as a step."""
        for unit in answer.units:
            keys = (step.drawing for step in unit.steps[:MAX_STEPS])
            steps = tuple(dict.fromkeys(key for key in keys if key in answer.drawings and answer.drawings[key].nodes))
            for key in steps:
                self._steps.setdefault(key, []).append(steps)

    def get(self, key: str, folding: Folding = "", last: str = "") -> DrawnGraph | None:
        """Return a drawing laid out, its nodes where all steps of its graph have them.

        Parameters
        ----------
        key : str
        folding : str
        last : str
            Key of the last drawing of the graph, where several graphs have this drawing.

        Returns
        -------
        DrawnGraph, optional
            None if the answer has no such drawing.
        """
        drawing = self._drawings.get(key)
        if drawing is None or not drawing.nodes:
            return None
        graphs = self._steps.get(key, [(key,)])
        steps = next((steps for steps in graphs if steps[-1] == last), graphs[0])
        step = steps.index(key)
        for layouts in self._still(steps, folding):
            if step < len(layouts.drawings):
                return DrawnGraph(layouts.drawings[step], layouts.layout(step), layouts.slots(step))
            step -= len(layouts.drawings)
        raise AssertionError("every step is in a union")

    def _still(self, steps: Steps, folding: Folding) -> list[StillLayouts]:
        """Return the layouts of a graph's steps, made now or before."""
        layouts = self._layouts.get((steps, folding))
        if layouts is None:
            drawings = [self._drawings[key] for key in steps]
            shown = [fold(drawing, folding) for drawing in drawings] if folding else drawings
            layouts = self._layouts[steps, folding] = still_layouts(shown)
            self._points += _points(layouts)
            while self._points > self._capacity and len(self._layouts) > 1:
                self._points -= _points(self._layouts.popitem(last=False)[1])
        return layouts


def _points(layouts: Sequence[StillLayouts]) -> int:
    return sum(item.points for item in layouts)


@dataclass(frozen=True)
class DrawnNode:
    """A node with its position, as the template draws it."""

    node: GraphNode
    slot: int
    """Identifies it among the nodes of all steps."""
    position: Position
    second_line: str

    @property
    def subtitle(self) -> str:
        """The second line, as much of it as fits."""
        most = int((self.position.width - 14) / SMALL_LETTER)
        return (elided if self.node.constants else _fitting)(self.second_line, most)

    @property
    def label(self) -> str:
        """The first line, as much of it as fits."""
        return elided(self.node.label, MAX_LABEL)

    @property
    def tooltip(self) -> str:
        """Label, layers, type, attributes and constants of the node, a line each."""
        node = self.node
        layers = f"layer {', '.join(node.layers)}" if node.layers else ""
        return "\n".join(text for text in (node.label, layers, node.type, node.detail, *node.constants) if text)


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
    slots: list[int]
    """Of each node; the same slot of another step is the same node."""

    @property
    def nodes(self) -> list[DrawnNode]:
        """The nodes in their order."""
        rows = zip(self.drawing.nodes, self.slots, self.layout.positions, second_lines(self.drawing), strict=True)
        return [DrawnNode(*row) for row in rows]

    @property
    def edges(self) -> list[DrawnEdge]:
        """The edges in their order."""
        said: set[tuple[int, str]] = set()
        drawn = []
        room = self._label_letters()
        for edge, route in zip(self.drawing.edges, self.layout.routes, strict=True):
            fresh = (edge.source, edge.type) not in said and self.drawing.nodes[edge.source].kind != "input"
            said.add((edge.source, edge.type))
            x, y = route[0]
            label = _fitting(edge.type.partition(" float32")[0], room[edge.source]) if fresh else ""
            drawn.append(DrawnEdge(edge, edge_path(route), label, x + 5, y + NODE_HEIGHT / 2 + 12))
        return drawn

    def _label_letters(self) -> list[int]:
        """Return how many letters of an edge's type fit below each node, up to what is written below the next one."""
        writers = {edge.source for edge in self.drawing.edges if self.drawing.nodes[edge.source].kind != "input"}
        places = self.layout.positions
        letters = [MAX_TYPE] * len(places)
        rows = sorted(writers, key=lambda index: (places[index].layer, places[index].x))
        for left, right in pairwise(rows):
            if places[left].layer == places[right].layer:
                letters[left] = min(MAX_TYPE, int((places[right].x - places[left].x - 6) / SMALL_LETTER))
        return letters

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
