"""Drawings of graphs for the page, laid out on demand with stable node positions across steps."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from app.artifacts import Answer, Drawing, GraphEdge, GraphNode
from app.graphs.folding import Folding, fold
from app.graphs.layout import LAYER_HEIGHT, NODE_HEIGHT, SMALL_LETTER, Layout, Position, second_lines
from app.graphs.stable_layouts import StableLayouts, stable_layouts
from app.panes.graph_changes import NodeChange, UnitedGraph, unite_graphs
from app.panes.limits import MAX_STEPS
from app.panes.names import elided

Steps = tuple[str, ...]
"""The keys of the drawings of a graph, in order of the steps."""
MAX_POINTS = 100_000
"""Capacity of the layout cache of an answer, in nodes and edge points."""
MAX_UNITED = 4
"""Number of comparisons whose layouts are kept."""
BAND_LAYERS = 8
"""Number of layers that are drawn or hidden together."""
MAX_LABEL = 30
"""Maximum length of a label, which fits the widest box."""
MAX_DIFFERENCES = 8
"""Maximum number of differences in the tooltip of a node."""
MAX_TYPE = 200
"""Maximum length of a type written along an edge."""


class Drawings:
    """The drawings of an answer, by key, with their layouts.

    Parameters
    ----------
    capacity : int
        Capacity of the layout cache in nodes and edge points; the newest layout is always kept.
    """

    def __init__(self, answer: Answer, capacity: int = MAX_POINTS) -> None:
        self._drawings = answer.drawings
        self._capacity = capacity
        self._layouts: OrderedDict[tuple[Steps, Folding], list[StableLayouts]] = OrderedDict()
        self._points = 0
        self._united: OrderedDict[tuple[str, str, Folding], DrawnGraph] = OrderedDict()
        self._steps: dict[str, list[Steps]] = {}
        """For each drawing, the graphs that have it as a step."""
        for unit in answer.units:
            keys = (step.drawing for step in unit.steps[:MAX_STEPS])
            drawn = dict.fromkeys(key for key in keys if key in answer.drawings and answer.drawings[key].nodes)
            for _, group in groupby(drawn, lambda key: answer.drawings[key].name):  # a file is laid out by itself
                steps = tuple(group)
                for key in steps:
                    self._steps.setdefault(key, []).append(steps)

    def get(self, key: str, folding: Folding = "", last: str = "") -> DrawnGraph | None:
        """Return a drawing with its layout, in which nodes have the same column and order in all steps of the graph.

        Parameters
        ----------
        last : str
            Key of the last drawing of the graph, to choose among graphs that share the drawing.

        Returns
        -------
        DrawnGraph, optional
            None if there is no such drawing.
        """
        drawing = self._drawings.get(key)
        if drawing is None or not drawing.nodes:
            return None
        graphs = self._steps.get(key, [(key,)])
        steps = next((steps for steps in graphs if steps[-1] == last), graphs[0])
        step = steps.index(key)
        for layouts in self._stable(steps, folding):
            if step < len(layouts.drawings):
                return DrawnGraph(layouts.drawings[step], layouts.layout(step), layouts.slots(step))
            step -= len(layouts.drawings)
        raise AssertionError("every step is in a union")

    def compared(self, key: str, other: str, folding: Folding = "") -> DrawnGraph | None:
        """Return a drawing and another one, which is that before, as one.

        Returns
        -------
        DrawnGraph, optional
            None if one of them does not exist, or both together are too large.
        """
        known = self._united.get((key, other, folding))
        if known is not None:
            return known
        sides = [self._drawings.get(name) for name in (other, key)]
        before, after = [fold(side, folding) if side is not None and folding else side for side in sides]
        united = unite_graphs(before, after) if before is not None and after is not None else None
        if united is None or not united.changes:
            return None
        [layouts] = stable_layouts([united.drawing])
        drawn = DrawnGraph(united.drawing, layouts.layout(0), list(range(len(united.changes))), united)
        self._united[key, other, folding] = drawn
        while len(self._united) > MAX_UNITED:
            self._united.popitem(last=False)
        return drawn

    def _stable(self, steps: Steps, folding: Folding) -> list[StableLayouts]:
        """Return the layouts of a graph's steps, from the cache if possible."""
        layouts = self._layouts.get((steps, folding))
        if layouts is None:
            drawings = [self._drawings[key] for key in steps]
            shown = [fold(drawing, folding) for drawing in drawings] if folding else drawings
            layouts = self._layouts[steps, folding] = stable_layouts(shown)
            self._points += _points(layouts)
            while self._points > self._capacity and len(self._layouts) > 1:
                self._points -= _points(self._layouts.popitem(last=False)[1])
        return layouts


