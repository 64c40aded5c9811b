"""The first half minute: what this is, what colours mean, that lines are linked, and a finished ladder that climbs."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import MATMUL, PAINTED, reload, settled, write

LIT = "#body-asm .l.related"


def test_a_first_visitor_is_told_and_shown_what_this_is(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, width=1280, height=800)
    expect(page.locator("#intro")).to_contain_text("what a compiler makes of a tensor program")
    expect(page.locator("#intro .legend")).to_contain_text("lines of one colour come from one line of the script")
    expect(page.locator(".cm-line.related")).to_have_text(["s[C].vectorize(ji)"])
    expect(page.locator(LIT).first).to_be_visible()
    expect(page.locator(LIT)).to_have_count(0)  # the demonstration ends by itself
    # The loops are read without scrolling sideways, from the function on, and show what is done innermost.
    loops = page.locator("#body-loops")
    assert loops.evaluate("body => body.scrollWidth - body.clientWidth") == 0
    expect(loops.locator(".l", has_text="T.Broadcast(A_1[").first).to_be_in_viewport(ratio=1)
    expect(loops.locator(".l", has_text="@I.ir_module")).to_be_hidden()
    loops.locator("summary").click()
    expect(loops.locator(".l", has_text="@I.ir_module")).to_be_visible()
    # A ladder that was measured elsewhere stands there, and is not taken for one of this machine.
    expect(page.locator("#bench .bar")).to_have_count(4)
    expect(page.locator("#bench .bar.reported")).to_have_count(4)
    expect(page.locator("#bench-facts")).to_contain_text("measured elsewhere")
    expect(page.locator("#bench .kept")).to_contain_text("Ladder measures it on this machine")
    assert "GFLOP" not in "".join(page.locator("#strip .chip small").all_text_contents())
    page.click("#share-button")
    expect(page).to_have_url(re.compile(r"/z/\w+"))
    link = page.url
    page.keyboard.press("Escape")
    page.goto(explorer)
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#intro")).to_be_visible()
    page.wait_for_timeout(2500)
    assert page.locator(LIT).count() == 0, "it is demonstrated once"
    page.click("#intro-close")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#intro")).to_be_hidden()
    # Whoever gets the link sees the example's ladder, and the panes as the server compiled them.
    assert '"compiled":true' in page.request.get(link).text()
    page.goto(link)
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#intro")).to_have_count(0)
    settled(page)
    expect(page.locator("#bench .bar.reported")).to_have_count(4)
    page.goto(f"{link}?view=read")
    page.wait_for_selector("html[data-ready]")
    settled(page)
    expect(page.locator("#pane-console")).to_be_hidden()  # it is empty
    expect(page.locator("#pane-asm")).to_be_visible()
    expect(page.locator("#bench .bar.reported")).to_have_count(4)


def test_what_visitors_do_ends_the_demonstration(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed, width=1280, height=600)
    settled(page)
    page.wait_for_function("() => localStorage['strata.introduced']")  # it has begun
    page.locator("#body-asm .l", has_text="vfmadd231ps").hover()
    expect(page.locator("#intro.demonstrating")).to_have_count(0)
    page.evaluate(PAINTED)
    expect(page.locator(LIT).first).to_be_visible()  # what the pointer is at
    page.evaluate("delete localStorage['strata.introduced']")
    reload(page)
    page.set_input_files("#attach", {"name": "x.py", "mimeType": "text/x-python", "buffer": b"x = 1\n" * 80})
    page.wait_for_timeout(2000)
    scrolled = page.locator(".cm-scroller").evaluate("scroller => scroller.scrollTop")
    assert scrolled < 10, "another script has no such line"


def test_a_pane_opens_where_it_has_room(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed, width=1920, height=1080)
    page.click("[data-open='flow']")
    flow = page.locator("#pane-flow").bounding_box()
    assert flow is not None
    assert min(flow["width"] / 330, flow["height"] / 420) >= 1
    page.click("#panes-menu summary")
    page.get_by_role("checkbox", name="Conformance").check()
    wide = page.locator("#pane-conformance").bounding_box()
    assert wide is not None
    assert wide["width"] >= 860


@pytest.mark.long
def test_each_arrangement_has_room_for_its_panes_on_a_projector(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{explorer}/?example=gpu-matmul-shared", width=1280, height=800)
    expect(page.get_by_role("tab")).to_have_text(["Kernel code", "PTX", "On a GPU", "Benchmark"])
    for names in (("loops", "kernel", "gpu"), ("loops", "asm", "bench"), ("graph", "drawing", "kernels")):
        for name in names:
            box = page.locator(f"#pane-{name}").bounding_box()
            assert box is not None, name
            assert box["width"] >= 420, name
            assert box["height"] >= 200, name
        if "gpu" in names:
            write(page, MATMUL)  # another kind of script has its own arrangement
            expect(page.get_by_role("tab")).to_have_text(["LLVM IR", "Assembly"])
            page.click("[data-open='flow']")  # and what is opened is a tab, where nothing else has room
            expect(page.get_by_role("tab", selected=True)).to_have_text("Control flow")
            page.click("#tab-asm")
        elif "asm" in names:
            page.goto(f"{explorer}/?example=residual-block")
            page.wait_for_selector("html[data-ready]")
            page.click("#panes-menu summary")
            expect(page.locator("#arrangement")).to_have_value("")
            expect(page.locator("#arrangement [value='own']")).to_be_disabled()
    # One is chosen by the menu; what the visitor moves is their own from then on, until they choose another.
    page.select_option("#arrangement", "cpu")
    expect(page.locator("#pane-loops")).to_be_visible()
    expect(page.locator("button[data-level='code']")).to_have_attribute("aria-pressed", "true")
    own = page.locator("#pane-source").bounding_box()
    page.locator(".gutter[data-split='columns']").focus()
    page.keyboard.press("ArrowRight")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#arrangement")).to_have_value("own")
    assert page.locator("#pane-source").bounding_box() != own
    page.click("#panes-menu summary")
    page.select_option("#arrangement", "")
    page.wait_for_function(
        "width => document.querySelector('#pane-source').getBoundingClientRect().width === width",
        arg=own and own["width"],
    )


@pytest.mark.long
def test_nothing_moves_for_those_who_want_no_motion(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, reduced_motion="reduce")
    expect(page.locator("#intro")).to_be_visible()
    page.wait_for_timeout(2500)
    assert page.locator(LIT).count() == 0
    # A timeline of few primitives keeps no room for more while other chips are cut.
    write(page, MATMUL.partition("i, j =")[0] + 'f = tvm.build(s, [A, B, C], target="llvm")\n')
    group = page.locator("#strip .group.schedule")
    expect(group.locator(".chip")).to_have_count(1)
    free = "(group) => group.getBoundingClientRect().right - group.lastElementChild.getBoundingClientRect().right"
    assert group.evaluate(free) < 40
