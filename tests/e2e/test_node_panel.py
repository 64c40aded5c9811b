"""The panel of a graph's node: what it is, what it came from, what it costs; by pointer, keyboard and on a phone."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests import models
from tests.e2e.steps import settled, violations
from tests.e2e.test_graphs import NETWORK, attach, linked

WEIGHTED = """\
import numpy as np
import tvm
from tvm import relay

x = relay.var("x", shape=(1, 64))
w = np.linspace(-2, 3, 64 * 32).reshape(32, 64).astype("float32")
w[:16] = 0
y = relay.nn.softmax(relay.nn.dense(x, relay.const(w)))
mod = tvm.IRModule.from_expr(relay.Function([x], y))
lib = relay.build(mod, target="llvm")
"""


@pytest.fixture
def weighted(explorer: str, open_page: Callable[..., Page]) -> Page:
    page = open_page(linked(explorer, {"script": WEIGHTED}), 1680, 980)
    settled(page)
    expect(page.locator("#graph .node").first).to_be_visible()
    page.locator("#strip .graph .chip", has_text="InferType").first.click()  # before it, nothing has a type
    settled(page)
    return page


@pytest.mark.long
def test_a_node_tells_its_attributes_weights_origin_and_cost(weighted: Page) -> None:
    page, panel = weighted, weighted.locator("#node-panel")
    expect(panel).to_be_hidden()
    page.locator('#graph .node[data-label="nn.dense"]').click()
    expect(panel.locator("#node-title")).to_have_text("nn.dense")
    text = panel.inner_text()
    for words in ("1 × 32", "float32", "line 8", "50% zeros", "128 B"):
        assert words in text, text
    assert panel.locator("figure rect").count() == 32
    assert panel.locator(".range span").all_inner_texts() == ["0", "3"]
    expect(panel.locator("[data-slot]")).to_have_text(["x", "nn.softmax"])
    expect(panel).to_contain_text(re.compile(r"4\.\d+ k FLOPs"))
    expect(panel).to_contain_text("not measured")
    assert violations(page) == []
    panel.locator("[data-slot]", has_text="nn.softmax").click()
    expect(panel.locator("#node-title")).to_have_text("nn.softmax")
    expect(panel.locator(".attributes")).to_contain_text("axis")
    panel.locator("[data-show-kernel]").first.click()
    settled(page)
    expect(page.locator("#pane-asm")).to_be_visible()


@pytest.mark.long
def test_the_panel_follows_the_steps_and_a_run_tells_the_time(weighted: Page) -> None:
    page, panel = weighted, weighted.locator("#node-panel")
    page.locator('#graph .node[data-label="nn.softmax"]').click()
    page.locator("#strip .graph .chip", has_text="FuseOps").click()
    settled(page)
    expect(panel.locator("#node-title")).to_have_text("nn.softmax")
    page.click("#run-button")
    expect(page.locator("#run-label")).to_have_text("Run")
    page.locator('#graph .node[data-label="nn.softmax"]').click()
    expect(panel).to_contain_text(re.compile(r"[µnm]s \([\d.]+% of the run\)"))


def test_the_panel_is_reached_and_left_by_keyboard(weighted: Page) -> None:
    page = weighted
    page.locator("#body-drawing").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    panel = page.locator("#node-panel")
    expect(panel).to_be_visible()
    page.keyboard.press("Tab")
    assert page.evaluate("document.getElementById('node-panel').contains(document.activeElement)")
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(page.locator("#body-drawing")).to_be_focused()


@pytest.mark.long
def test_an_imported_layer_is_named(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, 1280, 800)
    attach(page, "net.onnx", models.build("lenet", batch=1).SerializeToString())
    page.locator("#graph .node", has_text="conv2d").first.click()
    expect(page.locator("#node-panel dt").first).to_have_text("layer")


@pytest.mark.long
def test_on_a_phone_it_is_a_sheet(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(linked(explorer, {"script": NETWORK}), 390, 844)
    settled(page)
    page.locator("#tabs button", has_text=re.compile("^Graph$")).click()
    page.locator('#graph .node[data-label="nn.conv2d"]').click()
    expect(page.locator("#node-panel")).to_be_visible()
    box = page.locator("#node-panel").bounding_box()
    assert box is not None
    assert (round(box["x"]), round(box["width"])) == (0, 390)
    assert round(box["y"] + box["height"]) == 844
    page.click("#node-close")
    expect(page.locator("#node-panel")).to_be_hidden()
