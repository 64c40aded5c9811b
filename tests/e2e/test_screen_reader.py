"""What a screen reader would say of the page: its landmarks and names, and what it hears on the main tour."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import LISTEN, write

LANDMARKS = """\
- banner:
  - link "Strata home"
  - navigation "Explorer"
  - heading [level=1]
  - button "Ladder"
  - button /Run/
- navigation "Timeline":
  - group "Schedule"
  - group "Lowering"
  - group "LLVM"
- main:
  - region "script.py":
    - heading "script.py" [level=2]
    - group "Editor; press Enter to return to it, Tab to move on":
      - textbox "Script"
  - region "Loop IR":
    - heading "Loop IR" [level=2]
    - button "Previous pass"
    - combobox "Pass"
    - button "Next pass"
    - combobox "Compare with"
    - button "Save Loop IR"
    - region "Loop IR, text"
  - region "Assembly":
    - heading "Assembly" [level=2]
    - region "Assembly, text"
"""


@pytest.fixture
def listening(fixed: str, open_page: Callable[..., Page]) -> Page:
    """A page whose live regions are listened to: what they say is in ``window.heard``."""
    page = open_page(fixed)
    page.evaluate(LISTEN)
    return page


def heard(page: Page, *words: str) -> None:
    """Wait until all that was heard since the last call is one sentence, which has some words in it."""
    page.wait_for_function("() => window.heard.length > 0")
    said = page.evaluate("window.heard.splice(0)")
    assert len(set(said)) == 1, said
    assert all(word in said[0] for word in words), said


@pytest.mark.long
def test_the_page_has_landmarks_and_names(fixed: str, open_page: Callable[..., Page]) -> None:
    expect(open_page(fixed).locator("body")).to_match_aria_snapshot(LANDMARKS)


def test_what_is_heard_on_the_main_tour(listening: Page) -> None:
    page = listening
    write(page, "raise X")
    heard(page, "ValueError", "line", "split: factor must be positive")
    write(page, "raise X # still")
    write(page, "x = 1")
    heard(page, "compiled")  # once, and nothing of the answer in which nothing was new
    write(page, "x = 2")
    page.keyboard.press("Alt+4")
    page.keyboard.press("ArrowDown")
    heard(page, "1: matmul:", "links to nothing")
    page.keyboard.press("Alt+0")
    heard(page, "12 pixels")
    page.click("#run-button")
    expect(page.locator("#state")).to_contain_text("ran in")
    page.wait_for_function("() => window.heard.some((words) => words.includes('ran in'))")
    page.evaluate("window.heard = []")
    page.click("#share-button")
    page.wait_for_function("() => window.heard.some((words) => words.startsWith('The link is http'))")
    page.click("[data-copy='shared-link']")
    page.wait_for_function("() => window.heard.some((words) => words.startsWith('Copied http'))")
