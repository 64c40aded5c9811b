"""What is wrong is said where one looks; nothing of another script stays; models say what their files leave open."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import onnx
import pytest
from playwright.sync_api import Page, Route, expect

from app.artifacts import Drawing, GraphEdge, GraphNode, Origin, Problem, Step, Unit, drawing_key
from app.sandbox import Runner
from tests.app.fixtures import AnswerRunner, full_answer
from tests.e2e.steps import MATMUL, settled, violations, write

TENSORFLOW = Path(__file__).parent.parent / "compiler" / "classic" / "frontend" / "data"
OTHER = 'M = 1\nx = te.placeholder((M,), name="x")\ny = M + 1\nraise ValueError\n'
TINTED = ".cm-line:is(.t1, .t2, .t3, .t4, .t5, .t6, .t7, .t8)"
IN_ORDER = """() => {
  const all = [...document.querySelectorAll("#pane-source .pane-head button")];
  const buttons = all.filter((node) => node.checkVisibility());
  const place = (node) => { const box = node.getBoundingClientRect(); return [Math.round(box.top / 12), box.left]; };
  const places = buttons.filter((node) => !node.matches(".close")).map(place);
  return places.every(([row, left], i) => !i || row > places[i - 1][0] || left > places[i - 1][1]);
}"""
"""Whether the keyboard goes through the header of the source as it is read."""


def attach(page: Page, name: str, content: bytes) -> None:
    page.set_input_files("#attach", {"name": name, "mimeType": "application/octet-stream", "buffer": content})
    settled(page)


def part(number: int, content: bytes) -> bytes:
    """Return a field of a protocol buffer."""
    return bytes([number << 3 | 2, len(content)]) + content


def model(text: str) -> bytes:
    """Return the file of a model, of a graph in ONNX's own notation."""
    parsed: bytes = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}').SerializeToString()
    return parsed


