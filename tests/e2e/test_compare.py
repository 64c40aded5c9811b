"""Comparing anything with anything: a pane with that of a link, and a drawing with that of another step."""

from __future__ import annotations

import re
from collections.abc import Callable

import onnx.parser
import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.e2e.steps import MATMUL, settled, violations, write


@pytest.mark.long
def test_what_changed_since_a_link_is_shown_for_assembly_and_loops(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer, script=MATMUL)
    page.click("#share-button")
    expect(page).to_have_url(re.compile(r"/z/\w+"))
    link = page.url.rpartition("/")[2]
    other = open_page(page.url, 1680, 980)
    settled(other)
    write(other, MATMUL.replace("factor=16", "factor=32"))
    other.select_option("#against-asm", "link")
    expect(other.locator("#link-input")).to_have_value(f"/z/{link}")
    assert violations(other) == []
    other.keyboard.press("Enter")
    expect(other.locator("#facts-asm")).to_contain_text(f"/z/{link}")
    expect(other.locator("#body-asm .l.added").first).to_be_attached()
    expect(other.locator("#body-asm .l.removed").first).to_be_attached()
    other.select_option("#against-loops", "kept")
    expect(other.locator("#body-loops .l.added").first).to_be_attached()
    write(other, MATMUL)
    expect(other.locator("#facts-asm")).to_contain_text("no difference")
    expect(other.locator("#body-asm .l.added")).to_have_count(0)


@pytest.mark.long
def test_a_link_that_does_not_exist_is_told(explorer: str, open_page: Callable[..., Page], console: object) -> None:
    page = open_page(explorer)
    settled(page)
    page.select_option("#against-llvm", "link")
    page.fill("#link-input", "https://example.org/z/nosuchlink?x=1")
    page.keyboard.press("Enter")
    expect(page.locator("#toast")).to_contain_text("There is no link nosuchlink")
    expect(page.locator("#body-llvm .diff")).to_have_count(0)
    console.said.clear()  # type: ignore[attr-defined]


