"""What the editor knows of the public API: names to complete, and their documentation, by pointer and by keyboard."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec
import pytest
from playwright.sync_api import Page, expect

from app.sandbox import Runner
from tests.app.fixtures import AnswerRunner, full_answer
from tests.e2e.conftest import Console
from tests.e2e.steps import violations, write

LIST = ".cm-tooltip-autocomplete"
SCRIPT = """\
import tvm
from tvm import relay as r, te
from tvm.relay import (
    nn as layers,
)

x = r.var("x", shape=(1, 8))
y = layers.relu(x)
z = r.nn.softmax(y)
"""
VALUES = """\
from tvm import te

A = te.placeholder((64,), name="A")
C = te.compute((64,), lambda i: A[i] * 2.0, name="C")
s = te.create_schedule(C.op)
outer, inner = s[C].split(C.op.axis[0], 8)
"""


def type_at_end(page: Page, text: str) -> None:
    page.keyboard.press("Control+End")
    page.keyboard.type(text, delay=20)


def point_at(page: Page, line: int, word: str) -> None:
    """Move the pointer over a word of a line of the script."""
    box = page.locator(f".cm-line:nth-child({line})").evaluate(
        """(line, word) => {
            const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
            while (walker.nextNode()) {
                const at = walker.currentNode.data.indexOf(word);
                if (at < 0) continue;
                const range = document.createRange();
                range.setStart(walker.currentNode, at);
                range.setEnd(walker.currentNode, at + word.length);
                const { x, y, width, height } = range.getBoundingClientRect();
                return [x + width / 2, y + height / 2];
            }
        }""",
        word,
    )
    page.mouse.move(*box)


MODULES = {
    "relay.nn.conv2": "conv2d",
    "layers.den": "dense",
    "from tvm.relay import buil": "build",
    "sch = tvm.tir.Schedule(mod)\nsch.decomp": "decompose_reduction",
}
MORE_MODULES = {
    "r.transform.Fus": "FuseOps",
    "topi.transp": "transpose",
    "tvm.transform.Seq": "Sequential",
    "mod.ast": "astext",
    "s[C].unr": "unroll",
}
COMMONEST = {"relay.nn.con": "conv2d", "relay.nn.contrib_": "contrib_conv2d"}


@pytest.mark.parametrize("names", [MODULES, MORE_MODULES], ids=["some", "more"])
@pytest.mark.long
def test_names_of_every_public_module_are_completed(
    fixed: str, open_page: Callable[..., Page], names: dict[str, str]
) -> None:
    page = open_page(fixed)
    for typed, offered in names.items():
        write(page, SCRIPT)
        type_at_end(page, typed)
        expect(page.locator(f"{LIST} li", has_text=offered).first).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator(LIST)).to_be_hidden()


@pytest.mark.long
def test_the_commonest_names_come_first(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    for typed, first in COMMONEST.items():
        write(page, SCRIPT)
        type_at_end(page, typed)
        expect(page.locator(f"{LIST} li").first).to_contain_text(first)
        page.keyboard.press("Escape")


def uncovered(page: Page, selector: str) -> bool:
    """Return whether the middle of an element can be seen."""
    seen: bool = page.locator(selector).evaluate(
        """node => {
            const { x, y, width, height } = node.getBoundingClientRect();
            return node.contains(document.elementFromPoint(x + width / 2, y + height / 2));
        }"""
    )
    return seen


@pytest.mark.long
def test_a_completion_shows_its_documentation(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    write(page, SCRIPT)
    type_at_end(page, "layers.softma")
    info = page.locator(".cm-completionInfo .documentation")
    expect(info.locator(".signature")).to_contain_text("softmax(data")
    expect(info).to_have_attribute("data-name", "tvm.relay.nn.softmax")
    assert uncovered(page, ".cm-completionInfo .signature"), "it is cut off, or lies under something"
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(page.locator(LIST)).to_have_count(0)


@pytest.mark.long
def test_a_value_offers_its_members_and_says_what_it_is(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    write(page, VALUES)
    type_at_end(page, "C.op.")
    expect(page.locator(LIST).filter(has_text="reduce_axis")).to_be_visible()
    page.keyboard.press("Escape")
    type_at_end(page, "axis[0].")
    expect(page.locator(LIST).filter(has_text="thread_tag")).to_be_visible()
    page.keyboard.press("Escape")
    point_at(page, 6, "outer")
    expect(page.locator(".cm-tooltip-hover .documentation")).to_have_attribute("data-name", "tvm.tir.IterVar")


def shown_hint(page: Page) -> str:
    """Return what the style sheet shows behind the line that has a hint."""
    content: str = page.locator(".cm-line[data-hint]").evaluate("node => getComputedStyle(node, '::after').content")
    return content


@pytest.mark.long
def test_hints_stand_behind_lines_until_these_are_edited(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    write(page, VALUES)
    hinted = page.locator(".cm-line[data-hint]")
    expect(hinted).to_have_text('A = te.placeholder((64,), name="A")')
    assert shown_hint(page) == '"(64) float32"'
    page.route("**/panes", lambda route: None)  # nothing is compiled any more
    type_at_end(page, "x")
    expect(page.locator(".outdated-hints")).to_have_count(1)
    expect(hinted).to_have_count(1)
    hinted.click()
    page.keyboard.type("x")
    expect(hinted).to_have_count(0)


@pytest.mark.long
def test_hints_are_shown_as_one_chose_and_not_on_a_phone(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    page.click("#panes-menu summary")
    page.uncheck("#inlay-hints")
    page.reload()
    write(page, VALUES)
    assert shown_hint(page) == "none"
    page.click("#panes-menu summary")
    page.check("#inlay-hints")
    assert shown_hint(page) == '"(64) float32"'
    phone = open_page(fixed, 390, 844)
    phone.click("#panes-menu summary")
    expect(phone.locator("#inlay-hints")).not_to_be_checked()


@pytest.mark.long
def test_nothing_is_asked_for_names_of_other_packages(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    write(page, "import numpy as np\n")
    type_at_end(page, "np.linalg.no")
    page.wait_for_timeout(400)
    assert not [url for url in asked if "linalg" in url or "/np" in url]
    expect(page.locator(LIST)).to_have_count(0)


@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "word", "name"), [(9, "softmax", "tvm.relay.nn.softmax"), (8, "layers", "tvm.relay.nn")]
)
def test_hovering_documents_a_name(fixed: str, open_page: Callable[..., Page], line: int, word: str, name: str) -> None:
    page = open_page(fixed)
    write(page, SCRIPT)
    point_at(page, line, word)
    expect(page.locator(".cm-tooltip-hover .documentation")).to_have_attribute("data-name", name)
    page.get_by_role("separator", name="Between source and console").focus()
    page.keyboard.press("Shift+Tab")  # what shows under the pointer is no stop of Tab
    expect(page.locator(".cm-content")).to_be_focused()


def test_tab_goes_through_the_editor_and_indents_for_whoever_writes_in_it(
    fixed: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(fixed)
    before = page.locator(".cm-content").inner_text()
    page.get_by_role("button", name="+ File").focus()
    focused = "document.activeElement.classList.contains('cm-content')"
    for _ in range(6):
        page.keyboard.press("Tab")
        if page.evaluate(focused):
            break
    expect(page.locator(".cm-content")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator(".cm-content")).not_to_be_focused()
    assert page.locator(".cm-content").inner_text() == before
    page.locator(".cm-content").click()
    page.keyboard.press("Control+Home")
    page.keyboard.press("Tab")
    expect(page.locator(".cm-line").first).to_have_text(re.compile("^    "))


@pytest.mark.long
def test_documentation_is_reached_and_left_by_keyboard(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    write(page, SCRIPT)
    page.keyboard.press("Control+End")
    page.keyboard.press("ArrowUp")
    for _ in range(len("z = r.nn.soft")):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("F1")
    article = page.locator(".documentation")
    expect(article).to_have_attribute("data-name", "tvm.relay.nn.softmax")
    expect(page.locator("#announce")).to_contain_text("softmax")
    assert violations(page) == []
    page.keyboard.press("F1")
    expect(article).to_be_focused()
    page.keyboard.press("Escape")
    expect(article).to_have_count(0)
    expect(page.locator(".cm-content")).to_be_focused()
    page.keyboard.press("Control+Home")
    page.keyboard.press("F1")
    expect(page.locator("#announce")).to_contain_text("No documentation")
    expect(article).to_have_count(0)


RENAMED = """\
import tvm
from tvm import te

