"""A kernel of a model is scheduled by hand and goes back into the model, with what that gains, in the link."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import settled, unwrap, violations
from tests.e2e.test_graphs import NETWORK, linked

KERNEL = "nn_conv2d_nn_relu_add"
BADGE = ".kernels tbody .own"


@pytest.fixture
def network(explorer: str, open_page: Callable[..., Page]) -> Page:
    page = open_page(linked(explorer, {"script": NETWORK}), 1680, 980)
    settled(page)
    expect(page.locator("#graph .node").first).to_be_visible()
    return page


def open_kernel(page: Page) -> None:
    page.click(f".kernels tr[data-kernel$={KERNEL}] [data-open-kernel]")
    expect(page.locator("#fork")).to_be_visible()
    expect(page.locator("#fork-name")).to_contain_text(KERNEL)
    settled(page)


def add_line(page: Page, after: str, line: str) -> None:
    """Write a line after the one that contains a text, as a person does."""
    page.locator(".cm-line", has_text=after).last.click()
    for _ in range(4):  # of a line that is wrapped, each goes to the end of a row
        page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.keyboard.insert_text(line)
    settled(page)


@pytest.mark.long
def test_a_kernel_goes_back_into_its_model_and_into_the_link(
    network: Page, explorer: str, open_page: Callable[..., Page]
) -> None:
    page = network
    unwrap(page)
    open_kernel(page)
    add_line(page, "s = te.create_schedule", "s[conv].unroll(rw)")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#fork")).to_be_visible()
    expect(page.locator(".cm-content")).to_contain_text("s[conv].unroll(rw)")
    settled(page)
    page.click("#fork-put")
    expect(page.locator(".cm-content")).to_contain_text("relay.build")
    expect(page.locator("#race")).to_contain_text("× as fast")
    expect(page.locator("#race")).to_contain_text("Its outputs are the same")
    expect(page.locator(BADGE)).to_have_count(1)
    assert violations(page) == []
    page.locator("#share-menu summary").click()
    expect(page.locator("#shared-link")).to_have_value(re.compile(r"/z/"))
    other = open_page(page.locator("#shared-link").input_value(), 1680, 980)
    expect(other.locator(BADGE)).to_have_count(1)
    expect(other.locator("#race")).to_contain_text("Measured")
    expect(other.locator("#race")).to_contain_text("× as fast")
    unwrap(other)
    other.click(f".own-kernels [data-open-kernel$={KERNEL}]")
    expect(other.locator(".cm-content")).to_contain_text("s[conv].unroll(rw)")


def test_a_kernel_that_is_opened_twice_leaves_to_its_model(network: Page) -> None:
    page = network
    page.dblclick(f".kernels tr[data-kernel$={KERNEL}] [data-open-kernel]")
    expect(page.locator("#fork-name")).to_contain_text(KERNEL)
    settled(page)
    page.click("#fork-leave")
    expect(page.locator(".cm-content")).to_contain_text("relay.build")
    expect(page.locator(".cm-content")).not_to_contain_text("te.create_schedule")


def test_undo_after_a_kernel_was_opened_is_back_at_the_model(network: Page) -> None:
    page = network
    open_kernel(page)
    page.locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+z")
    expect(page.locator(".cm-content")).to_contain_text("relay.build")
    expect(page.locator("#fork")).to_be_hidden()
    expect(page.locator(".file")).to_have_count(0)


@pytest.mark.long
def test_a_kernel_is_dropped_by_one_click(network: Page) -> None:
    page = network
    open_kernel(page)
    page.click("#fork-put")
    expect(page.locator(BADGE)).to_have_count(1)
    expect(page.locator("#race")).to_contain_text("Its outputs are the same")
    page.click("[data-drop-kernel]")
    expect(page.locator(BADGE)).to_have_count(0)
    expect(page.locator(".own-kernels")).to_have_count(0)
    expect(page.locator(".cm-content")).to_contain_text("relay.build")
