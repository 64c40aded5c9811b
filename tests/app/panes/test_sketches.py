"""The tree of sketches: what was tried with which rules and tiles, and only the chosen branch unfolded."""

from __future__ import annotations

import json
import random

import msgspec
from flask.testing import FlaskClient

from app.panes.searches import TEMPLATE, Trial
from app.panes.sketches import MOST, SKETCH, Node, inside, sketches
from app.searches import Decision, Refusal
from compiler import te
from compiler.search import Machine, ScheduleSpace, choices
from compiler.search.space import TEMPLATE as WAY
from compiler.target.target import Target
from tests.app.panes.test_searches import asked
from tests.app.views.test_explorer import HX

TABLE: list[Decision] = [
    ("C.way", "tiles"), ("C.pack1", True), ("C.vector", 1), ("C.0.inner", 4), ("C.0.inner", 8), ("C.0.outer", [4, 2]),
    ("C.r0.inner", 8), ("C.unroll", True), ("C.way", "parts"), ("C.parts", 16), ("D.lanes", 16),
]  # fmt: skip


def timed(seconds: float | None, numbers: str, message: str = "") -> Trial:
    return Trial(kind="ok" if seconds else "wrong", seconds=seconds, choices=numbers, message=message)


TRIALS = [
    timed(3e-3, "0 1 2 3 5 6 7"),
    timed(2e-3, "0 1 2 3 5 6"),
    timed(1e-3, "0 1 2 4 5 6"),
    timed(None, "0 1 2 4 6", "another result"),
    timed(5e-3, "8 9 10"),
    Trial(kind="ok", seconds=4e-3),
]


def row(node: Node) -> tuple[str, int, float | None]:
    return node.words, node.count, node.seconds


def test_sketches_are_told_apart_by_what_is_done_to_which_block_the_fastest_first() -> None:
    tiles, parts = sketches(TRIALS, TABLE, [], [])
    assert row(tiles) == ("C in tiles, operand 1 packed", 4, 1e-3)
    assert row(parts) == ("C in parts", 1, 5e-3)
    assert tiles.failed == [("another result", 1)]
    assert not tiles.nodes
    assert not tiles.leaves


def test_candidates_of_the_scripts_schedule_are_said_to_be_that() -> None:
    (mine,) = sketches(
        [timed(1e-3, "0 1"), timed(2e-3, "0 2")],
        [("way", "template 1a2b"), ("C.i.factor", 4), ("C.i.factor", 8)],
        [],
        [],
    )
    assert row(mine) == ("the script’s primitives", 2, 1e-3)
    assert TEMPLATE == WAY


def test_the_chosen_branch_is_unfolded_to_its_candidates() -> None:
    tiles = sketches(TRIALS, TABLE, [], TABLE[:2])[0]
    assert [row(node) for node in tiles.nodes] == [
        ("C vector 1, 0.inner 8", 2, 1e-3),
        ("C vector 1, 0.inner 4", 2, 2e-3),
    ]
    assert json.loads(tiles.key) == [], "pressed again, it is folded"
    only = msgspec.json.decode(tiles.nodes[1].key, type=list[Decision])
    assert inside(TRIALS, TABLE, only) == {0, 1}
    node = sketches(TRIALS, TABLE, [], [*only, *TABLE[5:7]])[0].nodes[1].nodes[0]
    assert row(node) == ("C 0.outer 4 × 2, r0.inner 8", 2, 2e-3)
    assert [(leaf.trial, leaf.words) for leaf in node.leaves] == [(1, ""), (0, "C unroll yes")]


def test_refusals_stand_at_their_sketch_or_at_its_beginning() -> None:
    refused = [Refusal(sketch=TABLE[:2], reason="no", count=3), Refusal(sketch=TABLE[:1], reason="not inside", count=2)]
    refused.append(Refusal(reason="at once", count=1))
    nodes = {node.words: node for node in sketches(TRIALS, TABLE, refused, [])}
    assert nodes["C in tiles, operand 1 packed"].failed == [("no", 3), ("another result", 1)]
    assert nodes["C in tiles"].failed == [("not inside", 2)]
    assert nodes["C in tiles"].count == 0
    assert nodes["before a rule was chosen"].failed == [("at once", 1)]


def test_candidates_without_a_sketch_and_very_many_are_shown() -> None:
    trials, table = [timed(1e-3 * n, str(n)) for n in range(1, 100)], [("D.lanes", n) for n in range(100)]
    nodes = sketches(trials, table, [], [])
    assert len(nodes) == MOST
    assert nodes[0].words == "D lanes 1"
    many = [timed(1e-3 * n, f"0 {n}") for n in range(1, 100)]
    (node,) = sketches(many, [("C.way", "tiles"), *[("C.at", n) for n in range(99)]], [], [("C.way", "tiles")])
    assert len(node.leaves) == MOST
    assert node.left_out == 99 - MOST


def test_sketches_are_what_a_search_calls_so() -> None:
    assert SKETCH == choices.SKETCH
    a, b = (te.placeholder((16, 16), name=name) for name in "AB")
    k = te.reduce_axis((0, 16), name="k")
    c = te.compute((16, 16), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    space = ScheduleSpace(te.create_prim_func([a, b, c]), Machine.of(Target("llvm"), 1))
    rng = random.Random(1)
    made = [space.sample(rng) for _ in range(20)]
    table = list(dict.fromkeys(each for candidate in made for each in candidate))
    listed: list[Decision] = [(name, [*v] if isinstance(v, tuple) else v) for name, v in table]
    trials = [timed(1e-3, " ".join(str(table.index(each)) for each in candidate)) for candidate in made]
    assert len(sketches(trials, listed, [], [])) == len({choices.sketch(candidate) for candidate in made}) > 1


def test_the_tree_is_drawn_and_the_charts_show_its_open_branch(client: FlaskClient) -> None:
    trials = [{"kind": "ok", "seconds": 1e-3, "choices": "0 2"}, {"kind": "ok", "seconds": 2e-3, "choices": "1"}]
    refused = [{"sketch": [["C.way", "plain"]], "reason": "<no>", "count": 2}]
    html = client.post(
        "/search", data=asked(trials, only=[["C.way", "tiles"], ["C.0.outer", [4, 2]]], refused=refused), headers=HX
    ).text
    for shown in ("1 of 2 candidates", "2 × &lt;no&gt;", 'aria-expanded="true"', "Candidate 1</button>"):
        assert shown in html, shown
    assert html.count(" outside") == 1
    deep = [["C.way", "tiles"]] * 201
    assert client.post("/search", data=asked(trials, only=deep), headers=HX).status_code == 422
