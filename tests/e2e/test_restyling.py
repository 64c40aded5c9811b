"""Styles: how much of the page a key restyles, and what can be seen where the system chooses the colours."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.steps import settled

MAX_RESTYLED = 400
"""Elements, of some thousands: the editor's line, the state, the timeline."""


def restyled(trace: bytes) -> int:
    """Return how many elements got a style, by the events of a trace."""
    events = json.loads(trace)["traceEvents"]
    return sum(event["args"].get("elementCount", 0) for event in events if event["name"] == "UpdateLayoutTree")


@pytest.mark.long
def test_a_key_and_its_answer_restyle_what_they_change(
    explorer: str, open_page: Callable[..., Page], browser: Browser
) -> None:
    page = open_page(explorer)
    settled(page)  # what its opening styles is no part of a key
    assert page.evaluate("document.querySelectorAll('.panes *').length") > 5 * MAX_RESTYLED
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")  # where no line lights up what became of it
    expect(page.locator(".linking")).to_have_count(0)
    browser.start_tracing(page=page, categories=["devtools.timeline"])
    with page.expect_response("**/panes"):
        page.keyboard.type("#")
    settled(page)
    assert 0 < restyled(browser.stop_tracing()) < MAX_RESTYLED


UNROLLED = """\
import tvm
from tvm import te

n = 1536
A = te.placeholder((n,), name="A")
I = te.placeholder((n,), "int32", name="I")
B = te.compute((n,), lambda i: A[I[i]], name="B")
s = te.create_schedule(B.op)
outer, inner = s[B].split(B.op.axis[0], factor=96)
s[B].unroll(inner)
f = tvm.build(s, [A, I, B], target="llvm")
"""
MAX_DIMMED = 2000
"""Elements in the lines of three listings that are in sight, or nearly; a browser renders twice as many ahead."""


@pytest.mark.long
def test_pointing_at_a_line_restyles_only_what_is_in_sight(
    explorer: str, open_page: Callable[..., Page], browser: Browser
) -> None:
    page = open_page(explorer, script=UNROLLED)
    assert page.evaluate("document.querySelectorAll('.l *').length") > 3 * MAX_DIMMED
    browser.start_tracing(page=page, categories=["devtools.timeline"])
    page.locator("#body-loops .l[class*=' t']").first.hover()
    expect(page.locator(".l.related")).not_to_have_count(0)
    settled(page)
    assert 0 < restyled(browser.stop_tracing()) < MAX_DIMMED


@pytest.mark.long
def test_lines_that_are_scrolled_into_sight_are_dimmed_as_those_before(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer)
    page.locator("#body-loops .l[class*=' t']").first.click()
    first = page.locator("#body-asm .l:not(.related) > span i").first
    last = page.locator("#body-asm .l:not(.related) > span i").last
    first.scroll_into_view_if_needed()
    muted = first.evaluate("node => getComputedStyle(node).color")
    last.scroll_into_view_if_needed()
    expect(last).to_have_css("color", muted)
    page.keyboard.press("Escape")
    expect(last).not_to_have_css("color", muted)
    first.scroll_into_view_if_needed()
    expect(first).not_to_have_css("color", muted)


@pytest.mark.long
def test_what_is_pressed_and_what_is_linked_shows_in_the_colours_of_the_system_too(
    fixed: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(fixed)
    passes, chip, line = (page.locator(name) for name in ("#llvm-passes", ".chip[aria-pressed='true']", ".l.related"))
    usual = passes.evaluate("button => getComputedStyle(button).backgroundColor")
    passes.click()
    expect(passes).not_to_have_css("background-color", usual)
    settled(page)
    page.locator("#body-asm .l", has_text="vfmadd").first.click()
    page.emulate_media(forced_colors="active")
    for element in (passes, chip.first, line.first):
        expect(element).to_have_css("outline-style", "solid")
    canvas = page.evaluate("getComputedStyle(document.body).backgroundColor")
    expect(page.locator(".gutter").first).not_to_have_css("background-color", canvas)
