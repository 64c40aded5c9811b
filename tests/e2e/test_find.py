"""Finding words in a listing: in all of its lines, by keyboard."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from app.sandbox import Runner
from tests.e2e.steps import lines, settled, unwrap, violations
from tests.e2e.test_page import LongRunner, WideRunner


def find(page: Page, pane: str, text: str, keys: str = "/") -> Locator:
    """Search a pane as a person does who has just clicked in it; returns what says how many there are."""
    page.focus(f"#body-{pane}")
    page.keyboard.press(keys)
    expect(page.locator(f"#pane-{pane} .find input")).to_be_focused()
    page.keyboard.insert_text(text)
    return page.locator(f"#pane-{pane} .find output")


def coloured(page: Page, name: str) -> list[str]:
    """Return the texts that a highlight colours."""
    return page.evaluate("name => [...CSS.highlights.get(name)].map(String)", name)


@pytest.mark.long
def test_lines_that_have_not_been_fetched_are_found(
    serve: Callable[[Runner], str], open_page: Callable[..., Page]
) -> None:
    page = open_page(serve(LongRunner()))
    count = find(page, "loops", "x = 2999")
    expect(count).to_have_text("1 of 11")
    expect(page.locator("#body-loops .l.cursor")).to_have_text("3000x = 2999")
    page.keyboard.press("Enter")
    expect(count).to_have_text("2 of 11")
    expect(page.locator("#body-loops .l.cursor")).to_have_text("29991x = 29990")
    expect(page.locator("#body-loops .l.cursor")).to_be_in_viewport()
    expect(page.locator("#announce")).to_have_text("2 of 11: line 29991: x = 29990")
    settled(page)
    assert coloured(page, "found-current") == ["x = 2999"]
    assert len(coloured(page, "found")) == 11
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Shift+Enter")
    expect(count).to_have_text("11 of 11")  # and round


CURRENT_IN_VIEW = """() => {
  const [box, frame] = [[...CSS.highlights.get("found-current")][0], document.querySelector("#body-loops")]
    .map((one) => one.getBoundingClientRect());
  return frame.left < box.left && box.right < frame.right && frame.top < box.top && box.bottom < frame.bottom;
}"""


@pytest.mark.long
def test_the_end_of_a_long_line_that_was_out_of_sight_is_shown(
    serve: Callable[[Runner], str], open_page: Callable[..., Page]
) -> None:
    page = open_page(serve(WideRunner()))
    unwrap(page)
    expect(find(page, "loops", "e280")).to_have_text("1 of 1")
    page.wait_for_function(CURRENT_IN_VIEW)
    settled(page)
    assert page.evaluate(CURRENT_IN_VIEW)


def test_the_field_opens_and_closes_by_keyboard(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    pinned = page.locator("#body-asm .l").nth(1)
    pinned.click()
    expect(pinned).to_contain_class("related")
    count = find(page, "asm", "VFMADD", "Control+f")
    expect(count).to_have_text("not found")  # capitals matter where they are typed
    page.keyboard.press("Control+f")
    page.wait_for_function("() => getSelection().toString() === 'VFMADD'")  # what is typed now replaces it
    page.keyboard.insert_text("vfmadd")
    expect(count).to_have_text("1 of 1")
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(page.locator("#pane-asm .find")).to_be_hidden()
    expect(page.locator("#body-asm")).to_be_focused()
    assert coloured(page, "found") == []
    expect(pinned).to_contain_class("related")  # Escape closed the field alone


@pytest.mark.long
def test_signs_are_found_as_they_are(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    shown = "\n".join(lines(page, "loops"))
    for sign in ("(", "[", ".", "*", "|"):
        count = find(page, "loops", sign)
        found = shown.count(sign)
        expect(count).to_have_text(f"1 of {found}" if found else "not found")
        page.keyboard.press("Escape")


@pytest.mark.long
def test_a_difference_is_searched_and_a_new_text_searched_anew(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    count = find(page, "loops", "i_outer in")
    expect(count).to_have_text("1 of 1")
    page.select_option("#against-loops", "previous")
    expect(page.locator("#body-loops .diff")).to_be_attached()
    expect(count).to_have_text("1 of 2")  # the line that went, and the one that came
    page.select_option("#against-loops", "")
    expect(count).to_have_text("1 of 1")


@pytest.mark.long
def test_a_pointer_opens_the_field_too(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    page.get_by_role("button", name="Find in Assembly").click()
    expect(page.locator("#pane-asm .find input")).to_be_focused()
    page.keyboard.insert_text("ret")
    expect(page.locator("#pane-asm .find output")).to_have_text("1 of 1")
    page.get_by_role("button", name="Close find").click()
    expect(page.locator("#pane-asm .find")).to_be_hidden()


@pytest.mark.long
def test_a_text_that_has_expired_is_told(fixed: str, open_page: Callable[..., Page], console: object) -> None:
    page = open_page(fixed)
    page.route("**/listings/*/file", lambda route: route.fulfill(status=404, body=""))
    expect(find(page, "loops", "i_outer")).to_have_text("expired: compile again")
    console.said.clear()  # type: ignore[attr-defined]
