"""Drawings over HTTP: laid out when asked for, still from pass to pass, and never more than can be drawn."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from flask.testing import FlaskClient

from app import create_app
from app.artifacts import Answer, Drawing, GraphEdge, GraphNode, Step, Unit, drawing_key
from app.graphs.drawings import Drawings, DrawnGraph
from app.graphs.layout import LAYER_HEIGHT, SMALL_LETTER, lay_out
from app.jobs.assembly import MAX_EDGES, MAX_NODES, assemble
from app.protocol import Snapshot
from app.sandbox import Outcome
from tests.app.fixtures import AnswerRunner


def drawn(labels: list[str], edges: list[tuple[int, int]], group: str = "") -> Drawing:
    """Return a drawing whose nodes keep their keys from drawing to drawing, by label."""
    nodes = [
        GraphNode(key=label, label=label, kind="input" if label == "x" else "operator", type="(4, 8) float32",
                  group="" if label == "x" else group, origins=[index])
        for index, label in enumerate(labels)
    ]  # fmt: skip
    made = Drawing(key="", name="main", nodes=nodes, edges=[GraphEdge(a, b, "(4, 8) float32") for a, b in edges])
    return msgspec.structs.replace(made, key=drawing_key(made))


def answer_of(*passes: Drawing) -> Answer:
    steps = [Step(group="graph", name=f"pass {n}", drawing=item.key) for n, item in enumerate(passes)]
    return Answer(units=[Unit(name="main", kind="graph", steps=steps)], drawings={item.key: item for item in passes})


def positions(graph: DrawnGraph | None) -> dict[str, tuple[float, int]]:
    assert graph is not None
    return {item.node.label: (item.position.x, item.position.layer) for item in graph.nodes}


FIRST = drawn(["x", "norm", "relu", "add"], [(0, 1), (1, 2), (2, 3), (0, 3)])
SECOND = drawn(["x", "relu", "add"], [(0, 1), (1, 2), (0, 2)], group="relu add 1")


def showing(folder: Path, *passes: Drawing) -> FlaskClient:
    """Return a client of an application that was asked for these drawings."""
    runner = AnswerRunner(answer_of(*passes))
    client = create_app({"DATA_DIR": folder, "RATE_LIMIT": 0}, runner).test_client()
    assert client.post("/panes", data={"script": "x"}).status_code == 200
    return client


@pytest.fixture
def client(tmp_path: Path) -> FlaskClient:
    return showing(tmp_path, FIRST, SECOND)


def test_a_drawing_is_an_svg_with_its_nodes_types_and_frames(client: FlaskClient) -> None:
    response = client.get(f"/graph/{SECOND.key}")
    assert response.status_code == 200
    assert "immutable" in response.headers["Cache-Control"]
    svg = response.text
    assert re.findall(r'data-label="(\w+)"', svg) == ["x", "relu", "add"]
    assert svg.count('marker-end="url(#arrow)"') == 3
    assert ">relu add 1<" in svg
    assert "(4, 8)" in svg
    assert 'aria-label="3 nodes of main"' in svg


def test_labels_are_text(tmp_path: Path) -> None:
    evil = drawn(["<script>alert(1)</script>", '"><b>'], [(0, 1)], group="<i>")
    svg = showing(tmp_path, evil).get(f"/graph/{evil.key}").text
    assert "<script" not in svg
    assert "<b>" not in svg
    assert "<i>" not in svg


def test_groups_fold_on_request(client: FlaskClient) -> None:
    svg = client.get(f"/graph/{SECOND.key}?fold=groups").text
    assert re.findall(r'data-label="([^"]+)"', svg) == ["x", "relu add 1"]


@pytest.mark.parametrize("path", ["/graph/unknown", f"/graph/{SECOND.key}?fold=everything", "/graph/..%2f..%2fetc"])
def test_what_is_not_there_is_said_so(client: FlaskClient, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 404


def test_nodes_keep_their_places_though_later_passes_are_asked_for_first() -> None:
    forwards, backwards = Drawings(answer_of(FIRST, SECOND)), Drawings(answer_of(FIRST, SECOND))
    first = positions(forwards.get(FIRST.key))
    second = positions(forwards.get(SECOND.key))
    assert positions(backwards.get(SECOND.key)) == second
    assert second == {"x": first["x"], "relu": (first["relu"][0], 1), "add": (first["add"][0], 2)}


@pytest.mark.parametrize(
    ("hostile", "words"),
    [
        (drawn([f"n{i}" for i in range(MAX_NODES + 1)], []), "nodes"),
        (drawn(["a", "b"], [(0, 1)] * (MAX_EDGES + 1)), "edges"),
    ],
    ids=["nodes", "edges"],
)
def test_what_is_too_large_to_draw_is_left_out(hostile: Drawing, words: str) -> None:
    sent = msgspec.json.encode(Snapshot(answer=answer_of(FIRST, hostile)))
    answer = assemble([sent], Outcome(status="ok"))
    assert list(answer.drawings) == [FIRST.key]
    assert answer.status == "ok", "the rest of the page is as good as ever"
    [problem] = answer.problems
    assert (problem.kind, problem.severity) == ("OutputLimit", "warning")
    assert re.search(rf"{words}; at most [\d,]+ can be drawn", problem.message)


def test_an_empty_drawing_is_none() -> None:
    empty = drawn([], [])
    assert Drawings(answer_of(FIRST, empty)).get(empty.key) is None


def test_layouts_that_are_dropped_are_made_again_alike() -> None:
    small, large = Drawings(answer_of(FIRST, SECOND), capacity=1), Drawings(answer_of(FIRST, SECOND))
    for key in (SECOND.key, FIRST.key, SECOND.key):
        assert positions(small.get(key)) == positions(large.get(key))


def test_a_chain_of_two_thousand_nodes_is_straight_and_drawn_in_bands() -> None:
    count = 2_000
    skips = [(i, i + 4) for i in range(0, count - 5, 4)]
    drawing = drawn([f"n{i}" for i in range(count)], [*((i, i + 1) for i in range(count - 1)), *skips], group="g")
    layout = lay_out(drawing)
    assert len({position.x for position in layout.positions}) == 1
    bands = DrawnGraph(drawing, layout, list(range(count))).bands
    assert sum(len(band.nodes) for band in bands) == count
    assert sum(len(band.edges) for band in bands) == len(drawing.edges)
    assert max(len(band.nodes) for band in bands) <= 8
    assert all(band.bottom - band.top <= 13 * LAYER_HEIGHT for band in bands)
    assert len(layout.frames) == 1


def test_frames_of_groups_side_by_side_do_not_overlap() -> None:
    names = ["x", "a1", "b1", "a2", "b2", "end"]
    edges = [(0, 1), (0, 2), (1, 3), (2, 4), (3, 5), (4, 5)]
    drawing = drawn(names, edges)
    grouped = [msgspec.structs.replace(n, group=n.label[0] if n.label[0] in "ab" else "") for n in drawing.nodes]
    frames = lay_out(msgspec.structs.replace(drawing, nodes=grouped)).frames
    sides = []
    for frame in frames:
        rights = [float(x) for x in re.findall(r"[MH]([\d.]+)", frame.path)]
        sides.append((min(rights), max(rights)))
    assert [frame.name for frame in frames] == ["a", "b"]
    (_, left_end), (right_begin, _) = sorted(sides)
    assert left_end < right_begin


def test_types_side_by_side_do_not_run_into_one_another() -> None:
    made = drawn(["x", "left", "right", "both"], [(0, 1), (0, 2), (1, 3), (2, 3)])
    wide = "fn (Tensor[(4), float32]) -> Tensor[(4), float32]"
    edges = [msgspec.structs.replace(edge, type=wide) for edge in made.edges]
    graph = Drawings(answer_of(msgspec.structs.replace(made, edges=edges))).get(made.key)
    assert graph is not None
    left, right = sorted((edge for edge in graph.edges if edge.label), key=lambda edge: edge.x)
    assert left.x + len(left.label) * SMALL_LETTER < right.x
    assert left.label.endswith("…")
    assert right.label == "fn (Tensor[(4),"