@pytest.mark.long
def test_another_script_has_none_of_the_colours_and_panes_of_the_one_before(
    fixed: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(fixed, 1280, 800)
    page.keyboard.press("Tab")
    expect(page.locator("#skip")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator(".cm-content")).to_be_focused()
    expect(page.locator(TINTED)).not_to_have_count(0)
    write(page, page.locator("#script").input_value() + "raise ValueError\n")  # an edit of the same script
    expect(page.locator(".pane.stale")).not_to_have_count(0)
    expect(page.locator("#strip .chip")).not_to_have_count(0)
    write(page, OTHER)
    expect(page.locator(".line-message.error")).to_have_text("ValueError: split: factor must be positive")
    expect(page.locator(".line-message")).to_be_in_viewport()
    expect(page.locator(".pane.stale, #strip .chip")).to_have_count(0)
    expect(page.locator(TINTED)).to_have_count(0)
    expect(page.locator("#body-loops .l")).to_have_count(0)
    expect(page.locator("#pane-loops .empty")).to_contain_text("ended with ValueError at line 4")
    assert page.evaluate(IN_ORDER)
    assert violations(page) == []
    # a signature is that of the call which is typed, not of another script
    page.keyboard.press("Control+a")
    page.keyboard.type("from tvm import te\nte.compute(")
    expect(page.locator(".signature-help")).to_be_visible()
    attach(page, "other.py", b"x = 1\n")
    expect(page.locator(".signature-help")).to_have_count(0)


@pytest.mark.long
def test_a_compilation_that_takes_long_counts_its_seconds_and_is_stopped(
    fixed: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(fixed, 1280, 800)
    held: list[Route] = []
    page.route("**/panes", lambda route: held.append(route))
    page.click(".cm-content")
    page.keyboard.insert_text("while True: pass\n")
    expect(page.locator("#state")).to_have_text(re.compile(r"compiling … \d s"))
    with page.expect_event("requestfailed", lambda request: request.url.endswith("/panes")):
        page.click("#stop-button")
    expect(page.locator("#state")).to_have_text(re.compile(r"stopped after \d+ seconds"))
    expect(page.locator("body.pending, #stop-button:visible")).to_have_count(0)
    page.unroute("**/panes")
    page.keyboard.press("Control+z")
    page.click(".cm-content")
    page.keyboard.insert_text("# on\n")
    expect(page.locator("#state")).to_contain_text("✓ compiled")
    # a loop that is dropped before it is known what can be applied goes there once it is
    page.route("**/api/proposals", lambda route: held.append(route))
    start, onto = (page.locator("#pane-schedule .grip[data-loop]").nth(index).bounding_box() for index in (1, 0))
    assert start
    assert onto
    page.mouse.move(start["x"] + 4, start["y"] + 4)
    page.mouse.down()
    page.mouse.move(start["x"] + 30, start["y"] + 4)
    page.mouse.move(onto["x"] + 40, onto["y"] + 1)
    page.mouse.up()
    expect(page.locator("#drop-tip")).to_contain_text("once it is known what can be applied")
    edit = {"line": 1, "removed": 0, "text": "s[C].reorder(k, i)"}
    proposal = {"primitive": "reorder", "label": "reorder", "onto": {"stage": 0, "loop": 0}, "edit": edit}
    held[-1].fulfill(json={"proposals": [proposal]})
    expect(page.locator(".cm-line").first).to_have_text("s[C].reorder(k, i)")
    expect(page.locator("#drop-tip")).to_be_hidden()


@pytest.mark.long
def test_a_preview_that_was_stopped_is_no_mistake_and_a_fault_stands_at_its_line_and_node(
    serve: Callable[[Runner], str], open_page: Callable[..., Page]
) -> None:
    stopped = Problem(kind="Timeout", message="line 2 runs on; lines 3 to 5 did not run", line=2, severity="info")
    race = Problem(kind="data race", message="two threads write S[0]", line=4, severity="warning", origins=[8])
    nodes = [GraphNode(key="x", label="x", kind="input", origins=[7]), GraphNode(key="y", label="dense", origins=[8])]
    drawing = Drawing(key="", name="main", nodes=nodes, edges=[GraphEdge(0, 1)])
    drawing = msgspec.structs.replace(drawing, key=drawing_key(drawing))
    answer = full_answer()
    text = next(iter(answer.listings))
    graph = Unit(
        name="main", kind="graph", steps=[Step(group="graph", name="Graph", listing=text, drawing=drawing.key)]
    )
    answer = msgspec.structs.replace(
        answer,
        status="timeout",
        units=[graph, *answer.units],
        drawings={drawing.key: drawing},
        origins=[*answer.origins, Origin(7, "source", "x", line=1), Origin(8, "source", "y", line=2)],
        problems=[race, stopped],
    )
    page = open_page(serve(AnswerRunner(answer)), 1280, 800)
    expect(page.locator("#state.stopped")).to_have_text("stopped at line 2; press Run")
    expect(page.locator("#problems-button")).to_have_text("1 problem")
    expect(page.locator(".cm-line.failed-line, .problem.error, .line-message.error")).to_have_count(0)
    expect(page.locator(".line-message.warning")).to_have_text("data race: two threads write S[0]")
    expect(page.locator("#graph .node.faulty title")).to_contain_text("dense")
    expect(page.locator("#graph .node.faulty")).to_have_count(1)
    assert violations(page) == []
    with page.expect_request("**/run"):
        page.click("#pane-console .problem.info [data-run]")
    settled(page)
    with page.expect_request("**/run"):
        page.click(".line-message.info [data-run]")
    settled(page)


def test_open_dimensions_of_a_model_have_sizes_that_can_be_edited(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed, 1280, 800)
    shape = page.locator(".cm-line", has_text="shape = ")
    image = model("g (float[N,3,H,W] image) => (float[N,3,H,W] z) { z = Relu (image) }")
    attach(page, "image.onnx", image)
    expect(shape).to_have_text('shape = {"image": (1, 3, 224, 224)}  # N, H, W are open in the file')
    expect(page.locator("#shapes label")).to_have_text(["N", "H", "W"])
    page.locator("[data-open-dimension=H]").fill("64")
    page.keyboard.press("Enter")
    expect(shape).to_contain_text('{"image": (1, 3, 64, 224)}')
    assert violations(page) == []
    # names that inputs share are one size; weights are no inputs, and a size in the file stays
    text = model("g (int64[batch,tokens] ids, float[batch,tokens,?] x, float[4] w) => (float[4] z) { z = Relu (w) }")
    named = onnx.ModelProto.FromString(text)
    named.graph.initializer.add(name="w", data_type=1, dims=[4], float_data=[1.0] * 4)
    attach(page, "text.onnx", named.SerializeToString())
    expect(shape).to_have_text(re.compile(r'shape = {"ids": \(1, 128\), "x": \(1, 128, 64\)}  # batch, tokens, C2 are'))
    page.locator("[data-open-dimension=tokens]").fill("16")
    page.keyboard.press("Enter")
    expect(shape).to_contain_text('{"ids": (1, 16), "x": (1, 16, 64)}')
    expect(page.locator(".file")).to_have_text(["text.onnx✕"])  # the model before went with its script
    attach(page, "whole.onnx", model("g (float[1,4] x) => (float[1,4] z) { z = Relu (x) }"))
    expect(page.locator(".cm-content")).to_contain_text("from_onnx(model)")
    expect(page.locator("#shapes")).to_be_hidden()
    attach(page, "half.onnx", image[: len(image) // 2])
    expect(page.locator(".cm-content")).to_contain_text('onnx.load("half.onnx")')
    layer = b'{"class_name": "InputLayer", "config": {"batch_shape": [null, null, 32, 3], "name": "photo"}}'
    attach(page, "photo.keras", b"PK" + layer)
    expect(shape).to_contain_text('{"photo": (1, 3, 32, 32)}')
    attach(page, "saved.zip", (TENSORFLOW / "saved_v2.zip").read_bytes())
    expect(shape).to_contain_text('{"serving_default_x": (1, 6)}')
    sizes = b"".join(part(2, b"\x08" + size) for size in (b"\xff" * 9 + b"\x01", b"\x20", b"\x03"))
    attribute = part(5, part(1, b"shape") + part(2, part(7, sizes)))
    attach(page, "frozen.pb", part(1, part(1, b"signal") + part(2, b"Placeholder") + attribute))
    expect(shape).to_contain_text('{"signal": (1, 32, 3)}')


@pytest.mark.parametrize("size", [(1280, 800), (1680, 980), (390, 844)])
def test_heads_keep_their_height_when_a_script_fails(
    size: tuple[int, int], explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer, *size, script=MATMUL)

    def heights() -> dict[str, float]:
        return page.locator(".pane-head:visible").evaluate_all(
            "heads => Object.fromEntries(heads.map((h) => [h.parentElement.dataset.pane, h.offsetHeight]))"
        )

    before = heights()
    write(page, MATMUL.replace("te.create_schedule(", "te.create_schedul("))
    expect(page.locator("#state")).to_have_text("✗ UnknownNameError at line 10")
    expect(page.locator("#problems-button")).to_be_visible()
    assert heights() == before
    assert page.locator("#state").evaluate("state => state.scrollWidth <= state.clientWidth"), "cut off"


def test_a_long_fix_keeps_within_the_console(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, 1280, 800, script="import tvm\ntvm.target.Target('sapphirerapids')\n")
    fix = page.locator(".problem [data-fix]")
    expect(fix).to_have_text("Write llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=sapphirerapids")
    inside = "fix => fix.getBoundingClientRect().right <= fix.closest('.problem').getBoundingClientRect().right"
    assert fix.evaluate(inside)
