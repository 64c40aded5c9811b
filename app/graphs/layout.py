"""Layered graph layout.

Layered drawing following Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system
structures" (1981): longest-path layering, dummy nodes where edges cross layers, ordering and coordinates by median
sweeps.  Chains of nodes are aligned in blocks, as in Brandes and Köpf, "Fast and simple horizontal coordinate
assignment" (2001), so that the trunk of a network is straight, with its side branches beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median

from app.artifacts import Drawing, GraphNode
from app.graphs.frames import Frame, Member, frames

LETTER, SMALL_LETTER = 7.2, 6.2
"""Letter widths of a node's label and second line, in pixels."""
NODE_HEIGHT, LAYER_HEIGHT, GAP, DUMMY_WIDTH = 40.0, 92.0, 24.0, 10.0
"""Pixels: height of a node and of a layer, gap between nodes, width kept for an edge that crosses a layer."""
MAX_WIDTH = 230.0
"""Maximum width of a node in pixels."""
SWEEPS = 8
"""Number of sweeps of ordering and of coordinate assignment."""
MAX_SCOPES = 8
"""Maximum nesting depth of boxes around bodies."""
SCOPE_MARGIN = 7.0
"""Pixels between nested boxes."""
MAX_DUMMIES = 12_000
"""Maximum number of dummy nodes; further edges are drawn straight."""


@dataclass(frozen=True, slots=True)
class Position:
    """Centre, width and layer of a node's box."""

    x: float
    y: float
    width: float
    layer: int


Route = Sequence[tuple[float, float]]
"""The points of an edge, including its ends."""


@dataclass(frozen=True)
class Layout:
    """The layout of a drawing: node positions, edge routes, and group frames."""

    positions: list[Position]
    routes: Sequence[Route]
    frames: list[Frame]
    width: float
    height: float
    scopes: list[Frame] = field(default_factory=list)
    """Boxes around the bodies of branches, clauses and functions, outermost first."""

    @property
    def points(self) -> int:
        """Number of nodes and edge points."""
        return len(self.positions) + sum(map(len, self.routes))


@dataclass(slots=True, eq=False)
class _Item:
    """A node, or the dummy node where an edge crosses a layer."""

    layer: int
    width: float
    priority: int
    """Alignment priority: 0 for the trunk, 1 for dummies of its edges, 2 for side branches, 3 for their dummies."""
    group: str = ""
    x: float = 0.0
    above: list[_Item] = field(default_factory=list)
    below: list[_Item] = field(default_factory=list)
    block: _Block | None = None


@dataclass(slots=True, eq=False)
class _Block:
    """Vertically aligned items, which share an x coordinate if there is space."""

    number: int
    items: list[_Item]
    target: float = 0.0
    """The desired x coordinate."""


def lay_out(drawing: Drawing, widths: Sequence[float] | None = None) -> Layout:
    """Compute the layout of a drawing.

    Parameters
    ----------
    drawing : Drawing
        A drawing whose edges lead from nodes to later ones.
    widths : sequence of float, optional
        Widths of the nodes' boxes in pixels; by default those of their texts.
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
    """Return the cluster of a node: the name of its body and fused function."""
    return "\n".join([*node.scope[:MAX_SCOPES], node.group]) if node.scope else node.group


def second_lines(drawing: Drawing) -> list[str]:
    """Return the second line of each node's box: the type for inputs and results, otherwise weights or attributes.

    Other types are written along the edges.
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


# Layers


def beside_trunk(drawing: Drawing) -> list[bool]:
    """Return for each node whether it is beside the trunk: inputs, and values computed from constants only."""
    aside = [True] * len(drawing.nodes)
    for edge in sorted(drawing.edges, key=lambda edge: edge.target):
        if drawing.nodes[edge.source].kind == "input" or not aside[edge.source]:
            aside[edge.target] = False
    return aside


def _layers(drawing: Drawing, aside: Sequence[bool]) -> list[int]:
    """Assign layers by the longest path; nodes beside the trunk are placed just above their users."""
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
    """Remove empty layers."""
    number = {layer: index for index, layer in enumerate(sorted(set(layers)))}
    return [number[layer] for layer in layers]


# Columns


def _chains(drawing: Drawing, items: list[_Item]) -> list[list[_Item]]:
    """Link the items of each edge, creating dummy nodes, and return them including its ends."""
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
    """Partition the items into blocks: an item joins the one above if both prefer each other as neighbours."""
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
    """Assign x coordinates: place blocks below their neighbours, then sweep them to the medians of all neighbours."""
    for block in blocks:
        above = [neighbour for item in block.items for neighbour in item.above]
        block.target = _median_x(above, block)
        for item in block.items:
            item.x = block.target
    for _ in range(SWEEPS):
        groups = _group_targets(rows)
        for row in rows:
            # Blocks and groups have the same order in every layer, so they do not cross, and frames do not overlap.
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
    """Return the median x of the neighbours in other blocks, or the block's own x if there are none."""
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
    """Place the items of a layer in order, without overlaps, as close to the targets of their blocks as possible.

    This is least squares with an order constraint, solved by pooling adjacent violators; long blocks have more weight.
    """
    offsets = []
    offset = 0.0
    for index, item in enumerate(row):
        offset += item.width / 2 if index else 0.0
        offsets.append(offset)
        offset += item.width / 2 + GAP
    pools: list[tuple[float, float, int]] = []  # x of the first item, weight, number of items
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


# Result


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
    positions : sequence of Position
        Positions of its nodes.
    routes : sequence of sequence of (float, float)
        The points of each of its edges.
    """
    groups = [node.group for node in drawing.nodes]
    return frames(_members(drawing, positions, routes, groups), NODE_HEIGHT, LAYER_HEIGHT, GAP / 3)


def scope_frames(drawing: Drawing, positions: Sequence[Position], routes: Sequence[Route]) -> list[Frame]:
    """Return the boxes around the bodies of a drawing, outer ones first.

    Parameters
    ----------
    positions : sequence of Position
        Positions of its nodes.
    routes : sequence of sequence of (float, float)
        The points of each of its edges.
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
    """Return all items of a drawing with their groups; an edge is in a group if both of its ends are."""
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
