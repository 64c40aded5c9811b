"""Folding of large graphs: each fused group or repeated block becomes one node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from app.artifacts import Drawing, GraphEdge, GraphNode

Folding = Literal["", "groups", "blocks"]
MIN_PERIOD = 3
"""Minimum number of nodes of a repeated block."""


def fold(drawing: Drawing, how: Folding) -> Drawing:
    """Fold every fused group, or every repeated block, of a drawing into one node."""
    names = [node.group for node in drawing.nodes] if how == "groups" else repeated_blocks(drawing.nodes)
    return _merged(drawing, names)


def repeated_blocks(nodes: Sequence[GraphNode]) -> list[str]:
    """Return the name of each node's repeated block, or an empty string.

    A block repeats if a part of the evaluation order is followed by the same operators again; of overlapping repeats,
    the one that covers most nodes is chosen.
    """
    names = [""] * len(nodes)
    codes = {label: code for code, label in enumerate(dict.fromkeys(node.label for node in nodes))}
    labels = np.array([codes[node.label] for node in nodes])
    kind = 0
    for start, period, count in _repeats(labels):
        covered = range(start, start + period * count)
        if any(names[i] for i in covered):
            continue
        kind += 1
        for i in covered:
            names[i] = f"block {_letter(kind)} {(i - start) // period + 1} of {count}"
    return names


def _repeats(labels: npt.NDArray[Any]) -> list[tuple[int, int, int]]:
    """Return start, period and count of the maximal repeats, by decreasing coverage, then increasing period."""
    repeats = []
    for period in range(MIN_PERIOD, len(labels) // 2 + 1):
        equal = np.concatenate(([False], labels[:-period] == labels[period:], [False]))
        changes = np.flatnonzero(equal[1:] != equal[:-1])
        begins, lengths = changes[::2], changes[1::2] - changes[::2]
        for index in np.flatnonzero(lengths >= period):
            repeats.append((int(begins[index]), period, 1 + int(lengths[index]) // period))
    return sorted(repeats, key=lambda item: (-item[1] * item[2], item[1], item[0]))


def _letter(number: int) -> str:
    return chr(ord("A") + (number - 1) % 26)


def _merged(drawing: Drawing, names: Sequence[str]) -> Drawing:
    """Merge the nodes of each name into one, at the position of the first of them."""
    position: dict[str, int] = {}
    moved: list[int] = []
    nodes: list[list[GraphNode]] = []
    for node, name in zip(drawing.nodes, names, strict=True):
        index = position.get(name) if name else None
        if index is None:
            index = len(nodes)
            nodes.append([])
            if name:
                position[name] = index
        nodes[index].append(node)
        moved.append(index)
    edges = {(moved[e.source], moved[e.target]): e.type for e in drawing.edges if moved[e.source] < moved[e.target]}
    labels = {index: name for name, index in position.items()}
    return msgspec.structs.replace(
        drawing,
        nodes=[_node(members, labels.get(index, "")) for index, members in enumerate(nodes)],
        edges=[GraphEdge(source, target, kind) for (source, target), kind in edges.items()],
    )


def _node(members: Sequence[GraphNode], name: str) -> GraphNode:
    if not name:
        return members[0]
    last = members[-1]
    return GraphNode(
        key=f"{name}:{members[0].key}",
        label=name,
        kind="function",
        detail=", ".join(node.label for node in members[:12]) + (", …" if len(members) > 12 else ""),
        type=last.type,
        scope=members[0].scope,
        line=members[0].line,
        origins=sorted({origin for node in members for origin in node.origins}),
        layers=list(dict.fromkeys(layer for node in members for layer in node.layers)),
    )
