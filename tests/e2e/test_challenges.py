"""Challenges in the browser: from the list to an entry of a board, and the ghost of another's."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from app.sandbox import Runner
from tests.app.challenges.contestants import Contestants
from tests.e2e.conftest import Console
from tests.e2e.steps import violations, write

FAST = "# fast\n"


def test_a_challenge_is_found_checked_entered_and_compared(
    serve: Callable[[Runner], str], open_page: Callable[..., Page], console: Console
) -> None:
    runner = Contestants()
    address = serve(runner)
    page = open_page(f"{address}/challenges")
    page.fill("#challenge-search", "matrix TAILS")
    expect(page.locator(".card:visible strong")).to_have_text(["Matrix product with tails"])
    expect(page.locator("#challenge-found")).to_have_text("1 challenge")
    page.fill("#challenge-search", "nothing like that")
    expect(page.locator("section:visible")).to_have_count(0)
    assert violations(page) == []
    page.fill("#challenge-search", "")
    theme = page.evaluate("document.documentElement.dataset.theme")
    page.click("#theme-button")
    page.get_by_text("Matrix product", exact=True).click()
    page.wait_for_selector("html[data-ready]")
    assert {theme, page.evaluate("document.documentElement.dataset.theme")} == {"dark", "light"}
    loops = page.locator("#pane-loops").bounding_box()
    assert loops is not None
    assert loops["width"] > 420, "beside a challenge there is no room for three texts"
    expect(page.get_by_role("tab", name="Assembly", exact=True)).to_be_visible()
    enter, verdict = page.locator("#challenge-enter"), page.locator("#challenge-verdict")
    expect(enter).to_be_disabled()
    page.click("#challenge-check")
    expect(verdict).to_have_text("1 s · 0.5 × as fast as NumPy, 500 ms · 25 % of the processor's arithmetic")
    expect(page.locator("#challenge-checks .passed")).to_have_count(2)
    enter.click()
    expect(verdict).to_have_text("Type a name first, then enter the board.")
    page.fill("#challenge-name", "<i>Ada</i>")
    enter.click()
    expect(page.locator(".own bdi")).to_have_text("<i>Ada</i>")
    expect(verdict).to_have_text(re.compile("^Entered"))
    expect(page.locator("#challenge-best")).to_contain_text("1 s")
    assert violations(page) == []

    other = open_page(f"{address}/challenges/matmul", width=390, height=844, color_scheme="dark")
    assert other.evaluate("document.documentElement.scrollWidth") == 390
    other.click("[data-ghost]")  # which shows the workspace, where there is room for one
    expect(other.locator("#bench .kept")).to_contain_text("The ladder of <i>Ada</i>")
    runner.seconds[FAST] = 0.25
    other.click("#tabs [data-tab='source']")
    write(other, FAST)
    other.click("[data-lesson-view='lesson']")
    expect(other.locator("[data-ghost]")).to_have_attribute("aria-pressed", "true")
    other.click("#challenge-check")
    expect(other.locator("#challenge-verdict")).to_have_class(re.compile("passed"))
    other.fill("#challenge-name", "<I>ADA</I>")
    other.click("#challenge-enter")
    expect(other.locator("#challenge-verdict")).to_contain_text("is taken on this board")
    assert other.evaluate("localStorage.getItem('strata.board name')") is None, "it would mark another's entry"
    assert "403" in console.said.pop()
    other.fill("#challenge-name", " Bob   B ")
    other.click("#challenge-enter")
    expect(other.locator("[data-entry] bdi")).to_have_text(["Bob B", "<i>Ada</i>"])
    expect(other.locator(".ghost.reference")).to_have_count(1)
    assert violations(other) == []
    other.get_by_role("button", name="Withdraw").click()
    expect(other.locator("[data-entry] bdi")).to_have_text(["<i>Ada</i>"])
    other.click("#challenge-reset")
    expect(other.locator("#challenge-enter")).to_be_disabled()
