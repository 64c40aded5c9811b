"""The documentation in a browser: wide and narrow, light and dark, found by a search."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect


def _views() -> Iterator[object]:
    """Each page and each size once; all of one with the others with ``--long``."""
    names, sizes = ["start", "measurements", "inside-the-explorer"], [(1920, "light"), (1280, "dark"), (390, "light")]
    for i, name in enumerate(names):
        for k, (width, scheme) in enumerate(sizes):
            yield pytest.param(name, width, scheme, marks=[] if i == k else [pytest.mark.long])


@pytest.mark.long
@pytest.mark.parametrize(("name", "width", "scheme"), list(_views()))
def test_a_page_fits_and_is_accessible(
    fixed: str, open_page: Callable[..., Page], name: str, width: int, scheme: str
) -> None:
    page = open_page(f"{fixed}/docs/{name}", width=width, height=800, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    violations = Axe().run(page).response["violations"]
    assert [v["id"] for v in violations] == []


def test_a_search_leads_to_its_section(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{fixed}/docs")
    page.get_by_role("searchbox").fill("mutations check")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="What we ask of a change").click()
    expect(page.get_by_role("heading", name="What we ask of a change")).to_be_in_viewport()


@pytest.mark.long
def test_an_example_of_the_api_is_sent_from_its_page(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{fixed}/docs/api?theme=dark", width=390, height=800, color_scheme="light")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark", "as a page that frames this one asks"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert [v["id"] for v in Axe().run(page).response["violations"]] == []
    route = page.locator("#editor-format_-post")
    expect(route).to_contain_text("Format a script as ruff does")
    route.get_by_label("Body").fill('{"script": "x=1"}')
    route.get_by_role("button", name="Send").click()
    expect(route.locator("output p")).to_contain_text("200")
    expect(route.locator("output pre")).to_contain_text('"script": "x = 1\\n"')
