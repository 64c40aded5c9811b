"""How much of the page a key restyles: what it changes, not every line of every listing."""

from __future__ import annotations

import json
from collections.abc import Callable

from playwright.sync_api import Browser, Page, expect

MAX_RESTYLED = 400
"""Elements, of some thousands: the editor's line, the state, the timeline."""


def restyled(trace: bytes) -> int:
    """Return how many elements got a style, by the events of a trace."""
    events = json.loads(trace)["traceEvents"]
    return sum(event["args"].get("elementCount", 0) for event in events if event["name"] == "UpdateLayoutTree")


def test_a_key_and_its_answer_restyle_what_they_change(
    explorer: str, open_page: Callable[..., Page], browser: Browser
) -> None:
    page = open_page(explorer)
    assert page.evaluate("document.querySelectorAll('.panes *').length") > 5 * MAX_RESTYLED
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")  # where no line lights up what became of it
    expect(page.locator("body")).not_to_contain_class("linking")
    browser.start_tracing(page=page, categories=["devtools.timeline"])
    with page.expect_response("**/panes"):
        page.keyboard.type("#")
    expect(page.locator("body:not(.pending)")).to_be_attached()
    assert 0 < restyled(browser.stop_tracing()) < MAX_RESTYLED
