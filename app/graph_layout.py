"""Where the nodes of a drawn graph stand: in layers from top to bottom, near to where they stood a pass ago.

Layered drawing after Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system structures"
(1981): layers by the longest path, dummies where an edge crosses a layer, order and places by sweeps of medians.  What
the usual libraries do not do is keep a node in its place while passes add and remove others around it; here a node that
is known from an earlier drawing keeps its layer where the edges allow it, and is drawn towards its old column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from app.artifacts import Drawing, GraphNode

LETTER, NODE_HEIGHT, LAYER_HEIGHT, GAP, DUMMY_WIDTH = 7.0, 40.0, 84.0, 22.0, 10.0
"""Pixels: a letter of a label, a node, a layer, the room between nodes, an edge that passes between nodes."""
SWEEPS = 6
DUMMIES_MOST = 12_000
"""Places of edges between layers; beyond them, edges are drawn straight."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node stands: the middle of its box, its width, and its layer."""

    x: float
    y: float
    width: float
    layer: int


@dataclass(frozen=True, slots=True)
class Box:
    """The frame around the nodes of a group."""

    name: str
    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class Layout:
    """Places of a drawing's nodes, the points that its edges go through, the frames of its groups."""

    places: list[Place]
    routes: list[list[tuple[float, float]]]
    boxes: list[Box]
    width: float
    height: float


@dataclass(slots=True, eq=False)
class _Item:
    """A node, or the dummy of an edge that crosses a layer."""

    layer: int
    width: float
    x: float = 0.0
    wish: float | None = None
    above: list[_Item] = field(default_factory=list)
    below: list[_Item] = field(default_factory=list)


def lay_out(drawing: Drawing, earlier: Drawing | None = None, before: Layout | None = None) -> Layout:
    """Return a layout of ``drawing``.

    Parameters
    ----------
    drawing : Drawing
        Every edge goes from a node to a later one.
    earlier, before : Drawing and Layout, optional
        The drawing of an earlier pass, and where its nodes stand.
    """
    known = _known_places(earlier, before)
    layers = _layers(drawing, known)
    items = [
        _Item(layer, node_width(node), wish=_old_column(node, known))
        for node, layer in zip(drawing.nodes, layers, strict=True)
    ]
    chains = _chains(drawing, items)
    rows = _rows([*items, *(dummy for chain in chains for dummy in chain[1:-1])])
    _place(rows)
    return _finished(drawing, items, chains)


def node_width(node: GraphNode) -> float:
    """Return the width of a node's box in pixels."""
    longest = max(len(node.label), round(len(node.type) * 0.86))
    return max(64.0, min(220.0, longest * LETTER + 20.0))


# layers

_Known = Mapping[str, Place]


def _known_places(earlier: Drawing | None, before: Layout | None) -> _Known:
    """Return the places of an earlier drawing by key and, for what a pass replaced, by origin."""
    if earlier is None or before is None:
        return {}
    known: dict[str, Place] = {}
    for node, place in zip(earlier.nodes, before.places, strict=True):
        known[node.key] = place
        known.setdefault(_origin_key(node), place)
    return known


def _origin_key(node: GraphNode) -> str:
    return f"origin {node.origins[-1]}" if node.origins else ""


def _old_place(node: GraphNode, known: _Known) -> Place | None:
    return known.get(node.key) or known.get(_origin_key(node))


def _old_column(node: GraphNode, known: _Known) -> float | None:
    place = _old_place(node, known)
    return place.x if place else None


def _layers(drawing: Drawing, known: _Known) -> list[int]:
    """Return a layer for each node, below all that it reads; inputs stand just above their first reader."""
    sources: list[list[int]] = [[] for _ in drawing.nodes]
    readers: list[list[int]] = [[] for _ in drawing.nodes]
    for edge in drawing.edges:
        sources[edge.target].append(edge.source)
        readers[edge.source].append(edge.target)
    layers = [0] * len(drawing.nodes)
    for index, node in enumerate(drawing.nodes):
        layers[index] = max((layers[source] + 1 for source in sources[index]), default=0)
        place = known.get(node.key)
        if place is not None:
            layers[index] = max(layers[index], place.layer)
    for index, node in enumerate(drawing.nodes):
        if node.kind == "input" and readers[index]:
            layers[index] = max(0, min(layers[reader] for reader in readers[index]) - 1)
    return _without_gaps(layers)


def _without_gaps(layers: list[int]) -> list[int]:
    """Return the layers with wide empty stretches closed; a single empty one is the trace of what went away."""
    used = sorted(set(layers))
    moved: dict[int, int] = {}
    last_old, last_new = -1, -1
    for layer in used:
        last_new += min(layer - last_old, 2)
        moved[layer] = last_new
        last_old = layer
    return [moved[layer] for layer in layers]


