"""Layered graph layout.

Layered drawing after Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system structures"
(1981): layers by the longest path, dummies where an edge crosses a layer, order and coordinates by sweeps of medians.
Runs of nodes that feed one another are aligned in one block, as in Brandes and Köpf, "Fast and simple horizontal
coordinate assignment" (2001), so that the trunk of a network is straight and its side branches lie beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median

from app.artifacts import Drawing, GraphNode
from app.graphs.frames import Frame, Member, frames

LETTER, SMALL_LETTER = 7.2, 6.2
"""Pixels that a letter of a node's label and of its second line take."""
NODE_HEIGHT, LAYER_HEIGHT, GAP, DUMMY_WIDTH = 40.0, 92.0, 24.0, 10.0
"""Pixels: height of a node and of a layer, gap between nodes, width kept for an edge that crosses a layer."""
MAX_WIDTH = 230.0
"""Of a node, in pixels."""
SWEEPS = 8
"""Rounds of ordering and moving."""
MAX_SCOPES = 8
"""Bodies inside of one another that get boxes."""
SCOPE_MARGIN = 7.0
"""Pixels between a box and one inside of it."""
MAX_DUMMIES = 12_000
"""Dummy nodes of a drawing; edges beyond them are drawn straight."""


@dataclass(frozen=True, slots=True)
class Position:
    """The centre of a node's box, its width, and its layer."""

    x: float
    y: float
    width: float
    layer: int


Route = Sequence[tuple[float, float]]
"""The points that an edge goes through, its ends included."""


@dataclass(frozen=True)
class Layout:
    """Positions of a drawing's nodes, the points that its edges go through, the frames of its groups."""

    positions: list[Position]
    routes: Sequence[Route]
    frames: list[Frame]
    width: float
    height: float
    scopes: list[Frame] = field(default_factory=list)
    """Boxes around the bodies of branches, clauses and functions, outer ones first."""

    @property
    def points(self) -> int:
        """How many nodes it has, and points that edges go through."""
        return len(self.positions) + sum(map(len, self.routes))


@dataclass(slots=True, eq=False)
class _Item:
    """A node, or the dummy node of an edge that crosses a layer."""

    layer: int
    width: float
    priority: int
    """Which neighbours are aligned first: 0 the trunk, 1 dummies of its edges, 2 what is beside it, 3 its dummies."""
    group: str = ""
    x: float = 0.0
    above: list[_Item] = field(default_factory=list)
    below: list[_Item] = field(default_factory=list)
    block: _Block | None = None


@dataclass(slots=True, eq=False)
class _Block:
    """Vertically aligned items, which share one x as far as there is room."""

    number: int
    items: list[_Item]
    target: float = 0.0
    """The x that it is moved towards."""


def lay_out(drawing: Drawing, widths: Sequence[float] | None = None) -> Layout:
    """Return a layout of ``drawing``.

    Parameters
    ----------
    drawing : Drawing
        Every edge goes from a node to a later one.
    widths : sequence of float, optional
        Of the nodes' boxes, in pixels; by default as wide as their texts.
    """
    if widths is None:
        widths = [node_width(node, line) for node, line in zip(drawing.nodes, second_lines(drawing), strict=True)]
    aside = beside_trunk(drawing)
    items = [
        _Item(layer, width, 2 * int(beside), _together(node))
        for node, layer, width, beside in zip(drawing.nodes, _layers(drawing, aside), widths, aside, strict=True)
    ]
    chains = _chains(drawing, items)
    all_items = [*items, *(dummy for chain in chains for dummy in chain[1:-1])]
    _assign_columns(_rows(all_items), _blocks(all_items))
    return _layout(drawing, items, chains, all_items)


def _together(node: GraphNode) -> str:
    """Return a name that nodes share which stand together: of the body and the fused function that they are in."""
    return "\n".join([*node.scope[:MAX_SCOPES], node.group]) if node.scope else node.group


def second_lines(drawing: Drawing) -> list[str]:
    """Return the second line of each node's box: of inputs and results the type, else weights or attributes.

    The types of the others are written along the edges.
    """
    read = {edge.source for edge in drawing.edges}
    return [
        node.type
        if node.kind == "input" or index not in read
        else next(iter(node.constants), node.detail).removesuffix(" float32")
        for index, node in enumerate(drawing.nodes)
    ]


def node_width(node: GraphNode, subtitle: str = "") -> float:
    """Return the width of a node's box in pixels."""
    longest = max(len(node.label) * LETTER, len(subtitle) * SMALL_LETTER)
    return max(72.0, min(MAX_WIDTH, longest + 22.0))


