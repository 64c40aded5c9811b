"""Frames around groups of nodes."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MAX_INDENTED = 20_000
"""Layers that all groups together span with frames that go around the items of others; further ones are rectangles."""
TITLE_HEIGHT, FOOT = 19.0, 17.0
"""Pixels above the first node of a group, for its title, and below the last, for the type of what leaves it."""
TITLE_LETTER = 6.0
"""Pixels that a letter of a title takes."""


@dataclass(frozen=True, slots=True)
class Member:
    """An item of a layer from ``left`` to ``right``, and the group that it belongs to, if any."""

    group: str
    layer: int
    left: float
    right: float
    is_edge: bool = False
    """Whether it is where an edge goes through the layer, not a node."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The outline of a group as SVG path data, and the position of its title, which fits into it."""

    name: str
    title: str
    path: str
    x: float
    y: float


def frames(members: Sequence[Member], node_height: float, layer_height: float, margin: float) -> list[Frame]:
    """Return the frame of each group: a rectangle, indented around the items of others.

    It is no wider than its edges in layers in which it has no node: there stood nodes that a pass has removed.

    Parameters
    ----------
    members : sequence of Member
        All items of the drawing.
    node_height, layer_height : float
        Of a node, and of the layer that it is in the middle of.
    margin : float
        Distance to the nodes, left and right, in pixels.
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
    """The items of a layer, from left to right: tells in logarithmic time which items of others are next to a place."""

    def __init__(self, items: Sequence[Member]) -> None:
        self._items = sorted(items, key=lambda item: item.left)
        self._lefts = [item.left for item in self._items]
        self._reach: list[tuple[tuple[float, str], tuple[float, str]]] = []
        """Up to each item: the furthest right side and its group, and the furthest one of another group."""
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
        """Of each item: where the run of neighbours of its group ends."""
        end = len(items)
        for index in range(len(items) - 1, -1, -1):
            if index + 1 < len(items) and self._items[index].group != self._items[index + 1].group:
                end = index + 1
            self._run_end[index] = end

    def around(self, place: float, group: str) -> tuple[float, float]:
        """Return how far others' items reach that begin up to a place, and where the first one after it begins."""
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
    """Return left and right of the rectangle around all of a group."""
    return min(member.left for member in inside) - margin, max(member.right for member in inside) + margin


def _sides(
    inside: Sequence[Member], span: range, layers: Mapping[int, _Layer], margin: float
) -> list[tuple[float, float]]:
    """Return left and right of the frame in each layer from its first to its last."""
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
            # What is written below a neighbour may reach over a node of the group, which stays inside all the same.
            sides.append((min(row_left, first.left), max(row_right, first.right)) if first else (row_left, row_right))
    return sides


def _outline(sides: Sequence[tuple[float, float]], heights: Sequence[float]) -> str:
    """Return the path down the right sides and up the left ones; ``heights`` are where layers begin and end."""
    right = [f"H{side[1]:.1f}V{heights[i + 1]:.1f}" for i, side in enumerate(sides)]
    left = [f"H{side[0]:.1f}V{heights[i]:.1f}" for i, side in reversed(list(enumerate(sides)))]
    return f"M{sides[0][0]:.1f} {heights[0]:.1f}{''.join(right)}{''.join(left)}Z"


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: max(1, most - 1)].rstrip()}…"
