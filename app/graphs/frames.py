"""Frames around the nodes of each group of a drawn graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Frame:
    """The outline of a group as SVG path data, and the position of its title."""

    name: str
    title: str
    path: str
    x: float
    y: float


def frames(members: Sequence[Member], node_height: float, layer_height: float, margin: float) -> list[Frame]:
    """Return the frame of each group: a rectangle, indented around the items of others.

    Parameters
    ----------
    members : sequence of Member
        All items of the drawing.
    node_height, layer_height : float
        Of a node, and of the layer that it is in the middle of.
    margin : float
        Distance to the nodes, left and right, in pixels.
    """
    layers: dict[int, list[Member]] = {}
    groups: dict[str, list[Member]] = {}
    for member in members:
        layers.setdefault(member.layer, []).append(member)
        if member.group:
            groups.setdefault(member.group, []).append(member)
    outlines = []
    for name, inside in groups.items():
        sides = _sides(inside, layers, margin)
        first = min(member.layer for member in inside)
        top = (first + 0.5) * layer_height - node_height / 2 - TITLE_HEIGHT
        bottom = (first + len(sides) - 0.5) * layer_height + node_height / 2 + FOOT
        left, right = sides[0]
        title = _shortened(name, int((right - left - 14) / TITLE_LETTER))
        heights = [top, *((first + i) * layer_height for i in range(1, len(sides))), bottom]
        outlines.append(Frame(name, title, _outline(sides, heights), round(left + 7, 1), top + 13))
    return outlines


def _sides(inside: Sequence[Member], layers: dict[int, list[Member]], margin: float) -> list[tuple[float, float]]:
    """Return left and right of the frame in each layer from its first to its last."""
    left, right = min(m.left for m in inside) - margin, max(m.right for m in inside) + margin
    name = inside[0].group
    first, last = min(m.layer for m in inside), max(m.layer for m in inside)
    sides: list[tuple[float, float]] = []
    for layer in range(first, last + 1):
        mine = [m for m in layers.get(layer, ()) if m.group == name]
        begin = min((m.left for m in mine), default=(left + right) / 2)
        others = [m for m in layers.get(layer, ()) if m.group != name]
        before = [m.right + margin for m in others if m.left <= begin]
        after = [m.left - margin for m in others if m.left > begin]
        sides.append((max([left, *before]), min([right, *after])))
    return sides


def _outline(sides: Sequence[tuple[float, float]], heights: Sequence[float]) -> str:
    """Return the path down the right sides and up the left ones; ``heights`` are where layers begin and end."""
    right = [f"H{side[1]:.1f}V{heights[i + 1]:.1f}" for i, side in enumerate(sides)]
    left = [f"H{side[0]:.1f}V{heights[i]:.1f}" for i, side in reversed(list(enumerate(sides)))]
    return f"M{sides[0][0]:.1f} {heights[0]:.1f}{''.join(right)}{''.join(left)}Z"


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: max(1, most - 1)].rstrip()}…"