# layers


def beside_trunk(drawing: Drawing) -> list[bool]:
    """Return of each node whether it lies beside the trunk: inputs, and what is made of constants alone."""
    aside = [True] * len(drawing.nodes)
    for edge in sorted(drawing.edges, key=lambda edge: edge.target):
        if drawing.nodes[edge.source].kind == "input" or not aside[edge.source]:
            aside[edge.target] = False
    return aside


def _layers(drawing: Drawing, aside: Sequence[bool]) -> list[int]:
    """Return a layer for each node, below all that it reads; what is beside the trunk lies just above its readers."""
    sources: list[list[int]] = [[] for _ in drawing.nodes]
    readers: list[list[int]] = [[] for _ in drawing.nodes]
    for edge in drawing.edges:
        sources[edge.target].append(edge.source)
        readers[edge.source].append(edge.target)
    layers = [0] * len(drawing.nodes)
    for index in range(len(drawing.nodes)):
        layers[index] = max((layers[source] + 1 for source in sources[index]), default=0)
    for index in reversed(range(len(drawing.nodes))):
        if aside[index] and readers[index]:
            layers[index] = min(layers[reader] for reader in readers[index]) - 1
    return _without_gaps(layers)


def _without_gaps(layers: list[int]) -> list[int]:
    """Return the layers without those that no node is in."""
    number = {layer: index for index, layer in enumerate(sorted(set(layers)))}
    return [number[layer] for layer in layers]


# columns


def _chains(drawing: Drawing, items: list[_Item]) -> list[list[_Item]]:
    """Return for each edge the items that it goes through, its ends included, and link them."""
    chains = []
    room = MAX_DUMMIES
    for edge in drawing.edges:
        source, target = items[edge.source], items[edge.target]
        group = source.group if source.group == target.group else ""
        between = range(source.layer + 1, target.layer)
        dummies = (
            [_Item(layer, DUMMY_WIDTH, source.priority + 1, group) for layer in between] if len(between) <= room else []
        )
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


def _blocks(items: Sequence[_Item]) -> list[_Block]:
    """Divide the items into blocks: an item joins the one above it where each has the other as its first neighbour."""
    blocks: list[_Block] = []
    first_below = {id(item): min(item.below, key=_priority, default=None) for item in items}
    for item in sorted(items, key=lambda item: item.layer):
        upper = min(item.above, key=_priority, default=None)
        if upper is not None and upper.block is not None and first_below[id(upper)] is item:
            block = upper.block
        else:
            block = _Block(len(blocks), [])
            blocks.append(block)
        block.items.append(item)
        item.block = block
    return blocks


def _priority(item: _Item) -> int:
    return item.priority


def _assign_columns(rows: list[list[_Item]], blocks: list[_Block]) -> None:
    """Give each item an x: start blocks below their neighbours, then move them to the median of all neighbours."""
    for block in blocks:
        above = [neighbour for item in block.items for neighbour in item.above]
        block.target = _median_x(above, block)
        for item in block.items:
            item.x = block.target
    for _ in range(SWEEPS):
        groups = _group_targets(rows)
        for row in rows:
            # Blocks and groups have the same order in every layer: they do not cross, and frames do not overlap.
            row.sort(key=lambda item: _order(item, groups))
            _separate(row)
        for block in blocks:
            around = [n for item in block.items for n in (*item.above, *item.below)]
            block.target = _median_x(around, block)
    for block in blocks:
        block.target = median([item.x for item in block.items])
    for row in rows:
        _separate(row)


def _block_of(item: _Item) -> _Block:
    assert item.block is not None
    return item.block


def _median_x(neighbours: Sequence[_Item], block: _Block) -> float:
    """Return the median x of the neighbours in other blocks; without any, that of the block itself."""
    others = [n.x for n in neighbours if n.block is not block]
    return median(others) if others else median([item.x for item in block.items])


def _group_targets(rows: list[list[_Item]]) -> dict[str, float]:
    members: dict[str, list[float]] = {}
    for row in rows:
        for item in row:
            if item.group:
                members.setdefault(item.group, []).append(_block_of(item).target)
    return {group: median(targets) for group, targets in members.items()}


def _order(item: _Item, groups: Mapping[str, float]) -> tuple[float, str, float, int]:
    block = _block_of(item)
    return groups.get(item.group, block.target), item.group, block.target, block.number


