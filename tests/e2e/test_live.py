"""A workspace in several browsers: what one writes, selects and pins, the others see."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from app.live import sessions
from tests.e2e.steps import MATMUL, settled, violations, write

EDITOR = ".cm-content"
HOSTILE = "<b onclick=x>Eve</b>"


@pytest.fixture
def ann(explorer: str, open_page: Callable[..., Page]) -> Page:
    """The page of who made a live workspace, and holds the pen."""
    page = open_page(explorer)
    page.click("#share-button")
    page.click("#edit-together")
    page.wait_for_selector("#live-lay")
    return page


def rename(page: Page, name: str) -> None:
    page.click("#live-menu summary")
    page.fill("#live-name", name)
    page.click(".live-rename button")
    expect(page.locator(".live-people")).to_contain_text(f"{name} (you)")
    page.click("#live-menu summary")


def test_two_people_see_what_each_other_does_and_freeze_it(
    ann: Page, open_page: Callable[..., Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "RESTING_SECONDS", 0.0)
    assert ann.evaluate("navigator.clipboard.readText()") == ann.url
    eve = open_page(ann.url, width=390, height=844)
    expect(eve.locator("#live-take")).to_be_visible()
    write(ann, MATMUL)
    expect(eve.locator(EDITOR)).to_contain_text("s[C].vectorize(ji)")
    eve.locator(EDITOR).press("x")
    expect(eve.locator("#toast")).to_contain_text("holds the pen")
    expect(eve.locator(EDITOR)).not_to_contain_text("x# ")
    rename(eve, HOSTILE)
    expect(ann.locator(".live-people")).to_contain_text(HOSTILE)
    eve.locator(".cm-line", has_text="s[C].vectorize(ji)").click()
    expect(ann.locator(".live-caret.seat-2")).to_have_attribute("data-name", HOSTILE)
    eve.keyboard.press("Alt+Enter")
    expect(ann.locator(".cm-line.live-pin")).to_contain_text("s[C].vectorize(ji)")
    settled(eve)
    assert violations(ann) == []
    assert violations(eve) == []
    eve.click("#live-take")
    expect(eve.locator("#live-lay")).to_be_visible()
    eve.locator(EDITOR).press("Control+Home")
    eve.keyboard.insert_text("# mine\n")
    expect(ann.locator(EDITOR)).to_contain_text("# mine")
    ann.click("#live-take")
    expect(ann.locator("#live-lay")).to_be_visible()
    ann.click("#live-menu summary")
    ann.click("#live-freeze")
    for page in (ann, eve):
        expect(page.locator("#live-bar")).to_be_hidden()
        assert "/z/" in page.url
        expect(page.locator("#saved")).to_contain_text("saved")
    eve.locator(EDITOR).press("Control+Home")
    eve.keyboard.insert_text("# by myself\n")
    expect(eve.locator(EDITOR)).to_contain_text("# by myself")
    settled(ann)
    expect(ann.locator(EDITOR)).not_to_contain_text("# by myself")
