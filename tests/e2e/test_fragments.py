"""Blocks of a course, pasted one by one: what they lack is a button beside the error, and what they define is shown."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.e2e.steps import settled, violations, write

DEFINED = """\
A = te.placeholder((M, 48), name="A")
k = te.reduce_axis((0, 48), name="k")
B = te.compute((M,), lambda i: te.sum(A[i, k], axis=k), name="B")
for tensor in (A, B):
print(tensor.shape)
"""


def test_a_pasted_definition_is_mended_by_its_buttons_and_shows_its_loops(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer, 1280, 800)
    write(page, DEFINED)
    message = page.locator(".line-message")
    expect(message).to_contain_text("expected an indented block")
    message.get_by_role("button", name="Indent line 5 anew").click()
    settled(page)
    expect(message).to_contain_text("name 'te' is not defined")
    page.keyboard.press("Control+.")  # the editor has the focus again
    settled(page)
    expect(message).to_contain_text("name 'M' is not defined")
    page.locator("#pane-console").get_by_role("button", name="Add M = 64").click()
    settled(page)
    expect(message).to_have_count(0)
    expect(page.locator("#state")).to_contain_text("compiled")
    expect(page.locator("#pane-console .console")).to_contain_text("B: nothing is scheduled yet")
    expect(page.locator("#body-loops .l")).not_to_have_count(0)
    expect(page.locator("#body-asm .l")).not_to_have_count(0)
    page.keyboard.press("Control+z")
    settled(page)
    expect(message).to_contain_text("name 'M' is not defined")
    assert violations(page) == []
