"""One script compiled for several machines: what becomes of it there, and the way to each."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import MATMUL, settled, write

ROWS = "host@3 aarch64:cortex-a53@2"


def open_pane(page: Page) -> None:
    page.click("#panes-menu summary")
    page.check("#panes-form [name=conformance]")
    page.keyboard.press("Escape")


@pytest.mark.long
def test_each_row_says_what_becomes_of_the_script_and_opens_its_assembly(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    state = {"workspace": {"script": MATMUL + "tvm.lower(s, [A, B, C])\n"}, "view": {"conformance": ROWS}}
    page = open_page(explorer)
    link = page.request.post(f"{explorer}/api/links", data=state).json()["id"]
    page.goto(f"{explorer}/z/{link}")
    settled(page)
    open_pane(page)
    results = page.locator("#conformance .result")
    expect(results).to_have_text(["✓ compiles", "✓ compiles"])
    instructions = page.locator("#conformance [data-fact=instructions]")
    own, other = (int(text.replace(",", "")) for text in instructions.all_inner_texts())
    assert 0 < own < other
    expect(page.locator("#conformance [data-fact=vectors]").last).to_have_text("128-bit")
    page.get_by_role("button", name="cortex-a53 (aarch64)", exact=True).click()
    expect(page.locator("#body-asm")).to_contain_text("fmla")
    expect(page.locator("#facts-asm")).to_contain_text(f"{other} instructions")
    found = page.locator("#conformance [data-fact=findings]").last
    expect(found).to_have_text("")
    scalar = MATMUL.replace("s[C].reorder(i, jo, k, ji)\ns[C].vectorize(ji)\n", "")
    write(page, scalar.replace("n = 64", "n = 256"))  # LLVM makes vectors around shorter sums
    page.click("#conformance-compile")
    expect(found).to_have_text("narrow")
    expect(found).to_have_attribute("title", "matmul: narrow: it computes with scalars, the target has 128 bits")
    write(page, MATMUL.replace("factor=16", "factor=0"))
    page.click("#conformance-compile")
    expect(results).to_have_text(["✗ ArgumentError at line 12", "✗ ArgumentError at line 12"])


@pytest.mark.long
def test_rows_are_added_removed_and_kept_in_links(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    open_pane(page)
    rows = page.locator("#conformance tbody tr")
    expect(rows).to_have_count(7)
    page.locator("#conformance .remove").last.click()
    page.select_option("#conformance-level", "0")
    page.click("#conformance-add")
    expect(rows.last).to_contain_text("O0")
    expect(rows).to_have_count(7)
    page.click("#conformance-add")
    expect(page.locator("#toast")).to_contain_text("already exists")
    page.keyboard.press("Control+s")
    page.wait_for_url("**/z/*")
    other = open_page(page.url)
    expect(other.locator("#conformance tbody tr")).to_have_count(7)
    expect(other.locator("#conformance tbody tr").last).to_contain_text("O0")
