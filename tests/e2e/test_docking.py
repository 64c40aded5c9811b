"""Panes stand where a visitor puts them: by the pointer, by keys, in links and after a reload."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import FloatRect, Page, Route, expect

from app.sandbox import Runner
from tests.e2e.conftest import PATIENCE_MS, Console
from tests.e2e.steps import MATMUL, reload, unwrap, violations, write
from tests.e2e.test_page import WideRunner

FOLLOWS = """([one, other, side]) => {
  const [a, b] = [one, other].map((name) => document.querySelector(`#pane-${name}`).getBoundingClientRect());
  return side === "right" ? Math.abs(b.left - a.right) < 3 && b.top < a.bottom && a.top < b.bottom
    : Math.abs(b.top - a.bottom) < 3 && b.left < a.right && a.left < b.right;
}"""
"""Whether the second pane is directly on a side of the first."""


def expect_place(page: Page, pane: str, side: str, of: str) -> None:
    """Wait until a pane is to the right of another, or below it."""
    page.wait_for_function(FOLLOWS, arg=[of, pane, side])


def box(page: Page, selector: str) -> FloatRect:
    """Return where an element is."""
    place = page.locator(selector).bounding_box()
    assert place is not None
    return place


def drag(page: Page, pane: str, target: str, across: float, down: float) -> None:
    """Drag a pane by its title to a place inside of another, given in shares of its width and height."""
    head, room = box(page, f"#pane-{pane} .heading"), box(page, f"#pane-{target}")
    page.mouse.move(head["x"] + 10, head["y"] + head["height"] / 2)
    page.mouse.down()
    page.mouse.move(room["x"] + room["width"] * across, room["y"] + room["height"] * down, steps=4)
    expect(page.locator("#dock-preview")).to_be_visible()


@pytest.mark.long
def test_a_pane_is_dragged_beside_another_and_stays_there(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    expect_place(page, "asm", "right", "llvm")
    drag(page, "asm", "bench", 0.1, 0.5)
    page.mouse.up()
    expect(page.locator("#dock-preview")).to_be_hidden()
    expect_place(page, "bench", "right", "asm")
    expect_place(page, "asm", "bottom", "loops")
    expect(page.locator("#announce")).to_have_text("Assembly to the left of Benchmark")
    expect(page.locator("#panes.enlarged")).to_have_count(0)
    page.locator("#body-asm .l", has_text="vfmadd231ps").hover()
    expect(page.locator("#body-loops .l.related").first).to_be_visible()
    write(page, "another answer")
    expect_place(page, "bench", "right", "asm")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    expect_place(page, "bench", "right", "asm")
    assert violations(page) == []
    page.click("#panes-menu summary")
    page.select_option("#arrangement", "")
    expect_place(page, "asm", "right", "llvm")


@pytest.mark.long
def test_the_middle_of_a_pane_swaps_and_a_side_of_the_page_is_a_row(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    llvm = box(page, "#pane-llvm")
    drag(page, "schedule", "llvm", 0.5, 0.5)
    page.mouse.up()
    expect_place(page, "schedule", "right", "loops")
    assert box(page, "#pane-schedule") == llvm
    drag(page, "console", "bench", 0.5, 0.99)
    page.mouse.up()
    page.wait_for_function("() => document.querySelector('#pane-console').getBoundingClientRect().width > 1400")
    expect_place(page, "console", "bottom", "source")


@pytest.mark.long
def test_a_pane_that_moves_stays_scrolled(serve: Callable[[Runner], str], open_page: Callable[..., Page]) -> None:
    page = open_page(serve(WideRunner()))
    unwrap(page)
    text = page.locator("#body-loops")
    text.evaluate("body => body.scrollTo(body.scrollLeft, body.scrollHeight)")
    expect(text.locator('.l[data-i="280"]')).to_be_in_viewport()
    text.evaluate("body => body.scrollTo(4000, 200)")  # as only the long line, out of sight now, lets it be
    assert text.evaluate("body => [body.scrollLeft, body.scrollTop]") == [4000, 200]
    drag(page, "loops", "bench", 0.1, 0.5)
    page.mouse.up()
    expect_place(page, "bench", "right", "loops")
    assert text.evaluate("body => [body.scrollLeft, body.scrollTop]") == [4000, 200]


@pytest.mark.long
def test_escape_leaves_a_dragged_pane_where_it_was(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    before = box(page, "#pane-asm")
    drag(page, "asm", "source", 0.1, 0.5)
    page.keyboard.press("Escape")
    expect(page.locator("#dock-preview")).to_be_hidden()
    page.mouse.up()
    assert box(page, "#pane-asm") == before


@pytest.mark.long
def test_panes_move_by_keys(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    page.keyboard.press("Escape")
    page.focus("#body-loops")
    page.keyboard.press("Alt+Shift+ArrowRight")
    expect(page.locator("#announce")).to_have_text("Loop IR to the right of LLVM IR")
    expect_place(page, "loops", "right", "llvm")
    expect(page.locator("#body-loops")).to_be_focused()
    page.keyboard.press("Alt+Shift+ArrowDown")
    expect_place(page, "bench", "bottom", "loops")
    page.keyboard.press("Alt+Shift+ArrowLeft")
    expect_place(page, "loops", "right", "source")
    page.focus("#pane-source .heading")
    page.keyboard.press("Alt+Shift+ArrowUp")
    page.wait_for_function("() => document.querySelector('#pane-source').getBoundingClientRect().width > 1400")


@pytest.mark.long
def test_a_link_keeps_where_panes_stand(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    page.click("#intro-close")  # a link has none
    drag(page, "asm", "source", 0.5, 0.95)
    page.mouse.up()
    expect_place(page, "asm", "bottom", "source")
    page.click("#share-button")
    expect(page.locator("#shared-link")).to_have_value(re.compile("/z/"))
    address = page.locator("#shared-link").input_value()
    other = open_page(address)
    expect_place(other, "asm", "bottom", "source")
    assert box(other, "#pane-asm") == box(page, "#pane-asm")
    reading = open_page(f"{address}?view=read")
    expect_place(reading, "asm", "bottom", "source")
    phone = open_page(address, 390, 844, has_touch=True)
    phone.click("#tabs button:has-text('Assembly')")
    expect(phone.locator(".pane:visible")).to_have_count(1)
    assert box(phone, "#pane-asm")["width"] == pytest.approx(390, abs=1)


@pytest.mark.long
def test_an_arrangement_that_is_none_leaves_panes_where_they_are(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    for text in ("[", "[]", '["columns","h",[1],[["x","q",[],[]]]]', '["columns","h",[1],["source"]]', "null", "7"):
        page.evaluate("text => localStorage.setItem('strata.docking', text)", text)
        reload(page)
        expect_place(page, "asm", "right", "llvm")


@pytest.mark.long
def test_a_link_of_before_panes_could_be_moved_keeps_its_sizes(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    view = {"layout.columns": "50 50", "layout.rows": "20 40 40", "layout.upper": "1 2"}
    made = page.request.post(f"{fixed}/api/links", data={"workspace": {"script": "x = 1"}, "view": view})
    assert made.ok
    page.goto(f"{fixed}/z/{made.json()['id']}")
    page.wait_for_selector("html[data-ready]")
    assert box(page, "#left")["width"] == pytest.approx(720, abs=2)
    upper, lower = box(page, "#upper"), box(page, "#lower")
    assert lower["height"] == pytest.approx(2 * upper["height"], rel=0.02)


# Tabs


def shown(page: Page, pane: str) -> None:
    """Wait until a pane is the one of its group that shows, and its tab says so."""
    expect(page.locator(f"#pane-{pane}")).to_be_visible()
    expect(page.get_by_role("tab", selected=True)).to_have_attribute("data-front", pane)


@pytest.mark.long
def test_panes_share_a_cell_as_tabs(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    page.click("#intro-close")  # a link has none
    head, other = box(page, "#pane-asm .heading"), box(page, "#pane-llvm .heading")
    page.mouse.move(head["x"] + 10, head["y"] + 5)
    page.mouse.down()
    page.mouse.move(other["x"] + 10, other["y"] + 5, steps=4)
    page.mouse.up()
    expect(page.locator("#announce")).to_have_text("Assembly in one place with LLVM IR")
    shown(page, "asm")
    expect(page.locator("#pane-llvm")).to_be_hidden()
    expect(page.get_by_role("tabpanel", name="Assembly")).to_be_visible()
    expect_place(page, "asm", "right", "loops")
    assert violations(page) == []
    # A tab leads to the next by arrow keys; a step of the timeline brings its pane forward.
    page.focus("#tab-asm")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#tab-llvm")).to_be_focused()
    shown(page, "llvm")
    page.keyboard.press("ArrowRight")
    shown(page, "asm")
    page.click("#strip .llvm .chip >> nth=0")
    shown(page, "llvm")
    # A click on the tab in front maximises its pane; its title restores it.
    page.click("#tab-llvm")
    expect(page.locator("#panes.enlarged")).to_have_count(1)
    page.click("#pane-llvm .heading")
    shown(page, "llvm")
    # By keys another pane joins, and one leaves.
    page.focus("#body-loops")
    page.keyboard.press("t")
    expect(page.get_by_role("tab")).to_have_text(["LLVM IR", "Loop IR", "Assembly"])
    expect(page.locator("#tab-loops")).to_be_focused()
    page.keyboard.press("Alt+Shift+ArrowLeft")
    expect_place(page, "llvm", "right", "loops")
    page.click("#share-button")
    expect(page.locator("#shared-link")).to_have_value(re.compile("/z/"))
    address = page.locator("#shared-link").input_value()
    linked = open_page(address)
    shown(linked, "llvm")
    expect(linked.get_by_role("tab")).to_have_text(["LLVM IR", "Assembly"])
    linked.reload()
    linked.wait_for_selector("html[data-ready]")
    shown(linked, "llvm")
    linked.keyboard.press("Alt+4")
    shown(linked, "asm")
    linked.keyboard.press("x")
    expect(linked.get_by_role("tab")).to_have_count(0)
    expect(linked.locator("#pane-llvm .heading")).to_be_visible()
    phone = open_page(address, 390, 844, has_touch=True)
    for title in ("LLVM IR", "Assembly"):
        phone.click(f"#tabs button:has-text('{title}')")
        expect(phone.locator(".pane:visible")).to_have_count(1)
        expect(phone.locator(".pane:visible .heading")).to_have_text(title)


# Several panes of one kind


@pytest.mark.long
def test_two_panes_of_a_kind_show_different_passes_and_machines(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, 1920, 1080)
    write(page, MATMUL)
    page.hover("#pane-llvm")
    page.click("#pane-llvm .duplicate")
    expect_place(page, "llvm-2", "below", "loops")
    first = page.locator("#step-llvm-2 option").first.get_attribute("value")
    page.select_option("#step-llvm-2", first)
    expect(page.locator("#body-llvm-2")).to_contain_text("define")
    expect(page.locator("#facts-llvm-2")).not_to_have_text(page.locator("#facts-llvm").inner_text())
    page.focus("#body-asm")
    page.keyboard.press("c")
    expect(page.locator("#pane-asm-2 .heading")).to_be_focused()
    expect(page.locator("#body-asm-2")).to_contain_text("vfmadd")
    page.select_option("[data-machine='asm-2']", "aarch64-neon")
    expect(page.locator("#body-asm-2")).to_contain_text("fmla")
    expect(page.locator("#body-asm")).to_contain_text("vfmadd")
    expect(page.locator("#body-asm")).not_to_contain_text("fmla")
    page.locator("#body-asm-2 .l .k:text-is('fmla')").first.hover()
    expect(page.locator("#tip")).to_contain_text("multiply-add")
    expect(page.locator("#body-asm .l.related", has_text="vfmadd").first).to_be_attached()
    expect(page.locator("#body-llvm-2 .l.related").first).to_be_attached()
    assert violations(page) == []
    page.click("#share-button")
    expect(page.locator("#shared-link")).to_have_value(re.compile("/z/"))
    other = open_page(page.locator("#shared-link").input_value(), 1920, 1080)
    for shown in (other, page):
        if shown is page:
            page.reload()
        expect(shown.locator("#body-asm-2")).to_contain_text("fmla")
        expect(shown.locator("[data-machine='asm-2']")).to_have_value("aarch64-neon")
        expect(shown.locator("#step-llvm-2")).to_have_value(str(first))
        expect_place(shown, "llvm-2", "below", "loops")
    page.hover("#pane-llvm-2")
    page.click("#pane-llvm-2 [data-close]")
    expect(page.locator("#pane-llvm-2")).to_be_hidden()
    expect(page.locator("#body-asm-2")).to_contain_text("fmla")


# Windows of their own


def pop_out(page: Page, console: Console, pane: str = "asm") -> Page:
    """Give a pane a window of its own by its key; returns that window, once it shows what the page shows."""
    page.focus(f"#pane-{pane} .heading")
    with page.context.expect_page() as opened:
        page.keyboard.press("o")
    window = opened.value
    window.set_default_timeout(PATIENCE_MS)
    window.on("console", lambda message: console.said.append(f"{message.type}: {message.text}"))
    window.on("pageerror", lambda error: console.said.append(f"error: {error}"))
    window.wait_for_selector("html[data-ready]")
    expect(page.locator(f"#pane-{pane}")).to_be_hidden()
    expect(window.locator(".pane:visible")).to_have_attribute("data-pane", pane)
    return window


def test_a_pane_has_a_window_of_its_own(fixed: str, open_page: Callable[..., Page], console: Console) -> None:
    page = open_page(fixed)
    before = box(page, "#pane-asm")
    late: list[Route] = []
    page.route("**/popout/page.js", lambda route: late.append(route))
    window = pop_out(page, console)
    late[0].continue_()  # the window has asked meanwhile
    expect(page.locator("#pane-source .heading")).to_be_focused()
    expect(page.locator("#announce")).to_have_text(re.compile("Assembly has a window of its own"))
    window.locator("#body-asm .l", has_text="vfmadd231ps").hover()
    expect(page.locator("#body-loops .l.related").first).to_be_visible()
    expect(page.locator(".cm-line.related").first).to_be_visible()
    page.locator("#body-llvm .l", has_text="fmuladd").hover()
    expect(window.locator("#body-asm .l.related", has_text="vfmadd231ps")).to_be_visible()
    window.evaluate("document.querySelector('#panes').dispatchEvent(new Event('pointerleave'))")  # later than it came
    expect(window.locator("#body-asm .l.related", has_text="vfmadd231ps")).to_be_visible()
    page.locator("#body-llvm .l", has_text="fmuladd").click()
    page.mouse.move(0, 0)
    window.locator("#body-asm .l", has_text="retq").hover()
    expect(window.locator("#body-asm .l.related", has_text="vfmadd231ps")).to_be_visible()
    window.keyboard.press("Escape")
    expect(page.locator("#panes .related")).to_have_count(0)
    theme = page.evaluate("document.documentElement.dataset.theme")
    page.click("#theme-button")
    expect(window.locator("html")).not_to_have_attribute("data-theme", theme)
    assert violations(window) == []
    for width in (480, 640):
        window.set_viewport_size({"width": width, "height": 400})
        assert window.evaluate("document.querySelector('#pane-asm').getBoundingClientRect().bottom") == 400
    page.wait_for_function("() => sessionStorage['strata.window:asm']?.endsWith('width=640,height=400')")
    window.evaluate("setTimeout(() => document.querySelector('[data-close=asm]').click())")
    expect(page.locator("#pane-asm")).to_be_visible()
    assert box(page, "#pane-asm") == before
    again = pop_out(page, console)
    assert again.evaluate("[innerWidth, innerHeight]") == [640, 400]
    again.route("**/chart", lambda route: late.append(route))
    again.evaluate("htmx.ajax('POST', '/chart', { target: '#bench', source: '#pane-bench' }) && null")
    with again.expect_event("close"):
        page.reload()
    expect(page.locator("#pane-asm")).to_be_visible()


@pytest.mark.long
def test_a_window_of_a_pane_follows_the_page_and_leads_it(
    explorer: str, open_page: Callable[..., Page], console: Console
) -> None:
    page = open_page(explorer)
    write(page, MATMUL)
    window = pop_out(page, console, "schedule")
    write(page, MATMUL.replace("factor=16", "factor=8"))
    expect(window.locator("#pane-schedule")).to_contain_text("j.inner 8")
    window.locator("#pane-schedule .primitives summary").click()
    window.locator("#pane-schedule .primitive").first.click()
    expect(page.locator("#body-loops")).not_to_contain_text("Broadcast")
    expect(window.locator("#pane-schedule .primitive[aria-current]")).to_have_count(1)
    window.keyboard.press("Control+Enter")
    expect(page.locator("#state")).to_contain_text("ran")
    script = pop_out(page, console, "source")
    script.click(".cm-content")
    script.keyboard.press("Control+End")
    script.keyboard.insert_text("print(f'{6 * 7} in all')\n")
    expect(script.locator("#state")).to_contain_text("compiled")
    expect(page.locator("#pane-console")).to_contain_text("42 in all")


@pytest.mark.long
def test_a_blocked_window_says_so_and_a_phone_offers_none(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    page.evaluate("window.open = () => null")
    page.hover("#pane-asm")
    page.click("#pane-asm [data-popout]")
    expect(page.locator("#toast")).to_contain_text("blocked the window")
    expect(page.locator("#pane-asm")).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    page.click("#tabs button:has-text('Assembly')")
    expect(page.locator("[data-popout]:visible")).to_have_count(0)
