"""The assembly pane: which lines it shows, and for which of all CPUs."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import MATMUL, lines, settled, violations, write


@pytest.mark.long
def test_filters_choose_the_lines_and_survive_a_link(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, MATMUL)
    plain = lines(page, "asm")
    whole = re.search(r"[0-9]+ instructions", page.locator("#facts-asm").inner_text())
    assert whole
    page.click("#asm-filters-button")
    page.check("#asm-filters [name=hot]")
    settled(page)
    hot = lines(page, "asm")
    assert 3 < len(hot) < len(plain)
    assert hot[0].startswith(".LBB")
    assert set(hot) <= set(plain)
    counted = sum(not line.endswith(":") for line in hot)
    facts = page.locator("#facts-asm")
    expect(facts).to_have_attribute("title", re.compile(f"hot loop, of {whole[0]} .* {counted} instructions"))
    assert violations(page) == []
    page.uncheck("#asm-filters [name=hot]")
    page.check("#asm-filters [name=comments]")
    page.check("#asm-filters [name=directives]")
    settled(page)
    texts = lines(page, "asm")
    assert any("Inner Loop Header" in text for text in texts)
    assert any(text.strip().startswith(".globl") for text in texts)
    page.keyboard.press("Escape")
    expect(page.locator("#asm-filters")).to_be_hidden()
    expect(page.locator("#asm-filters-button")).to_have_text("Filter 2")
    page.click("#share-button")
    expect(page).to_have_url(re.compile(r"/z/\w+"))
    other = open_page(page.url)
    settled(other)
    assert lines(other, "asm") == texts
    expect(other.locator("#asm-filters-button")).to_have_text("Filter 2")


@pytest.mark.long
def test_any_cpu_is_found_by_searching(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, script=MATMUL)
    page.select_option("#assembly", "more")
    expect(page.locator("#cpu-count")).to_have_text(re.compile(r"[1-9]\d\d CPUs"))
    assert violations(page) == []
    page.fill("#cpu-search", "Neoverse V")
    expect(page.locator("#cpu-list button").first).to_have_text("neoverse-v1")
    page.keyboard.press("Enter")
    settled(page)
    expect(page.locator("#assembly option:checked")).to_have_text("neoverse-v1 (aarch64)")
    expect(page.locator("#body-asm")).to_contain_text(re.compile(r"\bfml[as]|fmadd"))
    page.click("#share-button")
    expect(page).to_have_url(re.compile(r"/z/\w+"))
    other = open_page(page.url)
    settled(other)
    expect(other.locator("#assembly option:checked")).to_have_text("neoverse-v1 (aarch64)")
    expect(other.locator("#body-asm")).to_contain_text(re.compile(r"\bfml[as]|fmadd"))


@pytest.mark.long
def test_on_a_phone_filters_stay_inside_of_the_window(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, 360, 740)
    settled(page)
    page.click("#tabs [data-tab=asm]")
    page.click("#asm-filters-button")
    box = page.locator("#asm-filters").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360


@pytest.mark.long
def test_pointing_at_a_placeholder_shows_where_it_is_loaded(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    # Where a multiplication takes an operand from memory, no instruction loads alone.
    write(page, MATMUL.replace('target="llvm"', 'target="llvm -mcpu=x86-64"'))
    instructions = page.locator("#body-asm .l").count()
    page.locator(".cm-line", has_text='name="B"').click()
    page.keyboard.press("Alt+Enter")
    expect(page.locator("#body-loops .l.related", has_text="B_1[").first).to_be_visible()
    loads = page.locator("#body-asm .l.related")
    expect(loads.first).to_be_attached()
    texts = loads.all_text_contents()
    assert len(texts) < instructions / 3, "its own instructions, not all"
    assert all("mov" in text or "fmadd" in text for text in texts), texts


@pytest.mark.long
def test_targets_stand_side_by_side_and_a_link_keeps_them(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, 1280, 800, script=MATMUL)
    page.select_option("#assembly", "several")
    assert violations(page) == []
    for target in ("x86-64-avx2", "aarch64-neon"):
        page.check(f".targets [value={target}]")
    expect(page.locator(".targets [value=riscv64-v]")).to_be_disabled()
    page.click(".targets button")
    settled(page)
    figures = page.locator(".hot-figures")
    expect(figures.nth(1)).to_contain_text("256-bit vectors")
    expect(figures.nth(2)).to_contain_text("128-bit vectors")
    boxes = [page.locator(f"#pane-{name}").bounding_box() for name in ("asm", "asm-2", "asm-3")]
    assert all(box and box["width"] > 400 and box["y"] == boxes[0]["y"] for box in boxes if boxes[0])
    page.locator("#body-asm-2 .l", has_text="vfmadd").first.hover()
    for pane in ("asm", "asm-2", "asm-3"):
        expect(page.locator(f"#body-{pane} .l.related")).not_to_have_count(0)
    page.keyboard.press("Control+s")
    expect(page.locator("#shared-link")).to_have_value(re.compile("/z/"))
    other = open_page(page.locator("#shared-link").input_value(), 1280, 800)
    expect(other.locator(".hot-figures").nth(2)).to_contain_text("128-bit vectors")
    page.keyboard.press("Escape")
    page.select_option("#assembly", "several")
    page.uncheck(".targets [value=aarch64-neon]")
    page.uncheck(".targets [value=x86-64-avx2]")
    page.click(".targets button")
    settled(page)
    expect(figures).to_have_count(0)
    expect(page.locator("#pane-asm-2")).to_be_hidden()
