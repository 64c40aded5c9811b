"""What holds for each pane of the table alike: long texts arrive, and what is old says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
import pytest
from playwright.sync_api import Page, expect

from app.artifacts import Answer, Drawing, GraphNode, Kernel, Snapshot, Step, Unit, drawing_key
from app.sandbox import Job, Limits, Runner, SandboxError
from tests.app.fixtures import FixedRunner, full_answer, listing
from tests.e2e.conftest import Console
from tests.e2e.steps import write

LINES = 3_000
GROUPS = {"graph": ("graph", "relay", "graph"), "loops": ("loop", "python", "function")}
"""Pane with steps -> level and language of its listing, and the kind of unit."""


def long_answer(pane: str) -> Answer:
    """Return an answer whose last step in a pane is a long text."""
    level, language, kind = GROUPS[pane]
    text = listing(level, language, "\n".join(f"x = {n}" for n in range(LINES)), {})
    group = "graph" if pane == "graph" else "lowering"
    unit = Unit(name="long", kind=kind, steps=[Step(group=group, name="Unroll", listing=text.key)])  # type: ignore[arg-type]
    return Answer(units=[unit], listings={text.key: text})


class AnswerRunner(FixedRunner):
    """Gives one answer to every script, and no sandbox to those that say ``refuse``."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def start(self, request: bytes, files: Mapping[str, bytes] | None = None, limits: Limits | None = None) -> Job:
        if b"refuse" in request:
            raise SandboxError("no process")
        return self.job(msgspec.json.encode(Snapshot(answer=self._answer)))


@pytest.mark.parametrize("pane", GROUPS)
def test_the_end_of_a_long_text_is_fetched_when_it_is_scrolled_to(
    serve: Callable[[Runner], str], open_page: Callable[..., Page], pane: str
) -> None:
    page = open_page(serve(AnswerRunner(long_answer(pane))))
    assert page.locator(f"#body-{pane} .l").count() < LINES
    page.locator(f"#body-{pane}").evaluate("body => { body.scrollTop = body.scrollHeight; }")
    expect(page.locator(f"#body-{pane} .l", has_text=f"x = {LINES - 1}")).to_be_in_viewport()


def model_answer() -> Answer:
    """Return an answer that has something for each pane."""
    answer = full_answer()
    text = listing("graph", "relay", "def @main(%x: Tensor[(1), float32]) {\n  add(%x, 1f)\n}", {2: [1]})
    drawing = Drawing(key="", name="main", nodes=[GraphNode(key="add", label="add")], edges=[])
    drawing = msgspec.structs.replace(drawing, key=drawing_key(drawing))
    step = Step(group="graph", name="Graph", listing=text.key, drawing=drawing.key)
    graph = Unit(name="main", kind="graph", steps=[step], kernels=[Kernel(name="fused_add", operators=["add"])])
    return msgspec.structs.replace(
        answer,
        units=[graph, *answer.units],
        listings={**answer.listings, text.key: text},
        drawings={drawing.key: drawing},
    )


def test_what_a_refused_compilation_leaves_is_marked_as_stale(
    serve: Callable[[Runner], str], open_page: Callable[..., Page], console: Console
) -> None:
    page = open_page(serve(AnswerRunner(model_answer())))
    expect(page.locator(".pane.stale")).to_have_count(0)
    write(page, "refuse = True")
    expect(page.locator("#state")).to_contain_text("scripts cannot be run now")
    stale = page.locator(".pane.stale").evaluate_all("panes => panes.map((pane) => pane.dataset.pane)")
    assert set(stale) == {"graph", "drawing", "kernels", "loops", "llvm", "asm", "schedule", "bench"}
    expect(page.locator("#strip")).to_have_class("strip stale")
    assert all("503" in said for said in console.said)
    console.said.clear()
    write(page, "fine = True")
    expect(page.locator(".stale")).to_have_count(0)
