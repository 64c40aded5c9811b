"""What the page says is so: the target that is used, what a run measured, colours that keep their meaning."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import MATMUL, settled, violations, write

UNMEASURED = (
    MATMUL
    + """
import numpy as np
a, b = (tvm.nd.array(np.ones((n, n), "float32")) for _ in range(2))
c = tvm.nd.array(np.zeros((n, n), "float32"))
f(a, b, c)
"""
)


def test_the_header_names_the_target_that_is_used(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, script=MATMUL.replace('target="llvm"', 'target="llvm -mcpu=haswell"'))
    expect(page.locator("#options-summary")).to_contain_text("haswell (script)")
    expect(page.locator("#options-summary")).to_contain_text("Build:")
    expect(page.locator("#assembly option:checked")).to_have_text("as built")
    page.click("#options summary")
    expect(page.locator("#target-hint")).to_contain_text("The script names its own target, llvm -mcpu=haswell")


@pytest.mark.long
def test_a_run_that_measures_nothing_is_measured_by_the_server(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, UNMEASURED)
    page.click("#run-button")
    expect(page.locator("#bench tbody tr.kernel .source")).to_have_text("measured by this server")
    expect(page.locator("#ladder-button")).to_have_text("Ladder")
    expect(page.locator("#bench tbody tr.numpy .how")).to_contain_text("(A @ B)")
    expect(page.locator("#bench .rule.peak")).to_have_count(1)


@pytest.mark.long
def test_scalar_code_is_called_scalar(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, script=MATMUL.replace("n = 64", "n = 256"))  # LLVM makes vectors around shorter sums
    page.click("#strip .chip[data-prefix='0']")
    settled(page)
    expect(page.locator("#pane-assembly .facts, #pane-asm .facts").first).to_contain_text("scalar")


def tints(page: Page, lines: str = ".cm-line") -> dict[str, str]:
    names = page.locator(lines).evaluate_all("nodes => nodes.map((n) => [n.textContent, n.className])")
    return {text: tint[0] for text, name in names if (tint := re.findall(r"\bt\d", name))}


def test_the_colours_of_a_script_are_the_same_whatever_a_browser_has_shown_before(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    one, other = open_page(explorer, script=MATMUL), open_page(explorer)
    whole, assembly = tints(one), tints(one, "#body-asm .l")
    assert len(set(whole.values())) == len(whole) >= 4
    backwards = "".join(reversed(MATMUL.splitlines(keepends=True)))
    for script in (backwards, MATMUL.replace("64", "32"), MATMUL):
        write(other, script)
    assert tints(other) == whole
    other.click("#strip .chip[data-prefix='1']")
    settled(other)
    first = tints(other)
    assert len(first.keys() & whole.keys()) >= 2
    assert first.items() <= whole.items()
    other.click("#strip .chip[data-group='schedule'] >> nth=-1")
    settled(other)
    assert tints(other, "#body-asm .l") == assembly


@pytest.mark.long
def test_a_rung_opens_its_prefix(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, MATMUL)
    page.click("#ladder-button")
    expect(page.locator("#ladder-button")).to_have_text("Ladder")
    page.click("#bench g.bar[data-prefix='2'] rect", force=True)
    settled(page)
    expect(page.locator("#strip .chip[data-prefix='2']")).to_have_attribute("aria-pressed", "true")
    page.locator("#bench .rung").first.click()
    settled(page)
    expect(page.locator("#strip .chip[data-prefix='0']")).to_have_attribute("aria-pressed", "true")
    page.select_option("#scale", "log")
    expect(page.locator("#bench .unit").first).to_contain_text("logarithmic")


@pytest.mark.long
@pytest.mark.parametrize(("width", "first", "then"), [(800, "asm", "/?example=residual-block"), (390, "kernels", "/")])
def test_a_narrow_page_opens_whatever_tab_was_last(
    explorer: str, open_page: Callable[..., Page], width: int, first: str, then: str
) -> None:
    page = open_page(f"{explorer}/?example=residual-block", width=width, height=900)
    page.click(f"#tabs [data-tab={first}]")
    page.goto(explorer + then)
    page.wait_for_selector("html[data-ready]")
    expect(page.locator(".pane.shown")).to_have_count(1)


@pytest.mark.long
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_find_panel_and_dimmed_lines_can_be_read(explorer: str, open_page: Callable[..., Page], theme: str) -> None:
    page = open_page(explorer, color_scheme=theme)
    page.click(".cm-content")
    page.keyboard.press("Control+f")
    expect(page.locator(".cm-search")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.locator("#body-loops .l[class*=' t']").first.hover()
    expect(page.locator("#body-loops .linking")).not_to_have_count(0)
    assert violations(page) == []


@pytest.mark.long
def test_axes_of_the_schedule_are_reached_by_keyboard(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, MATMUL)
    axis = page.locator("#pane-schedule p[data-origins]").first
    axis.focus()
    expect(page.locator("#body-loops .l.related").first).to_be_visible()
    page.keyboard.press("Enter")
    page.locator("#title").hover()
    expect(page.locator("#body-loops .l.related").first).to_be_visible()
    page.keyboard.press("Escape")


@pytest.mark.long
def test_assets_are_compressed_and_kept_for_ever(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    sizes = """performance.getEntriesByType("resource").filter(({ name }) => name.includes("/static/"))
      .map((e) => [e.transferSize, e.encodedBodySize, e.decodedBodySize])"""
    encoded, decoded = (sum(row[place] for row in page.evaluate(sizes)) for place in (1, 2))
    assert encoded < 0.6 * decoded
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert sum(row[0] for row in page.evaluate(sizes)) == 0
