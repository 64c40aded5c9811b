"""LLVM's own optimiser in the page: a timeline of the passes that change a function."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import MATMUL, lines, settled, violations, write

UNCUT = """(chip) => {
  const group = chip.parentElement;
  const title = group.querySelector("em");
  const begin = title.getBoundingClientRect().right + parseFloat(getComputedStyle(title, "::after").width);
  const { left, right } = chip.getBoundingClientRect();
  return begin <= left + 1 && right <= group.getBoundingClientRect().right + 1;
}"""
"""Whether a chip of the timeline stands between the fades of its group."""


@pytest.mark.long
def test_each_pass_of_llvm_is_a_step_that_can_be_compared(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, MATMUL)
    chips = page.locator("#strip .group.llvm .chip")
    expect(chips).to_have_count(2)
    expect(page.locator("#step-llvm")).to_have_count(0)
    optimised = lines(page, "llvm")
    page.click("#llvm-passes")
    settled(page)
    expect(page.locator("#llvm-passes")).to_have_attribute("aria-pressed", "true")
    assert chips.count() > 8
    assert lines(page, "llvm") == optimised
    expect(page.locator("#facts-llvm")).to_contain_text(re.compile(r"[0-9]+ without effect"))
    pass_chip = chips.filter(has_text="LoopUnroll").first
    expect(pass_chip).to_have_attribute("title", re.compile("Repeats the body of a loop"))
    pass_chip.click()
    expect(page.locator("#step-llvm option:checked")).to_have_text(re.compile(r"LoopUnroll\s[0-9]+ instructions"))
    expect(pass_chip).to_have_attribute("aria-pressed", "true")
    page.wait_for_function(UNCUT, arg=pass_chip.element_handle())
    group = page.locator("#strip .group.llvm").bounding_box()
    assert group is not None
    assert group["x"] + group["width"] <= 1440
    size = page.viewport_size
    assert size is not None
    page.set_viewport_size({"width": size["width"], "height": 480})
    page.locator("#body-llvm").evaluate("(body) => { body.scrollTop = 0; }")
    page.select_option("#against-llvm", "previous")
    expect(page.locator("#body-llvm :is(.added, .removed)").first).to_be_in_viewport()
    page.set_viewport_size(size)
    changed = page.locator("#body-llvm .l.added, #body-llvm .l.removed").count()
    page.select_option("#against-llvm", label="± as emitted")
    expect(page.locator("#facts-llvm")).to_contain_text("as emitted → LoopUnroll")
    assert page.locator("#body-llvm .l.added, #body-llvm .l.removed").count() > changed
    page.locator("#body-llvm .l.added", has_text="fmul").first.hover()
    expect(page.locator("#body-loops .l.related").first).to_be_attached()
    assert violations(page) == []


@pytest.mark.long
def test_a_link_opens_at_the_same_pass(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, width=1440, height=800, script=MATMUL)
    page.click("#llvm-passes")
    settled(page)
    page.select_option("#step-llvm", index=3)
    name = page.locator("#step-llvm option:checked").inner_text()
    page.click("#share-button")
    expect(page).to_have_url(re.compile(r"/z/\w+"))
    other = open_page(page.url)
    settled(other)
    assert other.locator("#step-llvm option:checked").inner_text() == name
    other.click("#llvm-passes")
    settled(other)
    expect(other.locator("#strip .group.llvm .chip")).to_have_count(2)
