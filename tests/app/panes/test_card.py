"""What preview cards say, and that whatever links hold stays within their pictures."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.artifacts import Answer, Drawing, GraphNode, Loop, Step, Unit
from app.panes.card import HEIGHT, ROWS, WIDTH, Card, CardRow, KeptRung, card_of
from tests.app.fixtures import full_answer

SCRIPT = '"""A title\n\nWords.\n"""\nimport tvm\n\nx = 1\nfor y in x:\n    pass\n'


def rung(kind: str, gflops: object, cpu: object = "Some CPU") -> str:
    return json.dumps([kind, kind, 0.1, 0, 5, 1, 1, 1e9, gflops, None, "ok", 0.0, cpu, "", "", None])


def test_a_nest_has_the_colours_of_the_lines_that_its_loops_come_from() -> None:
    card = card_of(full_answer(), SCRIPT, "A title", "Words.", {})
    assert [(row.text, row.detail, row.note, row.depth, row.tint) for row in card.rows] == [
        ("C", "", "root", 0, 0),
        ("i_outer", "2", "parallel", 0, 1),
        ("k", "64", "reduce", 1, 0),
        ("C[i, j] += A[i, k] * B[k, j]", "", "", 2, 0),
    ]
    assert (card.rate, card.left_out) == ("", 0)


def test_the_deepest_stage_comes_first_and_what_has_no_room_is_counted() -> None:
    answer = full_answer()
    [unit] = answer.units
    deep = [Loop(name=f"i{depth}", extent="2", kind="spatial", depth=depth) for depth in range(ROWS)]
    stages = [*unit.schedule, msgspec.structs.replace(unit.schedule[0], name="D", loops=deep)]
    card = card_of(
        msgspec.structs.replace(answer, units=[msgspec.structs.replace(unit, schedule=stages)]), "", "", "", {}
    )
    assert [row.text for row in card.rows[:2]] == ["D", "i0"]
    assert len(card.rows) == ROWS
    assert card.left_out == 2 + 4


def test_a_graph_is_shown_by_its_operators_with_their_types() -> None:
    nodes = [GraphNode(key="0", label="x", kind="input"), GraphNode(key="1", label="nn.relu", type="(2, 3) float32")]
    drawing = Drawing(key="d", name="main", nodes=nodes, edges=[])
    unit = Unit(name="main", kind="graph", steps=[Step(group="graph", name="Graph", drawing="d")])
    card = card_of(Answer(units=[unit], drawings={"d": drawing}), "", "", "", {})
    assert card.rows == [CardRow("nn.relu", "(2, 3) float32")]


def test_a_script_that_makes_nothing_is_shown_itself() -> None:
    for answer in (None, Answer()):
        assert [row.text for row in card_of(answer, SCRIPT, "", "", {}).rows] == ["x = 1", "for y in x:", "    pass"]


def test_of_a_long_docstring_nothing_is_shown_as_code() -> None:
    script = '"""Title\n' + "a word\n" * 2_000 + '"""\nx = 1\n'
    assert [row.text for row in card_of(None, script, "", "", {}).rows] == ["x = 1"]


def test_the_speed_is_what_the_link_says_of_its_ladder() -> None:
    view = {"rung0": rung("prefix", 2), "rung1": rung("prefix", 142.34), "rung2": rung("numpy", 138.0)}
    card = card_of(None, "", "", "", view)
    assert card.rate == "142"
    assert card.rate_notes == ["71.2× the first step", "NumPy 138 GFLOP/s", "as the link says, on", "Some CPU"]


@pytest.mark.parametrize(
    "text", ["", "[[[[", "[]", "{}", 5, *(rung("prefix", rate) for rate in (None, -1, 1e300, "9", [9], True))]
)
def test_what_is_no_measurement_is_not_told(text: object) -> None:
    assert card_of(None, "", "", "", {"rung0": text}).rate == ""


def test_measurements_are_read_in_the_order_in_which_links_keep_them() -> None:
    script = (Path(__file__).parents[3] / "static" / "js" / "ladder-link.js").read_text()
    fields = re.search(r"^const FIELDS = (\[.*\]);$", script, re.MULTILINE)
    assert fields
    names = json.loads(fields[1])
    assert tuple(names[: len(KeptRung.__struct_fields__)]) == KeptRung.__struct_fields__


# Pictures


def drawn(card: Card) -> Any:
    """Return the picture of a card, in grey."""
    image = pytest.importorskip("PIL.Image")
    from app.panes.card_picture import draw_card

    picture = image.open(io.BytesIO(draw_card(card)), formats=["PNG"])
    assert picture.size == (WIDTH, HEIGHT)
    return picture.convert("L")


HOSTILE = {
    "long": "W" * 5000,
    "words": "word " * 900,
    "directions": "\u202e\u2066right to left",
    "unwritable": "永遠" * 90,
    "marks": "a" + "\u0301" * 400,
    "controls": "\x00\x1b[31m\r\n\t",
    "empty": "",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_text_leaves_its_place(text: str) -> None:
    rows = [CardRow(text, text, text, depth=99, tint=8) for _ in range(ROWS)]
    picture = drawn(Card(text, text, rows, left_out=10**9, rate="142", rate_notes=[text, text]))
    assert picture.crop((WIDTH - 62, 0, WIDTH, HEIGHT)).getextrema() == (255, 255)


@pytest.mark.parametrize("title", ["", "永遠の道", "永 a"])
def test_a_title_that_the_font_cannot_write_is_none(title: str) -> None:
    assert drawn(Card(title, title, [])).tobytes() == drawn(Card("A tensor program", "", [])).tobytes()
    assert drawn(Card("matmul 永", "", [])).tobytes() != drawn(Card("A tensor program", "", [])).tobytes()


def test_control_characters_and_further_marks_are_left_out() -> None:
    clean, noisy = "sóme title", "so\u0301\u0302\u0302me\x00 \u202et\x1bitle"
    pictures = [drawn(Card(text, text, [CardRow(text)])).tobytes() for text in (clean, noisy)]
    assert pictures[0] == pictures[1]
    assert pictures[0] != drawn(Card("", "", [])).tobytes()
