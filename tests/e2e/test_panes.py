"""What holds for each pane of the table alike: long texts arrive, and what is old says so."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec
import pytest
from playwright.sync_api import Page, expect

from app.artifacts import Answer, Drawing, GraphNode, Kernel, Step, Unit, drawing_key
from app.panes import table
from app.sandbox import Runner
from app.workers.in_process import InProcess
from tests.app.fixtures import AnswerRunner, full_answer, listing
from tests.app.test_recipes import cuda_answer, cuda_row
from tests.e2e.conftest import Console
from tests.e2e.steps import settled, write

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


@pytest.mark.long
@pytest.mark.parametrize("pane", ["loops", "graph"])
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
    page.click(".cm-content")
    page.keyboard.type("refuse = True\n")
    expect(page.locator("#state")).to_have_text("the server is busy; still trying …")
    stale = page.locator(".pane.stale").evaluate_all("panes => panes.map((pane) => pane.dataset.pane)")
    # What is the visitor's own, what the script printed, and what is computed when it is asked for.
    own = {"source", "console", "player", "adapter", "conformance"}
    names = "panes => panes.map((pane) => pane.dataset.pane)"
    nothing = page.locator(".pane:has(.empty, .flow:empty)").evaluate_all(names)
    assert set(stale) == {pane.name for pane in table.PANES} - own - set(nothing)
    assert {"graph", "loops", "kernels"} <= set(stale)
    expect(page.locator("#strip")).to_have_class("strip stale")
    assert all("503" in said for said in console.said)
    console.said.clear()
    write(page, "fine = True")
    expect(page.locator(".stale")).to_have_count(0)


@pytest.mark.long
def test_a_link_whose_script_fails_says_so_in_every_pane(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    write(page, "raise X\n" + page.locator("#script").input_value())
    expect(page.locator("#pane-asm")).to_contain_class("stale")  # an earlier text of the same script stays
    page.click("#share-button")
    expect(page).to_have_url(re.compile(r"/z/\w+"))
    other = open_page(page.url)
    settled(other)
    for pane, title in {"loops": "loop IR", "llvm": "LLVM IR", "asm": "assembly"}.items():
        said = f"No {title}: the script ended with ValueError at line 1 before it made any."
        expect(other.locator(f"#body-{pane} .empty")).to_have_text(said)
    expect(other.locator(".pane.stale")).to_have_count(0)  # nothing is shown that could be


@pytest.mark.long
@pytest.mark.parametrize("view", ["/", "/?view=read"])
def test_a_pane_s_head_shows_all_that_it_says(explorer: str, open_page: Callable[..., Page], view: str) -> None:
    page = open_page(explorer + view, width=1280, height=800)
    page.wait_for_selector("#body-asm .l")
    page.evaluate("document.querySelectorAll('.pane').forEach((pane) => pane.classList.add('stale'))")
    cut_off = page.locator("#upper .pane-head").evaluate_all(
        "heads => heads.filter((h) => h.scrollHeight > h.clientHeight + 1).map((h) => h.innerText)"
    )
    assert cut_off == []
    page.set_viewport_size({"width": 390, "height": 844})
    marks = page.locator(".grouped > .pane:not(.listing) > .pane-head").evaluate_all(
        "heads => heads.map((head) => [getComputedStyle(head, '::before'), "
        "getComputedStyle(head.querySelector('h2'), '::after')].filter(({ content }) => /stale/.test(content)).length)"
    )
    assert set(marks) == {1}, "where one pane shows at a time, it is marked once"


@pytest.mark.long
def test_a_new_row_of_the_table_is_a_pane_like_the_others(
    serve: Callable[..., str], open_page: Callable[..., Page], monkeypatch: pytest.MonkeyPatch, console: Console
) -> None:
    monkeypatch.setattr(table, "PANES", (*table.PANES, cuda_row()))
    page = open_page(serve(AnswerRunner(cuda_answer()), InProcess()), width=1680)
    line = page.locator("#body-cuda .l", has_text="x = 1 < 2;")
    line.hover()
    expect(page.locator("#body-asm .l.related").first).to_be_visible()
    page.locator("#body-cuda .l", has_text="__global__").click()
    expect(page.locator("#toast")).to_contain_text("it declares the kernel")
    expect(page.locator("#strip .group.cuda .chip")).to_have_attribute("aria-pressed", "true")
    page.locator("#pane-cuda .close").click()
    expect(page.locator("#pane-cuda")).to_be_hidden()
    page.click("#panes-menu summary")
    page.get_by_role("checkbox", name="CUDA").check()
    expect(page.locator("#pane-cuda")).to_be_visible()
    page.click(".cm-content")
    page.keyboard.type("refuse = True\n")
    expect(page.locator("#pane-cuda")).to_have_class(re.compile("stale"))
    assert all("503" in said for said in console.said)
    console.said.clear()


@pytest.mark.long
@pytest.mark.parametrize("tab", ["Assembly", "Kernels"])
def test_a_narrow_page_opens_again_at_the_tab_that_it_was_left_at(
    serve: Callable[[Runner], str], open_page: Callable[..., Page], tab: str
) -> None:
    page = open_page(serve(AnswerRunner(model_answer())), width=800)
    page.click(f"#tabs button:has-text('{tab}')")
    shown = page.locator(".pane:visible").get_attribute("id")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    expect(page.locator(".pane:visible")).to_have_count(1)
    assert page.locator(".pane:visible").get_attribute("id") == shown
    page.evaluate("localStorage.setItem('strata.tab', 'gone')")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#pane-source")).to_be_visible()
