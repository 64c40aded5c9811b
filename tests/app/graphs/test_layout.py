"""Layouts of graphs: everything below what it reads, nothing on top of another, positions kept from pass to pass."""

from __future__ import annotations

import random
import re
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.artifacts import Drawing, GraphEdge, GraphNode
from app.graphs.folding import fold
from app.graphs.frames import MAX_INDENTED, TITLE_HEIGHT, TITLE_LETTER, Member, frames
from app.graphs.layout import LAYER_HEIGHT, lay_out
from app.graphs.slots import MAX_SLOTS, unite
from app.graphs.stable_layouts import stable_layouts


def graph(labels: list[str], edges: list[tuple[int, int]], groups: list[str] | None = None) -> Drawing:
    """Return a drawing; edges go from earlier to later nodes."""
    nodes = [
        GraphNode(key=f"{label}:{i}", label=label, group=(groups or [""] * len(labels))[i], origins=[i])
        for i, label in enumerate(labels)
    ]
    return Drawing(key="k", name="main", nodes=nodes, edges=[GraphEdge(a, b) for a, b in edges])


@st.composite
def graphs(draw: st.DrawFn) -> Drawing:
    count = draw(st.integers(1, 40))
    random_edges = st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=60)
    edges = sorted({(min(a, b), max(a, b)) for a, b in draw(random_edges) if a != b})
    return graph([draw(st.sampled_from(["add", "relu", "conv"])) for _ in range(count)], edges)


@given(graphs())
def test_nodes_stand_below_what_they_read_and_apart(drawing: Drawing) -> None:
    layout = lay_out(drawing)
    for edge, route in zip(drawing.edges, layout.routes, strict=True):
        assert layout.positions[edge.source].layer < layout.positions[edge.target].layer
        assert route[0][1] < route[-1][1]
    for a, b in combinations(layout.positions, 2):
        if a.layer == b.layer:
            assert abs(a.x - b.x) >= (a.width + b.width) / 2
    for position in layout.positions:
        assert position.x - position.width / 2 >= 0
        assert position.x + position.width / 2 <= layout.width


def test_what_stays_keeps_its_column_and_the_row_of_what_is_gone_closes() -> None:
    rng = random.Random(1)
    labels = [f"op{i}" for i in range(60)]
    edges = [(i, i + 1) for i in range(59)] + [(i, i + rng.randint(2, 5)) for i in range(0, 50, 4)]
    before = graph(labels, edges)
    gone = 30
    moved = [i for i in range(60) if i != gone]
    position = {old: new for new, old in enumerate(moved)}
    after = Drawing(
        key="l",
        name="main",
        nodes=[before.nodes[i] for i in moved],
        edges=[GraphEdge(position[a], position[b]) for a, b in edges if gone not in (a, b)] + [GraphEdge(29, 30)],
    )
    [layouts] = stable_layouts([before, after])
    placed, again = layouts.layout(0), layouts.layout(1)
    for i in moved:
        old, new = placed.positions[i], again.positions[position[i]]
        assert (new.x, new.width, new.layer) == (old.x, old.width, old.layer - (i > gone))
    assert again.height == placed.height - LAYER_HEIGHT


@given(st.lists(graphs(), min_size=1, max_size=5))
def test_all_steps_are_parts_of_one_layout(steps: list[Drawing]) -> None:
    [union] = unite(steps)
    assert union.drawing.is_sound
    [layouts] = stable_layouts(steps)
    for step, drawing in enumerate(steps):
        layout, slots = layouts.layout(step), union.slots[step]
        assert len(set(slots)) == len(drawing.nodes), "two nodes of a step never stand in one place"
        for edge, route in zip(drawing.edges, layout.routes, strict=True):
            ends = layout.positions[edge.source], layout.positions[edge.target]
            assert ends[0].layer < ends[1].layer
            assert [route[0], route[-1]] == [(end.x, end.y) for end in ends]
        assert {position.layer for position in layout.positions} == set(range(int(layout.height / LAYER_HEIGHT)))
    first, last = layouts.layout(0), layouts.layout(len(steps) - 1)
    places = dict(zip(union.slots[0], first.positions, strict=True))
    for slot, position in zip(union.slots[-1], last.positions, strict=True):
        assert places.get(slot, position).x == position.x
    stay = [
        (places[slot].layer, p.layer) for slot, p in zip(union.slots[-1], last.positions, strict=True) if slot in places
    ]
    assert all((a[0] < b[0]) == (a[1] < b[1]) for a, b in combinations(stay, 2)), "none passes another"


def test_a_pass_that_turns_the_order_around_gets_places_of_its_own() -> None:
    nodes = [GraphNode(key=name, label=name, origins=[index]) for index, name in enumerate(("x", "scale", "shift"))]
    before = Drawing(key="", name="main", nodes=nodes, edges=[GraphEdge(0, 1), GraphEdge(1, 2)])
    after = Drawing(key="", name="main", nodes=[nodes[0], nodes[2], nodes[1]], edges=[GraphEdge(0, 1), GraphEdge(1, 2)])
    [union] = unite([before, after])
    assert union.slots[0][0] == union.slots[1][0]
    assert len({*union.slots[0], *union.slots[1]}) == 5
    assert len(union.drawing.nodes) == 5


