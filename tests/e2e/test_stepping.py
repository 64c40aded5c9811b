"""From step to step of the timeline: texts and drawings come once, stay where one was, and the newest one wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec
import pytest
from playwright.sync_api import Page, Route, expect

from app.artifacts import Answer, Drawing, GraphEdge, GraphNode, Step, Unit, drawing_key
from app.sandbox import Runner
from tests.app.fixtures import AnswerRunner, listing
from tests.e2e.conftest import Console
from tests.e2e.steps import lines, refuse, settled

STEPS, LINES, NODES = 6, 180, 60
WIDE = 90
"""The line that is wider than any pane."""
PLACE = "body => [body.scrollLeft, body.scrollTop]"
TELLS = "() => [document.getElementById('body-graph').dataset.listing, document.getElementById('graph').dataset.key]"
CHOSEN = "() => { const { dataset } = document.getElementById('step-graph').selectedOptions[0];" + (
    " return [dataset.listing, dataset.drawing]; }"
)


def text_of(step: int) -> str:
    return "\n".join(f"%{n} = add(%{n}, {step}f)" + " # wide" * 60 * (n == WIDE) for n in range(LINES))


def chain(step: int) -> Drawing:
    """Return a drawing that is much higher than its pane."""
    nodes = [GraphNode(key=str(n), label="add", detail=f"{step}") for n in range(NODES)]
    made = Drawing(key="", name="main", nodes=nodes, edges=[GraphEdge(n, n + 1) for n in range(NODES - 1)])
    return msgspec.structs.replace(made, key=drawing_key(made))


def stepped_answer() -> Answer:
    """Return an answer whose graph has several steps, each with a text and a drawing."""
    texts = [listing("graph", "relay", text_of(step), {}) for step in range(STEPS)]
    drawings = [chain(step) for step in range(STEPS)]
    steps = [
        Step(group="graph", name=f"Pass{n}", listing=text.key, drawing=drawing.key)
        for n, (text, drawing) in enumerate(zip(texts, drawings, strict=True))
    ]
    return Answer(
        units=[Unit(name="main", kind="graph", steps=steps)],
        listings={text.key: text for text in texts},
        drawings={drawing.key: drawing for drawing in drawings},
    )


@pytest.fixture
def page(serve: Callable[[Runner], str], open_page: Callable[..., Page]) -> Page:
    page = open_page(serve(AnswerRunner(stepped_answer())))
    expect(page.locator("#graph .node")).to_have_count(NODES)
    settled(page)
    page.locator("#body-graph").focus()
    return page


def press(page: Page, keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_what_a_key_shows_is_asked_for_once_and_most_of_it_before(page: Page) -> None:
    asked: Counter[str] = Counter()
    page.on("request", lambda request: asked.update([request.url]))
    parts = 2 * 3  # text and drawing of this step and the next two
    with page.expect_event("request", lambda _: len(asked) == parts):
        press(page, "[")
    settled(page)
    assert lines(page, "graph") == text_of(STEPS - 2).split("\n")
    assert len(asked) == parts
    press(page, "[[]][[")
    settled(page)
    assert lines(page, "graph") == text_of(STEPS - 4).split("\n")
    assert set(asked.values()) == {1}


@pytest.mark.long
def test_the_newest_step_is_shown_though_an_older_one_comes_later(page: Page) -> None:
    held: list[Route] = []

    def turn_round(route: Route) -> None:
        held.append(route)
        if len(held) == 2:
            route.fulfill(response=route.fetch())
            held[0].continue_()

    page.route("**/text/graph?*", turn_round)
    page.select_option("#step-graph", index=1)
    page.select_option("#step-graph", index=2)
    settled(page)
    assert len(held) == 2
    assert page.evaluate(TELLS) == page.evaluate(CHOSEN)
    assert lines(page, "graph") == text_of(2).split("\n")


@pytest.mark.long
def test_a_text_stays_where_it_was_scrolled_to(page: Page) -> None:
    text = page.locator("#body-graph")
    text.locator(".l").nth(WIDE).scroll_into_view_if_needed()
    text.evaluate("body => { body.scrollLeft = 900; }")
    before = text.evaluate(PLACE)
    assert before[0] == 900
    assert before[1] > 0
    press(page, "[")
    expect(text.locator(".l").nth(WIDE)).to_contain_text(f"{STEPS - 2}f")
    assert text.evaluate(PLACE) == before
    settled(page)
    assert text.evaluate(PLACE) == before
    assert lines(page, "graph") == text_of(STEPS - 2).split("\n")


@pytest.mark.long
def test_a_text_that_the_server_has_forgotten_comes_with_a_new_answer(page: Page, console: Console) -> None:
    refuse(page, "**/text/graph?*", 404, times=1)
    with page.expect_response("**/panes"):
        press(page, "[")
    settled(page)
    assert page.evaluate(TELLS) == page.evaluate(CHOSEN)
    assert lines(page, "graph") == text_of(STEPS - 2).split("\n")
    assert [said for said in console.said if "404" not in said] == []
    console.said.clear()


@pytest.mark.long
def test_the_parts_of_a_drawing_that_are_out_of_sight_are_not_laid_out(page: Page) -> None:
    widths = page.evaluate(
        "() => [':not([hidden])', '[hidden]'].map((kind) => Math.max("
        "...[...document.querySelectorAll(`#graph .band${kind} text`)].map((text) => text.getComputedTextLength())))"
    )
    assert widths[0] > 0
    assert widths[1] == 0
