"""Where the nodes of a drawn graph stand: in layers from top to bottom, near to where they stood a pass ago.

Layered drawing after Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system structures"
(1981): layers by the longest path, dummies where an edge crosses a layer, order and places by sweeps of medians.  Runs
of nodes that feed one another are one line, as in Brandes and Köpf, "Fast and simple horizontal coordinate assignment"
(2001), so that the trunk of a network is straight and what goes around it stands beside it.  What the usual libraries
do not do is keep a node in its place while passes add and remove others around it; here a node that is known from an
earlier drawing keeps its layer where the edges allow it, and its line is drawn towards its old column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from app.artifacts import Drawing, GraphNode
from app.graphs.frames import Frame, Member, frames

LETTER, SMALL_LETTER = 7.2, 6.2
"""Pixels that a letter of a node's label and of its second line take."""
NODE_HEIGHT, LAYER_HEIGHT, GAP, DUMMY_WIDTH = 40.0, 92.0, 24.0, 10.0
"""Pixels: a node, a layer, the room between nodes, an edge that passes between nodes."""
WIDEST = 230.0
SWEEPS = 8
MAX_DUMMIES = 12_000
"""Places of edges between layers; beyond them, edges are drawn straight."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node stands: the middle of its box, its width, and its layer."""

    x: float
    y: float
    width: float
    layer: int


@dataclass(frozen=True)
class Layout:
    """Places of a drawing's nodes, the points that its edges go through, the frames of its groups."""

    places: list[Place]
    routes: list[list[tuple[float, float]]]
    frames: list[Frame]
    width: float
    height: float


@dataclass(slots=True, eq=False)
class _Item:
    """A node, or the dummy of an edge that crosses a layer."""

    layer: int
    width: float
    rank: int
    """How much it belongs to the trunk: an operator, an input, an edge that passes."""
    group: str = ""
    x: float = 0.0
    wish: float | None = None
    above: list[_Item] = field(default_factory=list)
    below: list[_Item] = field(default_factory=list)
    line: _Line | None = None


@dataclass(slots=True, eq=False)
class _Line:
    """Items below one another that stand in one column as far as there is room."""

    number: int
    items: list[_Item]
    wish: float | None = None
    """Where earlier drawings had it."""
    target: float = 0.0


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
        _Item(layer, node_width(node, words), int(node.kind == "input"), node.group, wish=_old_column(node, known))
        for node, layer, words in zip(drawing.nodes, layers, second_lines(drawing), strict=True)
    ]
    chains = _chains(drawing, items)
    every = [*items, *(dummy for chain in chains for dummy in chain[1:-1])]
    _place(_rows(every), _lines(every))
    return _finished(drawing, items, chains, every)


def second_lines(drawing: Drawing) -> list[str]:
    """Return what stands under the label of each node: of inputs and results the type, else weights or attributes.

    The types of the others are written along the edges.
    """
    read = {edge.source for edge in drawing.edges}
    return [
        node.type
        if node.kind == "input" or index not in read
        else next(iter(node.constants), node.detail).removesuffix(" float32")
        for index, node in enumerate(drawing.nodes)
    ]


def node_width(node: GraphNode, words: str = "") -> float:
    """Return the width of a node's box in pixels."""
    longest = max(len(node.label) * LETTER, len(words) * SMALL_LETTER)
    return max(72.0, min(WIDEST, longest + 22.0))


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


def _old_column(node: GraphNode, known: _Known) -> float | None:
    place = known.get(node.key) or known.get(_origin_key(node))
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
    room = MAX_DUMMIES
    for edge in drawing.edges:
        source, target = items[edge.source], items[edge.target]
        group = source.group if source.group == target.group else ""
        between = range(source.layer + 1, target.layer)
        dummies = [_Item(layer, DUMMY_WIDTH, 2, group) for layer in between] if len(between) <= room else []
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


def _lines(items: Sequence[_Item]) -> list[_Line]:
    """Divide the items into lines: each goes on with the one below it that it is the most to, and which is to it."""
    lines: list[_Line] = []
    for item in sorted(items, key=lambda item: item.layer):
        upper = min(item.above, key=_rank, default=None)
        if upper is not None and upper.line is not None and min(upper.below, key=_rank) is item:
            line = upper.line
        else:
            line = _Line(len(lines), [])
            lines.append(line)
        line.items.append(item)
        item.line = line
    for line in lines:
        wishes = [item.wish for item in line.items if item.wish is not None]
        line.wish = median(wishes) if wishes else None
    return lines


def _rank(item: _Item) -> int:
    return item.rank