def _separate(row: list[_Item]) -> None:
    """Place a layer's items in their order, without overlaps, as near to the targets of their blocks as possible.

    Least squares under an order constraint, by pooling adjacent violators; long blocks outweigh short ones.
    """
    offsets = []
    offset = 0.0
    for index, item in enumerate(row):
        offset += item.width / 2 if index else 0.0
        offsets.append(offset)
        offset += item.width / 2 + GAP
    pools: list[tuple[float, float, int]] = []  # x of its first item, weight, number of items
    for item, offset in zip(row, offsets, strict=True):
        block = _block_of(item)
        mean, weight, size = block.target - offset, float(len(block.items) ** 2), 1
        while pools and pools[-1][0] > mean:
            other, heavy, count = pools.pop()
            mean = (mean * weight + other * heavy) / (weight + heavy)
            weight, size = weight + heavy, size + count
        pools.append((mean, weight, size))
    starts = [mean for mean, _, size in pools for _ in range(size)]
    for item, start, offset in zip(row, starts, offsets, strict=True):
        item.x = start + offset


# the result


def _layout(drawing: Drawing, items: list[_Item], chains: list[list[_Item]], all_items: list[_Item]) -> Layout:
    left = min(item.x - item.width / 2 for item in all_items) - GAP
    right = max(item.x + item.width / 2 for item in all_items) + GAP

    def y(item: _Item) -> float:
        return item.layer * LAYER_HEIGHT + LAYER_HEIGHT / 2

    positions = [Position(round(i.x - left, 1), y(i), i.width, i.layer) for i in items]
    routes = [[(round(item.x - left, 1), y(item)) for item in chain] for chain in chains]
    height = (max(item.layer for item in items) + 1) * LAYER_HEIGHT
    framed = group_frames(drawing, positions, routes)
    scopes = scope_frames(drawing, positions, routes)
    return Layout(positions, routes, framed, round(right - left, 1), height, scopes)


def group_frames(drawing: Drawing, positions: Sequence[Position], routes: Sequence[Route]) -> list[Frame]:
    """Return the frames of a drawing's groups.

    Parameters
    ----------
    drawing : Drawing
    positions : sequence of Position
        Of its nodes.
    routes : sequence of sequence of (float, float)
        The points that each of its edges goes through.
    """
    groups = [node.group for node in drawing.nodes]
    return frames(_members(drawing, positions, routes, groups), NODE_HEIGHT, LAYER_HEIGHT, GAP / 3)


def scope_frames(drawing: Drawing, positions: Sequence[Position], routes: Sequence[Route]) -> list[Frame]:
    """Return the boxes around a drawing's bodies, of several inside of one another the outer ones first.

    Parameters
    ----------
    drawing : Drawing
    positions : sequence of Position
        Of its nodes.
    routes : sequence of sequence of (float, float)
        The points that each of its edges goes through.
    """
    deepest = min(MAX_SCOPES, max((len(node.scope) for node in drawing.nodes), default=0))
    boxes = []
    for depth in range(1, deepest + 1):
        names = ["\n".join(node.scope[:depth]) if len(node.scope) >= depth else "" for node in drawing.nodes]
        room = SCOPE_MARGIN * (deepest - depth + 1)
        members = _members(drawing, positions, routes, names)
        for frame in frames(members, NODE_HEIGHT + 2 * room, LAYER_HEIGHT, GAP / 3 + room):
            boxes.append(replace(frame, name=frame.name.rpartition("\n")[2]))
    return boxes


def _members(
    drawing: Drawing, positions: Sequence[Position], routes: Sequence[Route], groups: Sequence[str]
) -> list[Member]:
    """Return all items of a drawing with the group of each; an edge is in one if both of its ends are."""
    types = {edge.source: edge.type for edge in reversed(drawing.edges)}
    members = []
    for index, (group, place) in enumerate(zip(groups, positions, strict=True)):
        written = len(types.get(index, "").partition(" float32")[0]) * SMALL_LETTER
        half = place.width / 2
        members.append(Member(group, place.layer, place.x - half, place.x + max(half, written)))
    for edge, route in zip(drawing.edges, routes, strict=True):
        source, target = groups[edge.source], groups[edge.target]
        for x, y in route[1:-1]:
            layer = int(y // LAYER_HEIGHT)
            half, group = DUMMY_WIDTH / 2, source if source == target else ""
            members.append(Member(group, layer, x - half, x + half, is_edge=True))
    return members
