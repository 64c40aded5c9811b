"""How one writes: word wrap, the keys of other editors, the way out by keyboard; and what the console shows of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import settled, write

LONG = "x = " + " + ".join(["1"] * 100)


def overflows(page: Page) -> bool:
    """Whether lines of the editor end outside of it."""
    return bool(page.locator(".cm-scroller").evaluate("node => node.scrollWidth > node.clientWidth"))


@pytest.mark.long
def test_lines_wrap_unless_one_chooses_otherwise(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed, 390, 844)
    page.click(".cm-content")
    page.keyboard.insert_text(LONG)
    expect(page.locator(".cm-lineWrapping")).to_have_count(1)
    assert not overflows(page)
    page.click("#panes-menu summary")
    page.uncheck("#wrap-lines")
    expect(page.locator(".cm-lineWrapping")).to_have_count(0)
    assert overflows(page)
    page.reload()
    expect(page.locator(".cm-content")).to_contain_text(LONG)
    assert overflows(page)


@pytest.mark.long
def test_the_keys_of_other_editors_are_remembered(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    modules: list[str] = []
    page.on("request", lambda request: modules.append(request.url.rpartition("/")[2]))
    page.click("#panes-menu summary")
    page.select_option("#editor-keys", "vim")
    expect(page.locator(".cm-vimMode")).to_have_count(1)
    page.reload()
    expect(page.locator(".cm-vimMode")).to_have_count(1)
    page.click(".cm-content")
    page.keyboard.type("ggdGiseen")
    expect(page.locator(".cm-content")).to_have_text("seen")
    page.keyboard.press("Escape")
    expect(page.locator(".cm-content")).to_be_focused()
    page.keyboard.type("u")
    expect(page.locator(".cm-content")).not_to_have_text("seen")
    page.click("#panes-menu summary")
    page.select_option("#editor-keys", "emacs")
    expect(page.locator(".cm-emacsMode")).to_have_count(1)
    page.click(".cm-content")
    for key in ("Control+a", "Control+k", "Control+y", "Control+y"):
        page.keyboard.press(key)
    assert {name for name in modules if name in ("vim.js", "emacs.js")} == {"vim.js", "emacs.js"}


def test_escape_leaves_the_editor_and_enter_goes_back(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    settled(page)  # an answer replaces what Tab goes to
    page.click(".cm-content")
    page.keyboard.press("Control+f")
    expect(page.locator(".cm-search")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".cm-search")).to_have_count(0)
    expect(page.locator(".cm-content")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#editor")).to_be_focused()
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#editor")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".cm-content")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.locator("#editor:focus-within")).to_have_count(0)
    divider = page.get_by_role("separator", name="Between source and console")
    page.evaluate("document.querySelector('#panes-form [name=asm]').click()")  # another pane divides the room anew
    page.evaluate("document.querySelector('#panes-form [name=asm]').click()")
    expect(divider).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(page.locator(":focus")).to_contain_class("cm-content")


@pytest.mark.long
def test_the_console_follows_its_end_unless_one_scrolled_away(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, "print('line\\n' * 200)\nprint('the end')\nraise ValueError('mine ' * 400)\n")
    expect(page.locator(".console .problem")).to_contain_text("mine")
    expect(page.locator(".console .problem strong")).to_be_in_viewport()
    page.evaluate("document.querySelector('.console').scrollTop = 0")
    page.wait_for_timeout(100)
    write(page, "print('line\\n' * 200)\nprint('another end')\n")
    expect(page.locator(".console")).to_contain_text("another end")
    assert page.evaluate("document.querySelector('.console').scrollTop") == 0