def test_what_replaces_a_node_stands_in_its_place() -> None:
    before = graph(["x", "nn.conv2d", "relu"], [(0, 1), (1, 2)])
    [x, conv, relu] = before.nodes
    made = [
        GraphNode(key=label, label=label, origins=conv.origins)
        for label in ("layout_transform", "nn.contrib_conv2d_NCHWc", "reshape")
    ]
    edges = [GraphEdge(i, i + 1) for i in range(4)]
    after = Drawing(key="", name="main", nodes=[x, *made, relu], edges=edges)
    [union] = unite([before, after])
    assert [union.slots[1][i] for i in (0, 2, 4)] == union.slots[0]


def test_steps_with_very_many_nodes_are_laid_out_in_several_unions() -> None:
    count = MAX_SLOTS // 2 - 10
    steps = [graph([f"{name}{i}" for i in range(count)], []) for name in "abc"]
    for drawing, name in zip(steps, "abc", strict=True):
        drawing.nodes[:] = [GraphNode(key=node.key, label=node.label, origins=[ord(name)]) for node in drawing.nodes]
    assert [len(union.slots) for union in unite(steps)] == [2, 1]


def test_fused_groups_get_a_frame_and_fold() -> None:
    drawing = graph(["input", "conv", "relu", "pool"], [(0, 1), (1, 2), (2, 3)], ["", "g", "g", ""])
    (frame,) = lay_out(drawing).frames
    assert (frame.name, frame.title) == ("g", "g")
    folded = fold(drawing, "groups")
    assert [node.label for node in folded.nodes] == ["input", "g", "pool"]
    assert [(e.source, e.target) for e in folded.edges] == [(0, 1), (1, 2)]


@pytest.mark.parametrize("times", [2, 12])
def test_repeated_blocks_fold(times: int) -> None:
    labels = ["input", *["norm", "attention", "add", "mlp", "add"] * times, "head"]
    folded = fold(graph(labels, [(i, i + 1) for i in range(len(labels) - 1)]), "blocks")
    names = [f"block A {i + 1} of {times}" for i in range(times)]
    assert [node.label for node in folded.nodes] == ["input", *names, "head"]
    assert folded.is_sound


def slow_sides(inside: list[Member], members: list[Member], margin: float) -> list[tuple[float, float]]:
    """Return the sides of a group's frame in each layer, by looking at all members."""
    left, right = min(m.left for m in inside) - margin, max(m.right for m in inside) + margin
    sides = []
    for layer in range(min(m.layer for m in inside), max(m.layer for m in inside) + 1):
        mine = [m.left for m in inside if m.layer == layer]
        begin = min(mine, default=(left + right) / 2)
        others = [m for m in members if m.layer == layer and m.group != inside[0].group]
        before = [m.right + margin for m in others if m.left <= begin]
        after = [m.left - margin for m in others if m.left > begin]
        here = [m for m in inside if m.layer == layer and m.left == begin][:1]
        sides.append(
            (
                min([max([left, *before]), *(m.left for m in here)]),
                max([min([right, *after]), *(m.right for m in here)]),
            )
        )
    return sides


MEMBERS = st.lists(
    st.builds(
        lambda group, layer, left, width: Member(group, layer, left, left + width),
        st.sampled_from(["", "a", "b", "c"]),
        st.integers(0, 4),
        st.integers(0, 20).map(float),
        st.integers(1, 6).map(float),
    ),
    min_size=1,
    max_size=25,
)


@given(MEMBERS)
def test_frames_go_around_the_items_of_others(members: list[Member]) -> None:
    for frame in frames(members, 4.0, 10.0, 0.5):
        inside = [member for member in members if member.group == frame.name]
        sides = slow_sides(inside, members, 0.5)
        top = (min(member.layer for member in inside) + 0.5) * 10.0 - 2.0 - TITLE_HEIGHT
        assert frame.path.startswith(f"M{sides[0][0]:.1f} {top:.1f}H{sides[0][1]:.1f}V")
        rights = [float(x) for x in re.findall(r"H(-?[\d.]+)", frame.path)]
        assert rights == pytest.approx([side[1] for side in sides] + [side[0] for side in reversed(sides)], abs=0.06)


def test_a_frame_is_narrow_where_a_removed_node_stood() -> None:
    nodes = [Member("g", layer, 0.0, 100.0) for layer in (0, 3)]
    edge = [Member("g", layer, 45.0, 55.0, is_edge=True) for layer in (1, 2)]
    other = Member("h", 2, 80.0, 160.0)
    frame = next(f for f in frames([*nodes, *edge, other], 40.0, 92.0, 8.0) if f.name == "g")
    edges = [float(x) for x in re.findall(r"[MH](-?[\d.]+)", frame.path)]
    assert edges == [-8.0, 108.0, 63.0, 63.0, 108.0, -8.0, 37.0, 37.0, -8.0]


def test_frames_over_very_many_layers_are_rectangles() -> None:
    members = [Member(f"g{i % 400}", i, 10.0 * (i % 3), 10.0 * (i % 3) + 5.0) for i in range(800)]
    drawn = frames(members, 4.0, 10.0, 0.5)
    assert len(drawn) == 400
    assert sum(len(frame.path) for frame in drawn) < 40 * MAX_INDENTED
    assert all(frame.path.count("H") == 2 for frame in drawn[MAX_INDENTED // 400 :])


def test_the_title_of_a_nested_box_fits_into_it() -> None:
    name = "fn 1\nmatch 1 Some(%inner)"
    [frame] = frames([Member(name, 0, 100.0, 170.0)], 40.0, 92.0, 8.0)
    assert frame.name == name
    assert frame.title == "match 1 Som…"
    assert len(frame.title) * TITLE_LETTER <= 170.0 - 100.0 + 2 * 8.0
