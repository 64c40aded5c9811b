"""On projectors no word is cut off; on the smallest phones everything is reached, models included."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import CUT_OFF, settled

SIZES = [(1280, 800), (1920, 1080)]


def link_of(page: Page) -> str:
    page.keyboard.press("Control+s")
    expect(page.locator("#shared-link")).to_have_value(re.compile("/z/"))
    address = page.locator("#shared-link").input_value()
    page.keyboard.press("Escape")
    return address


@pytest.mark.parametrize(
    ("example", "width", "height"),
    [
        ("matmul-scheduled", *SIZES[1]),
        pytest.param("matmul-scheduled", *SIZES[0], marks=pytest.mark.long),
        pytest.param("residual-block", *SIZES[1], marks=pytest.mark.long),
        pytest.param("gpu-matmul-shared", *SIZES[0], marks=pytest.mark.long),
        pytest.param("model-from-onnx", *SIZES[0], marks=pytest.mark.long),  # which has most labels
    ],
)
def test_no_word_is_cut_off(
    explorer: str, open_page: Callable[..., Page], example: str, width: int, height: int
) -> None:
    page = open_page(f"{explorer}/?example={example}", width=width, height=height)
    settled(page)
    assert page.evaluate(CUT_OFF) == []
    link = link_of(page)
    for view in ("read",) if example == "model-from-onnx" else ("read", "embed"):
        page.goto(f"{link}?view={view}")
        page.wait_for_selector("html[data-ready]")
        settled(page)
        assert page.evaluate(CUT_OFF) == [], view
        assert page.get_by_text("Ladder", exact=True).filter(visible=True).count() == 0, "a button that is not there"
        if example == "matmul-scheduled":
            hidden = page.locator(".strip .group").evaluate_all(
                "all => all.map((one) => one.scrollWidth - one.clientWidth)"
            )
            assert max(hidden) <= 0, "steps must be scrolled to"


@pytest.mark.long
@pytest.mark.parametrize(("example", "theme"), [("matmul-scheduled", "light"), ("residual-block", "dark")])
def test_every_pane_is_reached_on_the_smallest_phone(
    explorer: str, open_page: Callable[..., Page], example: str, theme: str
) -> None:
    page = open_page(f"{explorer}/?example={example}", width=360, height=740, color_scheme=theme)
    settled(page)
    for tab in page.locator("#tabs button:visible").all():
        tab.click()
        shown = page.locator(".pane.shown")
        expect(shown).to_have_count(1)
        box = shown.bounding_box()
        assert box is not None
        assert (box["x"], box["width"]) == (0, 360)
        assert box["height"] > 300
        assert page.evaluate("document.documentElement.scrollWidth") == 360
    for control in (
        "#open-lessons",
        "#open-challenges",
        "#open-gallery",
        "#open-help",
        "#options summary",
        "#run-button",
        "#ladder-button",
        "#share-button",
        "#theme-button",
    ):
        box = page.locator(control).bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
    page.click("#options summary")
    expect(page.locator("#options-form [name='threads']")).to_be_visible()
