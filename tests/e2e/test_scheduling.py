"""Schedules by hand: loops and stages are dragged, or take what their menus offer; the script writes itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.app.recorder.proposals.test_proposer import BLUR
from tests.e2e.steps import MATMUL, settled, violations, write

MENU = "#proposals"


def grip(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=f"What {name} can take next", exact=True)


def script(page: Page) -> str:
    return "\n".join(page.locator(".cm-line").all_inner_texts())


def hover_over(page: Page, name: str, row: str, share: float = 0.1) -> None:
    """Drag a handle over a row of the schedule, to a share of its height, and stay there."""
    start, box = grip(page, name).bounding_box(), page.locator("#pane-schedule p", has=grip(page, row)).bounding_box()
    assert start
    assert box
    page.mouse.move(start["x"] + 5, start["y"] + 5)
    page.mouse.down()
    page.mouse.move(start["x"] + 30, start["y"] + 5, steps=3)
    page.wait_for_selector("#pane-schedule :is(.takes, .refuses)")
    page.mouse.move(box["x"] + 40, box["y"] + share * box["height"], steps=4)


@pytest.fixture
def matmul(explorer: str, open_page: Callable[..., Page]) -> Page:
    page = open_page(explorer)
    write(page, MATMUL)
    return page


def test_a_loop_is_dragged_to_another_place_and_undo_takes_it_back(matmul: Page) -> None:
    page = matmul
    before = script(page)
    hover_over(page, "loop k of C", "loop i of C")
    expect(page.locator("#drop-tip")).to_contain_text("s[C].reorder(k, i, jo, ji)")
    page.mouse.up()
    settled(page)
    assert "s[C].reorder(k, i, jo, ji)" in script(page)
    assert script(page).count("reorder") == 1
    expect(page.locator("#pane-schedule .axis")).to_have_text(["k", "i", "j.outer", "j.inner"])
    page.click(".cm-content")
    page.keyboard.press("Control+z")
    settled(page)
    assert script(page) == before
    page.keyboard.press("Control+y")
    settled(page)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert "s[C].reorder(k, i, jo, ji)" in script(page)


def test_the_menu_splits_by_keyboard(matmul: Page) -> None:
    page = matmul
    grip(page, "loop i of C").focus()
    page.keyboard.press("Enter")
    expect(page.locator(MENU)).to_contain_text("no loop of C is parallel")
    assert violations(page) == []
    page.locator(f"{MENU} input").fill("8")
    page.keyboard.press("Enter")
    expect(page.locator(".cm-content")).to_contain_text("io, ii = s[C].split(i, factor=8)")
    settled(page)
    expect(page.locator("#pane-schedule .axis")).to_have_text(["i.outer", "i.inner", "j.outer", "k", "j.inner"])
    grip(page, "loop i.outer of C").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(f"{MENU} li button")
    expect(page.locator(f"{MENU} li button").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(MENU)).to_be_hidden()
    expect(grip(page, "loop i.outer of C")).to_be_focused()


def test_an_illegal_drop_says_why_before_it_is_made(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    unrolled = "ko, ki = s[C].split(k, factor=4)\ns[C].reorder(i, jo, ko, ki, ji)\ns[C].unroll(ki)"
    write(page, MATMUL.replace("s[C].reorder(i, jo, k, ji)", unrolled).replace("n = 64", "n = 256"))
    before = script(page)
    hover_over(page, "loop k.inner of C", "loop i of C")
    expect(page.locator("#drop-tip.refusal")).to_contain_text("unroll fewer loops")
    page.mouse.up()
    expect(page.locator("#toast")).to_contain_text("Cannot move outside of i")
    assert script(page) == before


def test_a_neighbour_is_fused_by_dropping_onto_its_middle(matmul: Page) -> None:
    page = matmul
    hover_over(page, "loop i of C", "loop j.outer of C", share=0.5)
    expect(page.locator("#drop-tip")).to_contain_text("s[C].fuse(i, jo)")
    page.keyboard.press("Escape")
    expect(page.locator("#drop-tip")).to_be_hidden()
    page.mouse.up()
    assert "fuse" not in script(page)


def test_a_stage_is_dragged_into_a_loop(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, BLUR)
    hover_over(page, "stage across", "loop y of blur", share=0.5)
    page.mouse.up()
    expect(page.locator(".cm-content")).to_contain_text("compute_at")
    assert "y, x = s[blur].op.axis\ns[across].compute_at(s[blur], y)" in script(page)
    expect(page.locator("#pane-schedule h3 small").first).to_have_text("at blur, y")


def test_a_finger_opens_the_menu(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, 390, 800, has_touch=True)
    write(page, MATMUL)
    page.locator("#tabs button", has_text="Schedule").click()
    grip(page, "loop i of C").tap()
    page.locator(f"{MENU} button", has_text="parallel").first.tap()
    expect(page.locator(".cm-content")).to_contain_text("s[C].parallel(i)")
