"""Frames around groups of nodes."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MAX_INDENTED = 20_000
"""Maximum total number of layers of frames that go around other items; further frames are rectangles."""
TITLE_HEIGHT, FOOT = 19.0, 17.0
"""Pixels above the first node of a group, for its title, and below the last one, for its output type."""
TITLE_LETTER = 6.0
"""Width of a letter of a title in pixels."""


@dataclass(frozen=True, slots=True)
class Member:
    """An item of a layer from ``left`` to ``right``, with its group, if any."""

    group: str
    layer: int
    left: float
    right: float
    is_edge: bool = False
    """Whether it is the crossing of an edge instead of a node."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The outline of a group as SVG path data, with the position of its title."""

    name: str
    title: str
    path: str
    x: float
    y: float


def frames(members: Sequence[Member], node_height: float, layer_height: float, margin: float) -> list[Frame]:
    """Return the frame of each group: a rectangle with notches around the items of others.

    In layers without nodes of the group, whose nodes were removed by a pass, it is only as wide as the group's edges.

    Parameters
    ----------
    members : sequence of Member
        All items of the drawing.
    node_height, layer_height : float
        Height of a node, and of the layer around it.
    margin : float
        Horizontal distance to the nodes, in pixels.
    """
    by_layer: dict[int, list[Member]] = {}
    groups: dict[str, list[Member]] = {}
    for member in members:
        by_layer.setdefault(member.layer, []).append(member)
        if member.group:
            groups.setdefault(member.group, []).append(member)
    layers = {layer: _Layer(items) for layer, items in by_layer.items()}
    room = MAX_INDENTED
    outlines = []
    for name, inside in groups.items():
        first, last = min(member.layer for member in inside), max(member.layer for member in inside)
        room -= last - first + 1
        sides = _sides(inside, range(first, last + 1), layers, margin) if room >= 0 else [_widest(inside, margin)]
        top = (first + 0.5) * layer_height - node_height / 2 - TITLE_HEIGHT
        bottom = (last + 0.5) * layer_height + node_height / 2 + FOOT
        left, right = sides[0]
        title = _shortened(name.rpartition("\n")[2], int((right - left - 14) / TITLE_LETTER))
        heights = [top, *((first + i) * layer_height for i in range(1, len(sides))), bottom]
        outlines.append(Frame(name, title, _outline(sides, heights), round(left + 7, 1), top + 4))
    return outlines


class _Layer:
    """The items of a layer from left to right, with logarithmic search for the neighbouring items of other groups."""

    def __init__(self, items: Sequence[Member]) -> None:
        self._items = sorted(items, key=lambda item: item.left)
        self._lefts = [item.left for item in self._items]
        self._reach: list[tuple[tuple[float, str], tuple[float, str]]] = []
        """For each prefix of the items: the rightmost end and its group, and the rightmost end of any other group."""
        best = second = (-math.inf, "")
        for item in self._items:
            reach = (item.right, item.group)
            if item.group == best[1]:
                best = max(best, reach)
            elif reach > best:
                best, second = reach, best
            else:
                second = max(second, reach)
            self._reach.append((best, second))
        self._run_end = [0] * len(items)
        """For each item, the end of the run of adjacent items of its group."""
        end = len(items)
        for index in range(len(items) - 1, -1, -1):
            if index + 1 < len(items) and self._items[index].group != self._items[index + 1].group:
                end = index + 1
            self._run_end[index] = end

    def around(self, place: float, group: str) -> tuple[float, float]:
        """Return the end of other groups' items that start before a position, and the start of the next one."""
        index = bisect_right(self._lefts, place)
        before = -math.inf
        if index:
            best, second = self._reach[index - 1]
            before = second[0] if best[1] == group else best[0]
        if index < len(self._items) and self._items[index].group == group:
            index = self._run_end[index]
        after = self._lefts[index] if index < len(self._items) else math.inf
        return before, after


def _widest(inside: Sequence[Member], margin: float) -> tuple[float, float]:
    """Return the left and right end of the bounding rectangle of a group."""
    return min(member.left for member in inside) - margin, max(member.right for member in inside) + margin


def _sides(
    inside: Sequence[Member], span: range, layers: Mapping[int, _Layer], margin: float
) -> list[tuple[float, float]]:
    """Return the left and right end of the frame in each of its layers."""
    left, right = _widest(inside, margin)
    rows: dict[int, list[Member]] = {}
    for member in inside:
        rows.setdefault(member.layer, []).append(member)
    sides: list[tuple[float, float]] = []
    for layer in span:
        row = rows.get(layer, [])
        if row and all(member.is_edge for member in row):
            sides.append(_widest(row, margin))
        elif layer not in layers:
            sides.append((left, right))
        else:
            first = min(row, key=lambda member: member.left, default=None)
            before, after = layers[layer].around(first.left if first else (left + right) / 2, inside[0].group)
            row_left, row_right = max(left, before + margin), min(right, after - margin)
            # Text below a neighbour may overlap a node of the group, which nevertheless stays inside.
            sides.append((min(row_left, first.left), max(row_right, first.right)) if first else (row_left, row_right))
    return sides


def _outline(sides: Sequence[tuple[float, float]], heights: Sequence[float]) -> str:
    """Return the path down the right ends and up the left ends; ``heights`` are the boundaries of layers."""
    right = [f"H{side[1]:.1f}V{heights[i + 1]:.1f}" for i, side in enumerate(sides)]
    left = [f"H{side[0]:.1f}V{heights[i]:.1f}" for i, side in reversed(list(enumerate(sides)))]
    return f"M{sides[0][0]:.1f} {heights[0]:.1f}{''.join(right)}{''.join(left)}Z"


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: max(1, most - 1)].rstrip()}…"
