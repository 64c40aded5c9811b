"""The control flow of a kernel in the page: blocks, loops, and the lines that they are made of."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.steps import MATMUL, settled, violations, write


def open_flow(page: Page) -> None:
    page.click("#panes-menu summary")
    page.check("#panes-form [name=flow]")
    page.keyboard.press("Escape")
    page.click("#title")
    expect(page.locator("#flow .block").first).to_be_attached()


def sight(page: Page, line: Locator) -> bool:
    """Return whether a line is inside of the part of its listing that is seen."""
    box, body = line.bounding_box(), page.locator("#body-asm").bounding_box()
    assert box is not None
    assert body is not None
    return body["y"] <= box["y"] and box["y"] + box["height"] <= body["y"] + body["height"]


@pytest.mark.long
def test_the_throughput_of_the_hot_loop_stands_beside_its_drawing(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer, 1680, 980, script=MATMUL)
    open_flow(page)
    expected = "No throughput" if shutil.which("llvm-mca") is None else "cycles for"
    expect(page.locator("#throughput")).to_contain_text(expected)
    if expected == "cycles for":
        expect(page.locator("#throughput li").nth(2)).to_be_attached()
        expect(page.locator("#throughput .measured")).to_contain_text("Measure the function")
        page.click("#measure-kernels")
        expect(page.locator("#throughput .measured")).to_contain_text("cycles an iteration at")
        expect(page.locator("#throughput .measured")).to_contain_text("those of the model")
        expect(page.locator("#throughput")).to_contain_text("Bottleneck")
    assert violations(page) == []


@pytest.mark.long
def test_the_hot_loop_of_a_kernel_is_drawn_and_leads_to_its_lines(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer, 1680, 980)
    write(page, MATMUL)
    expect(page.locator("#pane-flow")).to_be_hidden()
    open_flow(page)
    expect(page.locator("#facts-flow")).to_contain_text(re.compile(r"\d+ blocks · \d loops, [23] deep · hot loop \d+"))
    hot = page.locator("#flow .block.hot")
    expect(hot.first).to_be_visible()
    assert page.locator("#flow .edges path.back").count() >= 3
    hot.first.click()
    marked = page.locator("#body-asm .l.in-block")
    number = int(re.findall(r"\d+ instruction", hot.first.get_attribute("aria-label") or "")[0].split()[0])
    texts = marked.locator("span").all_inner_texts()
    assert sum(text.startswith("    ") for text in texts) == number
    assert any(re.search(r"v?fn?madd|vmulps|vfmadd", text) for text in texts)
    assert sight(page, marked.first)
    expect(page.locator("#body-loops .l.related").first).to_be_attached()
    page.keyboard.press("Escape")
    page.locator("#body-asm .l", has_text="ret").last.hover()
    expect(page.locator("#flow .block.here")).to_have_attribute("aria-label", re.compile("leaves the function"))
    assert violations(page) == []


@pytest.mark.long
def test_the_flow_of_llvm_ir_follows_the_pass_that_is_shown(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, 1680, 980)
    write(page, MATMUL)
    open_flow(page)
    page.select_option("#flow-of", "llvm")
    expect(page.locator("#flow .block", has_text="entry")).to_have_count(1)
    blocks = page.locator("#flow .block").count()
    page.locator("#strip .llvm .chip", has_text="as emitted").click()
    settled(page)
    page.wait_for_function("count => document.querySelectorAll('#flow .block').length !== count", arg=blocks)
    page.locator("#flow .block").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#body-llvm .l.cursor")).to_be_attached()
    second = page.locator("#flow .block").nth(1)
    assert int(page.locator("#body-llvm .l.cursor").get_attribute("data-i") or -1) == int(
        second.get_attribute("data-first") or -2
    )


@pytest.mark.long
def test_which_panes_are_open_survives_a_link(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, 1680, 980)
    write(page, MATMUL)
    open_flow(page)
    page.select_option("#flow-of", "llvm")
    page.click("#share-button")
    expect(page).to_have_url(re.compile(r"/z/\w+"))
    other = open_page(page.url, 1680, 980)
    settled(other)
    expect(other.locator("#flow .block").first).to_be_attached()
    assert other.input_value("#flow-of") == "llvm"
    other.locator("#pane-flow").hover()
    other.click("#pane-flow .close")
    expect(other.locator("#pane-flow")).to_be_hidden()


@pytest.mark.long
def test_on_a_phone_the_flow_is_a_tab_once_it_is_chosen(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, 390, 844)
    settled(page)
    tab = page.locator("#tabs button", has_text="Control flow")
    expect(tab).to_be_hidden()
    page.click("#panes-menu summary")
    page.check("#panes-form [name=flow]")
    expect(tab).to_have_attribute("aria-current", "true")
    expect(page.locator("#flow .block.hot").first).to_be_attached()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert violations(page) == []