A = te.placeholder((64, 64), name="A")
B = te.compute((64, 64), lambda i, j: A[i, j] + 1.0, name="B")
s = te.create_schedule(B.op)
i, factor = B.op.axis
io, ii = s[B].split(i, factor=8)
s[B].reorder(io, factor, ii)
"""


@pytest.mark.long
def test_the_signature_follows_the_arguments(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    write(page, RENAMED)
    type_at_end(page, "s[B].split(ii, ")
    shown = page.locator(".signature-help")
    expect(shown.locator(".signature")).to_contain_text("split(parent")
    expect(shown.locator("strong")).to_contain_text("factor")
    page.keyboard.type("nparts=")
    expect(shown.locator("strong")).to_contain_text("nparts")
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(shown).to_have_count(0)


@pytest.mark.long
def test_an_axis_is_renamed_in_all_its_uses_and_undo_takes_it_back(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    write(page, RENAMED)
    page.locator(".cm-line", has_text="i, factor = B.op.axis").click(position={"x": 3, "y": 8})
    page.keyboard.press("F2")
    page.keyboard.type("row")
    assert violations(page) == []
    page.keyboard.press("Enter")
    content = page.locator(".cm-content")
    expect(content).to_contain_text("row, factor = B.op.axis")
    expect(content).to_contain_text("s[B].split(row, factor=8)")
    expect(content).to_contain_text("lambda i, j: A[i, j]")
    page.keyboard.press("F2")
    page.keyboard.type("2x")
    page.keyboard.press("Enter")
    expect(page.locator("#toast")).to_have_text("2x is not a valid variable name")
    page.keyboard.press("Control+a")
    page.keyboard.type("io")
    page.keyboard.press("Enter")
    expect(page.locator("#toast")).to_have_text("The script already has a variable io")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+z")
    expect(content).to_contain_text("i, factor = B.op.axis")


def test_the_script_is_formatted_by_button_and_by_key_and_undo_takes_it_back(
    fixed: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(fixed)
    write(page, "import tvm\nx = [ 1,2 ]\ny   = 3\n")
    content = page.locator(".cm-content")
    page.click("#format-button")
    expect(content).to_contain_text("x = [1, 2]")
    expect(content).to_contain_text("y = 3")
    page.click(".cm-content")
    page.keyboard.press("Control+z")
    expect(content).to_contain_text("x = [ 1,2 ]")
    page.keyboard.press("Shift+Alt+F")
    expect(content).to_contain_text("x = [1, 2]")


@pytest.mark.long
def test_what_cannot_be_formatted_says_where(fixed: str, open_page: Callable[..., Page], console: Console) -> None:
    page = open_page(fixed)
    write(page, "x = (\n")
    page.click("#format-button")
    expect(page.locator("#toast")).to_contain_text(re.compile(r"Not formatted: line \d+, column \d+"))
    expect(page.locator(".cm-content")).to_contain_text("x = (")
    assert all("422" in said for said in console.said)
    console.said.clear()


@pytest.mark.long
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_problems_are_counted_and_listed(fixed: str, open_page: Callable[..., Page], theme: str) -> None:
    page = open_page(fixed, color_scheme=theme)
    expect(page.locator("#problems-button")).to_be_hidden()
    write(page, "raise X\n")
    button = page.locator("#problems-button")
    expect(button).to_have_text("1 problem")
    button.focus()
    page.keyboard.press("Enter")
    listed = page.locator(".cm-panel-lint li")
    expect(listed).to_contain_text("ValueError")
    assert violations(page) == []
    page.keyboard.press("Enter")
    expect(page.locator(".cm-content")).to_be_focused()
    page.keyboard.press("Control+Shift+M")
    page.keyboard.press("Escape")
    expect(page.locator(".cm-panel-lint")).to_have_count(0)


@pytest.mark.long
def test_all_lines_of_a_statement_have_its_colour_however_late_they_are_parsed(
    serve: Callable[[Runner], str], open_page: Callable[..., Page]
) -> None:
    before = 4_000
    origins = [msgspec.structs.replace(origin, line=before + 1) for origin in full_answer().origins]
    page = open_page(serve(AnswerRunner(msgspec.structs.replace(full_answer(), origins=origins))))
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 8})
    write(page, "x = [1, 2]\n" * before + "C = compute(\n    (1, 2),\n    3,\n)\n")
    statement = page.locator(".cm-line", has_text=re.compile(r"^C = compute|^    |^\)"))
    expect(statement).to_have_count(4)
    for number in range(4):
        expect(statement.nth(number)).to_have_class(re.compile(r"\bt\d"))