def _points(layouts: Sequence[StableLayouts]) -> int:
    return sum(item.points for item in layouts)


@dataclass(frozen=True)
class DrawnNode:
    """A node with its position."""

    node: GraphNode
    slot: int
    """Identifies the node across all steps."""
    position: Position
    second_line: str
    change: NodeChange | None = None
    """What became of it, where two graphs are drawn as one."""

    @property
    def subtitle(self) -> str:
        """The second line, truncated to the box."""
        most = int((self.position.width - 14) / SMALL_LETTER)
        return (elided if self.node.constants else _fitting)(self.second_line, most)

    @property
    def label(self) -> str:
        """The first line, truncated to the box."""
        return elided(self.node.label, MAX_LABEL)

    @property
    def tooltip(self) -> str:
        """Label, layers, type, attributes and constants of the node, one per line."""
        node = self.node
        layers = f"layer {', '.join(node.layers)}" if node.layers else ""
        told = (node.label, layers, node.type, node.detail, *node.constants, *self._changed)
        return "\n".join(text for text in told if text)

    @property
    def is_removed(self) -> bool:
        """Whether only the graph before has it, where two graphs are drawn as one."""
        return self.change is not None and self.change.kind == "removed"

    @property
    def _changed(self) -> list[str]:
        """What became of it, one difference per line."""
        if self.change is None or self.change.kind == "same":
            return []
        found = [f"{item.what}: {item.before or '–'} → {item.after or '–'}" for item in self.change.differences]
        return [f"{self.change.kind}:" if found else self.change.kind, *found[:MAX_DIFFERENCES]]


@dataclass(frozen=True)
class DrawnEdge:
    """An edge as a path, with the position of its type."""

    edge: GraphEdge
    path: str
    label: str
    """Its type, unless another edge from the same node shows it."""
    x: float
    y: float
    change: str = ""
    """Whether it is added or removed, where two graphs are drawn as one."""


@dataclass(frozen=True)
class DrawnGraph:
    """A drawing with its layout."""

    drawing: Drawing
    layout: Layout
    slots: list[int]
    """The slot of each node; equal slots in different steps are the same node."""
    united: UnitedGraph | None = None
    """Of two graphs that are drawn as one, what changed."""

    @property
    def nodes(self) -> list[DrawnNode]:
        """The nodes in order."""
        changes = self.united.changes if self.united is not None else [None] * len(self.slots)
        texts = second_lines(self.drawing)
        rows = zip(self.drawing.nodes, self.slots, self.layout.positions, texts, changes, strict=True)
        return [DrawnNode(*row) for row in rows]

    @property
    def edges(self) -> list[DrawnEdge]:
        """The edges in order."""
        labelled: set[tuple[int, str]] = set()
        drawn = []
        room = self._label_letters()
        changes = self.united.edges if self.united is not None else [""] * len(self.drawing.edges)
        for edge, route, change in zip(self.drawing.edges, self.layout.routes, changes, strict=True):
            fresh = (edge.source, edge.type) not in labelled and self.drawing.nodes[edge.source].kind != "input"
            labelled.add((edge.source, edge.type))
            x, y = route[0]
            label = _fitting(edge.type.partition(" float32")[0], room[edge.source]) if fresh else ""
            drawn.append(DrawnEdge(edge, edge_path(route), label, x + 5, y + NODE_HEIGHT / 2 + 12, change))
        return drawn

    def _label_letters(self) -> list[int]:
        """Return how many letters of an edge's type fit below each node, before the text of the next one."""
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
        """The drawing in bands of layers, so that those out of view need not be rendered."""
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
    """Consecutive layers of a drawn graph, with their nodes and outgoing edges."""

    top: float
    bottom: float
    """Lower end of its edges."""
    nodes: list[DrawnNode] = field(default_factory=list)
    edges: list[DrawnEdge] = field(default_factory=list)


def edge_path(route: Sequence[tuple[float, float]]) -> str:
    """Return an edge as SVG path data, smooth between layers."""
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