# columns


def _chains(drawing: Drawing, items: list[_Item]) -> list[list[_Item]]:
    """Return for each edge the items that it goes through, its ends included, and link them."""
    chains = []
    room = DUMMIES_MOST
    for edge in drawing.edges:
        source, target = items[edge.source], items[edge.target]
        between = range(source.layer + 1, target.layer)
        dummies = [_Item(layer, DUMMY_WIDTH) for layer in between] if len(between) <= room else []
        room -= len(dummies)
        chain = [source, *dummies, target]
        for upper, lower in pairwise(chain):
            upper.below.append(lower)
            lower.above.append(upper)
        chains.append(chain)
    return chains


def _rows(items: Iterable[_Item]) -> list[list[_Item]]:
    rows: dict[int, list[_Item]] = {}
    for item in items:
        rows.setdefault(item.layer, []).append(item)
    return [rows[layer] for layer in sorted(rows)]


def _place(rows: list[list[_Item]]) -> None:
    """Order each layer by what it hangs on, then move everything towards the median of its neighbours."""
    for row in rows:
        for item in row:
            item.x = item.wish if item.wish is not None else _middle(item.above)
        row.sort(key=lambda item: item.x)
        _separate(row, [item.x for item in row])
    for sweep in range(SWEEPS):
        downwards = sweep % 2 == 0
        for row in rows if downwards else reversed(rows):
            wishes = [_wish(item, item.above if downwards else item.below) for item in row]
            order = sorted(range(len(row)), key=wishes.__getitem__)
            row[:] = [row[i] for i in order]
            _separate(row, [wishes[i] for i in order])


def _wish(item: _Item, neighbours: Sequence[_Item]) -> float:
    if item.wish is not None:
        return item.wish
    return _middle(neighbours) if neighbours else item.x


def _middle(neighbours: Sequence[_Item]) -> float:
    return median([n.x for n in neighbours]) if neighbours else 0.0


def _separate(row: list[_Item], wishes: list[float]) -> None:
    """Place a layer's items in their order, without overlaps, as near to their wishes as can be.

    Least squares under an order constraint, by pooling adjacent violators.
    """
    offsets = []
    offset = 0.0
    for index, item in enumerate(row):
        offset += item.width / 2 if index else 0.0
        offsets.append(offset)
        offset += item.width / 2 + GAP
    blocks: list[tuple[float, int]] = []  # mean wish of the block's first item, and size
    for wish, offset in zip(wishes, offsets, strict=True):
        mean, size = wish - offset, 1
        while blocks and blocks[-1][0] > mean:
            other, count = blocks.pop()
            mean, size = (mean * size + other * count) / (size + count), size + count
        blocks.append((mean, size))
    starts = [mean for mean, size in blocks for _ in range(size)]
    for item, start, offset in zip(row, starts, offsets, strict=True):
        item.x = start + offset


# the result


def _finished(drawing: Drawing, items: list[_Item], chains: list[list[_Item]]) -> Layout:
    everything = {id(item): item for chain in chains for item in chain} | {id(item): item for item in items}
    left = min(item.x - item.width / 2 for item in everything.values()) - GAP
    width = max(item.x + item.width / 2 for item in everything.values()) - left + GAP

    def y(item: _Item) -> float:
        return item.layer * LAYER_HEIGHT + LAYER_HEIGHT / 2

    places = [Place(round(i.x - left, 1), y(i), i.width, i.layer) for i in items]
    routes = [[(round(item.x - left, 1), y(item)) for item in chain] for chain in chains]
    height = (max(item.layer for item in items) + 1) * LAYER_HEIGHT
    return Layout(places, routes, _boxes(drawing.nodes, places), round(width, 1), height)


def _boxes(nodes: Sequence[GraphNode], places: Sequence[Place]) -> list[Box]:
    members: dict[str, list[Place]] = {}
    for node, place in zip(nodes, places, strict=True):
        if node.group:
            members.setdefault(node.group, []).append(place)
    return [_box(name, inside) for name, inside in members.items()]


def _box(name: str, inside: list[Place]) -> Box:
    left = min(p.x - p.width / 2 for p in inside) - GAP / 3
    right = max(p.x + p.width / 2 for p in inside) + GAP / 3
    top = min(p.y for p in inside) - NODE_HEIGHT / 2 - 16
    bottom = max(p.y for p in inside) + NODE_HEIGHT / 2 + 6
    return Box(name, round(left, 1), top, round(right - left, 1), bottom - top)