@pytest.mark.long
def test_closing_the_dialog_compares_nothing(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    settled(page)
    page.select_option("#against-loops", "link")
    page.keyboard.press("Escape")
    expect(page.locator("#against-loops")).to_be_focused()
    expect(page.locator("#against-loops")).to_have_value("")
    expect(page.locator("#body-loops .diff")).to_have_count(0)


SLOTS = "() => [...document.querySelectorAll('#graph .node')].map((node) => node.dataset.slot)"


@pytest.mark.long
def test_the_drawing_marks_what_is_added_removed_and_changed(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{explorer}/?example=residual-block", 1680, 1000)
    expect(page.locator("#graph .node").first).to_be_attached()
    settled(page)
    options = page.locator("#step-graph option")
    page.select_option("#step-graph", index=0)
    settled(page)
    before = set(page.evaluate(SLOTS))
    page.select_option("#step-graph", index=options.count() - 1)
    settled(page)
    after = set(page.evaluate(SLOTS))
    page.select_option("#against-graph", options.first.get_attribute("value"))
    told = page.locator("#graph-compared")
    expect(told).to_have_text(
        re.compile(
            rf"^{len(after - before)} added · {len(before - after)} removed · \d+ changed · \d+ nodes in 2 new groups$"
        )
    )
    expect(page.locator("#graph .is-added")).to_have_count(len(after - before))
    expect(page.locator("#graph .gone")).to_have_count(len(before - after))
    assert after != before
    expect(page.locator("#graph .node .sign").first).to_be_attached()
    assert violations(page) == []
    page.select_option("#against-graph", "")
    settled(page)
    expect(told).to_have_text("")
    expect(page.locator("#graph :is(.gone, .sign, .is-added)")).to_have_count(0)
    fusing = page.locator("#step-graph option", has_text="FuseOps").first.get_attribute("value")
    page.select_option("#step-graph", fusing)
    settled(page)
    page.select_option("#against-graph", "previous")
    expect(told).to_have_text("0 added · 0 removed · 0 changed · 14 nodes in 2 new groups")
    expect(page.locator("#graph .is-fused")).to_have_count(14)
    page.select_option("#step-graph", options.first.get_attribute("value"))
    page.select_option("#against-graph", fusing)
    expect(told).to_contain_text("14 nodes in 2 former groups")
    expect(page.locator("#graph .is-fused")).to_have_count(0)


def share(page: Page) -> str:
    """Share what a page shows; returns the link's address."""
    page.click("#share-button")
    expect(page.locator("#shared-link")).to_have_value(re.compile("/z/"))
    address = page.locator("#shared-link").input_value()
    page.keyboard.press("Escape")
    return address


@pytest.mark.long
def test_a_link_keeps_what_is_compared_with_a_kept_text(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, 1680, 980)
    write(page, MATMUL)
    page.select_option("#against-asm", "keep")
    expect(page.locator("#toast")).to_contain_text("Kept")
    write(page, MATMUL.replace("factor=16", "factor=32"))
    expect(page.locator("#body-asm .l.added").first).to_be_attached()
    told = re.match(r"\+[\d,]+ −[\d,]+", page.locator("#facts-asm").inner_text())
    assert told is not None
    other = open_page(share(page), 1680, 980)
    expect(other.locator("#facts-asm")).to_contain_text(told[0])
    expect(other.locator("#facts-asm")).to_contain_text("/z/")
    expect(other.locator("#body-asm .l.added mark").first).to_be_attached()


RELU = """\
import tvm
from tvm import relay

x = relay.var("x", shape=(1, 8))
y = relay.nn.relu(x)
f = tvm.IRModule.from_expr(relay.Function([x], y))
relay.transform.InferType()(f)
"""


@pytest.mark.long
def test_drawings_are_compared_with_that_of_a_link(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, 1680, 980)
    write(page, RELU)
    expect(page.locator("#graph .node", has_text="nn.relu")).to_be_attached()
    link = share(page)
    write(page, RELU.replace("relay.nn.relu(x)", "relay.tanh(relay.nn.relu(x))"))
    expect(page.locator("#graph .node", has_text="tanh")).to_be_attached()
    page.select_option("#against-graph", "link")
    page.fill("#link-input", link)
    page.keyboard.press("Enter")
    expect(page.locator("#graph-compared")).to_have_text("1 added · 0 removed · 0 changed")
    expect(page.locator("#graph .is-added")).to_contain_text("tanh")
    write(page, RELU.replace("relay.nn.relu(x)", "relay.tanh(x)"))
    expect(page.locator("#graph-compared")).to_have_text("1 added · 1 removed · 0 changed")
    expect(page.locator("#graph .gone")).to_contain_text("relu")


MODEL = """<ir_version: 8, opset_import: ["": 17]>
network (float[1, 16] x) => (float[1, 8] y)
<float[16, 8] w = {WEIGHTS}> { h0 = MatMul(x, w) CHAIN r = Relu(h16) y = Softmax(r) }"""
CHAIN = " ".join(f"h{at + 1} = Abs(h{at})" for at in range(16))
WEIGHTS = ", ".join(str(at / 128) for at in range(128))
OTHER = MODEL.replace("y = Softmax(r)", "s = Sigmoid(r) y = Neg(s)").replace("Relu", "LeakyRelu <alpha = 0.5>")


def model_file(name: str, text: str) -> FilePayload:
    content = onnx.parser.parse_model(text.replace("WEIGHTS", WEIGHTS).replace("CHAIN", CHAIN)).SerializeToString()
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}


def attach_model(page: Page, name: str, text: str) -> None:
    page.set_input_files("#attach", model_file(name, text))
    expect(page.locator(".file", has_text=name)).to_be_visible()
    settled(page)
    expect(page.locator("#graph .node").first).to_be_attached()


@pytest.mark.long
def test_two_models_are_compared_as_graphs_with_the_times_of_their_kernels(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer, 1680, 980)
    attach_model(page, "old.onnx", MODEL)
    attach_model(page, "new.onnx", OTHER)
    page.get_by_role("button", name="Compare with old.onnx").click()
    page.click("#model-before")
    compared = page.locator("#graph-compared")
    expect(compared).to_have_text("3 added · 2 removed · 0 changed")
    expect(page.locator("#graph .node.is-added")).to_have_count(3)
    expect(page.locator("#graph .node.is-removed").first).to_be_in_viewport()  # far below the inputs
    expect(page.locator("#graph .node.is-removed")).to_have_count(2)
    changes = page.locator("#changes")
    expect(changes.locator("tr", has_text="Softmax").first).to_contain_text("−1")
    changes.get_by_role("button", name="+1").first.press("Enter")
    expect(page.locator("#graph .node.cursor.is-added")).to_be_in_viewport()
    assert violations(page) == []
    expect(changes.locator("table.kernels tr.total")).to_be_hidden()
    changes.get_by_role("button", name="Measure both in turns").press("Enter")
    expect(changes.get_by_role("status")).to_contain_text("alternating rounds")
    expect(changes.locator("table.kernels tr.total td.timed")).to_contain_text([re.compile("s$"), "s", "×"])
    expect(changes.locator("table.kernels tr[data-old][data-now] td.timed").first).to_contain_text("s")
    assert violations(page) == []
    page.click("#run-button")
    expect(page.locator("#state")).to_contain_text("ran in")
    expect(changes.locator("table.kernels tr.total")).to_contain_text("×")
    other = open_page(share(page), 390, 800, has_touch=True)  # a link has it, and a phone shows it
    other.locator("#tabs button", has_text="Compared models").click()
    expect(other.locator("#changes .summary")).to_contain_text("3 added · 2 removed · 0 changed")
    assert other.evaluate("document.documentElement.scrollWidth") <= 390
    page.select_option("#against-graph", "")
    expect(compared).to_have_text("")
    expect(page.locator("#graph .is-added")).to_have_count(0)
    page.select_option("#against-graph", "model")
    page.set_input_files("#model-file", model_file("third.onnx", MODEL))
    expect(page.locator("#pane-changes .facts")).to_contain_text("third.onnx → new.onnx")  # the one that was shown


def test_a_file_that_is_no_model_is_named_where_there_is_nothing_to_compare(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer)
    attach_model(page, 'an "old".onnx', MODEL)
    page.get_by_role("button", name="Compare with …").click()
    page.set_input_files("#model-file", {**model_file("damaged.onnx", MODEL), "buffer": b"no model"})
    expect(page.locator("#toast")).to_contain_text("nothing to compare: damaged.onnx made no graph")
    expect(page.locator("#pane-console .cell")).to_have_count(2)
    expect(page.locator("#pane-console .cell.failed")).to_have_text(re.compile("damaged.onnx"))