def _place(rows: list[list[_Item]], lines: list[_Line]) -> None:
    """Order the lines by what they hang on, then move each towards the median of its neighbours."""
    for line in lines:
        line.target = line.wish if line.wish is not None else _middle([n for i in line.items for n in i.above], line)
        for item in line.items:
            item.x = line.target
    for _ in range(SWEEPS):
        groups = _group_targets(rows)
        for row in rows:
            # Lines and groups stand in the same order in every layer: they do not cross, and frames do not overlap.
            row.sort(key=lambda item: _order(item, groups))
            _separate(row)
        for line in lines:
            around = [n for item in line.items for n in (*item.above, *item.below)]
            line.target = line.wish if line.wish is not None else _middle(around, line)
    for line in lines:
        line.target = median([item.x for item in line.items])
    for row in rows:
        _separate(row)
    _close_gaps([item for row in rows for item in row])


def _close_gaps(items: list[_Item]) -> None:
    """Move together what stands apart with nothing in between, in no layer: the trace of what went away."""
    moved, reached = 0.0, float("inf")
    for item in sorted(items, key=lambda item: item.x - item.width / 2):
        left, right = item.x - item.width / 2, item.x + item.width / 2
        moved += max(0.0, left - reached - 2 * GAP)
        reached = right if reached == float("inf") else max(reached, right)
        item.x -= moved


def _line_of(item: _Item) -> _Line:
    assert item.line is not None
    return item.line


def _middle(neighbours: Sequence[_Item], line: _Line) -> float:
    """Return the median of the neighbours in other lines; without any, where the line is."""
    others = [n.x for n in neighbours if n.line is not line]
    return median(others) if others else median([item.x for item in line.items])


def _group_targets(rows: list[list[_Item]]) -> dict[str, float]:
    members: dict[str, list[float]] = {}
    for row in rows:
        for item in row:
            if item.group:
                members.setdefault(item.group, []).append(_line_of(item).target)
    return {group: median(targets) for group, targets in members.items()}


def _order(item: _Item, groups: Mapping[str, float]) -> tuple[float, str, float, int]:
    line = _line_of(item)
    return groups.get(item.group, line.target), item.group, line.target, line.number


def _separate(row: list[_Item]) -> None:
    """Place a layer's items in their order, without overlaps, as near to the targets of their lines as can be.

    Least squares under an order constraint, by pooling adjacent violators; long lines hardly give way to short ones.
    """
    offsets = []
    offset = 0.0
    for index, item in enumerate(row):
        offset += item.width / 2 if index else 0.0
        offsets.append(offset)
        offset += item.width / 2 + GAP
    blocks: list[tuple[float, float, int]] = []  # where its first item wishes to be, weight, items
    for item, offset in zip(row, offsets, strict=True):
        line = _line_of(item)
        mean, weight, size = line.target - offset, float(len(line.items) ** 2), 1
        while blocks and blocks[-1][0] > mean:
            other, heavy, count = blocks.pop()
            mean = (mean * weight + other * heavy) / (weight + heavy)
            weight, size = weight + heavy, size + count
        blocks.append((mean, weight, size))
    starts = [mean for mean, _, size in blocks for _ in range(size)]
    for item, start, offset in zip(row, starts, offsets, strict=True):
        item.x = start + offset


# the result


def _members(drawing: Drawing, items: list[_Item], every: list[_Item], left: float) -> list[Member]:
    """Return where everything stands; a node's type stands right below it, where it is written along an edge."""
    types = {id(items[edge.source]): edge.type for edge in reversed(drawing.edges)}
    members = []
    for item in every:
        x = item.x - left
        written = len(types.get(id(item), "").partition(" float32")[0]) * SMALL_LETTER
        members.append(Member(item.group, item.layer, x - item.width / 2, x + max(item.width / 2, written)))
    return members


def _finished(drawing: Drawing, items: list[_Item], chains: list[list[_Item]], every: list[_Item]) -> Layout:
    left = min(item.x - item.width / 2 for item in every) - GAP
    right = max(item.x + item.width / 2 for item in every) + GAP

    def y(item: _Item) -> float:
        return item.layer * LAYER_HEIGHT + LAYER_HEIGHT / 2

    places = [Place(round(i.x - left, 1), y(i), i.width, i.layer) for i in items]
    routes = [[(round(item.x - left, 1), y(item)) for item in chain] for chain in chains]
    members = _members(drawing, items, every, left)
    height = (max(item.layer for item in items) + 1) * LAYER_HEIGHT
    drawn = frames(members, NODE_HEIGHT, LAYER_HEIGHT, GAP / 3)
    return Layout(places, routes, drawn, round(right - left, 1), height)
