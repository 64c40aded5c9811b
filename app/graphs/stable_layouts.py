"""Stable drawings: the steps of a graph share one layout, of which each leaves out the rows that it has no node in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from app.artifacts import Drawing
from app.graphs.layout import (
    GAP,
    LAYER_HEIGHT,
    Layout,
    Position,
    Route,
    group_frames,
    lay_out,
    node_width,
    scope_frames,
    second_lines,
)
from app.graphs.slots import Union, unite

STRAIGHT = 12.0
"""Maximum horizontal distance in pixels of the ends of an edge without bends."""


class StableLayouts:
    """The layouts of the steps of a union.

    Parameters
    ----------
    drawings : sequence of Drawing
        The drawings of its steps.
    """

    def __init__(self, union: Union, drawings: Sequence[Drawing]) -> None:
        self._union = union
        self.drawings = drawings
        widths = [
            [node_width(node, line) for node, line in zip(drawing.nodes, second_lines(drawing), strict=True)]
            for drawing in drawings
        ]
        widest = [max(widths[step][node] for step, node in members) for members in union.members]
        self._all = lay_out(union.drawing, widest)

    @property
    def points(self) -> int:
        """Number of nodes and edge points of all steps."""
        return self._all.points

    @cached_property
    def _routes(self) -> dict[tuple[int, int], Route]:
        edges = self._union.drawing.edges
        return {(e.source, e.target): route for e, route in zip(edges, self._all.routes, strict=True)}

    def layout(self, step: int) -> Layout:
        """Return the layout of a step."""
        drawing, slots = self.drawings[step], self._union.slots[step]
        shared = [self._all.positions[slot] for slot in slots]
        layers = {layer: row for row, layer in enumerate(sorted({position.layer for position in shared}))}
        positions = [replace(p, y=_middle(layers[p.layer]), layer=layers[p.layer]) for p in shared]
        rows = _Rows(positions)
        closed = [_closed(self._routes[slots[edge.source], slots[edge.target]], layers) for edge in drawing.edges]
        routes = [rows.straightened(route) for route in closed]
        frames = group_frames(drawing, positions, routes)
        scopes = scope_frames(drawing, positions, routes)
        return Layout(positions, routes, frames, self._all.width, len(layers) * LAYER_HEIGHT, scopes)

    def slots(self, step: int) -> list[int]:
        """Return the slot of each node of a step."""
        return self._union.slots[step]


def stable_layouts(drawings: Sequence[Drawing]) -> list[StableLayouts]:
    """Return the layouts of a graph's steps, one per union, in order of the steps.

    Parameters
    ----------
    drawings : sequence of Drawing
        Drawings of the steps, which must not be empty.
    """
    layouts = []
    for union in unite(drawings):
        layouts.append(StableLayouts(union, drawings[: len(union.slots)]))
        drawings = drawings[len(union.slots) :]
    return layouts


def _middle(row: int) -> float:
    return (row + 0.5) * LAYER_HEIGHT


def _closed(route: Route, layers: Mapping[int, int]) -> Route:
    """Return a route through the rows that are left, by their layers."""
    points = [(x, int(y // LAYER_HEIGHT)) for x, y in route]
    return [(x, _middle(layers[layer])) for x, layer in points if layer in layers]


class _Rows:
    """The boxes of a step's nodes by layer."""

    def __init__(self, positions: Sequence[Position]) -> None:
        self._boxes: dict[int, list[Position]] = {}
        for position in positions:
            self._boxes.setdefault(position.layer, []).append(position)

    def straightened(self, route: Route) -> Route:
        """Remove bends from a route that only avoid nodes of other steps."""
        (x, top), (end, bottom) = route[0], route[-1]
        if len(route) == 2 or abs(x - end) > STRAIGHT:
            return route
        layers = range(int(top // LAYER_HEIGHT) + 1, int(bottom // LAYER_HEIGHT))
        free = all(abs(box.x - x) > box.width / 2 + GAP / 2 for layer in layers for box in self._boxes.get(layer, ()))
        return [route[0], *((x, _middle(layer)) for layer in layers), route[-1]] if free else route
