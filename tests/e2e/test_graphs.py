"""Someone with a model: drop it, step through its passes, find the expensive kernel, see its code, share it."""

from __future__ import annotations

import base64
import json
import re
import statistics
from collections import Counter
from collections.abc import Callable
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Page, expect

from tests import models
from tests.app.recorder.models import HOSTILE, two_layers
from tests.e2e.steps import lines, settled, violations, write

NETWORK = """\
import tvm
from tvm import relay

x = relay.var("x", shape=(1, 8, 16, 16))
w = relay.var("w", shape=(8, 8, 3, 3))
y = relay.nn.relu(relay.nn.conv2d(x, w, padding=(1, 1)))
y = relay.nn.softmax(relay.nn.batch_flatten(y + x))
mod = tvm.IRModule.from_expr(relay.Function([x, w], y))
with tvm.transform.PassContext(opt_level=1):
    lib = relay.build(mod, target="llvm")
"""


OPTIMIZED = """\
import onnx
import tvm
from tvm import relay

mod, params = relay.frontend.from_onnx(onnx.load("model.onnx"))
with tvm.transform.PassContext(opt_level=3):
    relay.optimize(mod, target="llvm", params=params)
"""


def linked(explorer: str, workspace: dict[str, object]) -> str:
    """Return the address of a link to a workspace."""
    asked = json.dumps({"workspace": workspace}).encode()
    with urlopen(Request(f"{explorer}/api/links", asked, {"Content-Type": "application/json"})) as answer:
        return f"{explorer}/z/{json.load(answer)['id']}"


@pytest.fixture
def network(explorer: str, open_page: Callable[..., Page]) -> Page:
    page = open_page(linked(explorer, {"script": NETWORK}), 1680, 980)
    settled(page)
    expect(page.locator("#graph .node").first).to_be_visible()
    return page


def nodes(page: Page) -> list[str]:
    return [label or "" for label in page.locator("#graph .node").evaluate_all("all => all.map(n => n.dataset.label)")]


def attach(page: Page, name: str, content: bytes) -> None:
    page.set_input_files("#attach", {"name": name, "mimeType": "application/octet-stream", "buffer": content})
    expect(page.locator(".file")).to_contain_text(name)
    settled(page)


def test_a_graph_is_shown_as_text_drawing_and_kernels(network: Page) -> None:
    page = network
    expect(page.locator("#pane-graph .facts")).to_contain_text("operators")
    assert any("nn.conv2d" in line for line in lines(page, "graph"))
    assert sorted(nodes(page)) == ["add", "nn.batch_flatten", "nn.conv2d", "nn.relu", "nn.softmax", "x"]
    expect(page.locator("#graph .frames path").first).to_be_visible()
    expect(page.locator("#graph .edges text", has_text="(1, 8, 16, 16)").first).to_be_visible()
    expect(page.locator(".kernels tbody tr").first).to_contain_text("conv2d")
    expect(page.locator("#pane-loops")).to_be_hidden()
    assert violations(page) == []


@pytest.mark.long
def test_long_names_of_kernels_leave_room_for_the_other_columns(network: Page) -> None:
    page = network
    page.set_viewport_size({"width": 960, "height": 540})
    name = page.locator(".kernels th .link").first
    name.evaluate("(button) => { button.textContent = button.textContent.repeat(20); }")
    expect(page.locator("#pane-kernels").get_by_role("button", name="as a script").first).to_be_in_viewport(ratio=1)


def test_passes_are_stepped_through_and_compared_and_nodes_stay(network: Page) -> None:
    page = network
    page.click("#strip .graph .chip >> text=FuseOps")
    settled(page)
    place = "n => n.getAttribute('transform')"
    conv = page.locator('#graph .node[data-label="nn.conv2d"]')
    fused = conv.evaluate(place)
    assert page.locator("#graph .frames path").count() >= 2
    page.locator("#body-graph").focus()
    page.keyboard.press("[")
    settled(page)
    expect(page.locator("#graph .frames path")).to_have_count(0)
    assert conv.evaluate(place) == fused
    page.keyboard.press("]")
    page.keyboard.press("d")
    settled(page)
    expect(page.locator("#body-graph .l.added").first).to_be_visible()
    expect(page.locator("#facts-graph")).to_contain_text("+")
    page.select_option("#against-graph", "")
    settled(page)
    expect(page.locator("#body-graph .l.added")).to_have_count(0)


@pytest.mark.long
def test_the_drawing_moves_zooms_folds_and_finds(network: Page) -> None:
    page = network
    transform = "scene => scene.getAttribute('transform')"
    scene = page.locator("#scene")
    seen = [scene.evaluate(transform)]

    def moved() -> None:
        now = scene.evaluate(transform)
        assert now != seen[-1]
        seen.append(now)

    page.click("[data-zoom=in]")
    moved()
    page.locator("#body-drawing").focus()
    page.keyboard.press("-")
    moved()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#graph .node.cursor")).to_have_attribute("data-label", "x")
    moved()
    page.mouse.move(1300, 300)
    page.mouse.wheel(0, 120)
    moved()
    page.mouse.down()
    page.mouse.move(1250, 350)
    page.mouse.up()
    moved()
    page.mouse.move(700, 20)
    expect(page.locator(".related")).to_have_count(0)  # who drags does not choose
    page.keyboard.press("0")
    page.fill("#graph-search", "conv")
    expect(page.locator("#graph-found")).to_have_text("1 found")
    page.keyboard.press("Enter")
    expect(page.locator("#graph .node.cursor")).to_have_attribute("data-label", "nn.conv2d")
    page.select_option("#fold", "groups")
    expect(page.locator('#graph .node[data-label^="conv2d"]')).to_have_count(1)
    assert len(nodes(page)) < 6


@pytest.mark.long
def test_a_layer_that_is_typed_comes_into_sight(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, 1280, 800)
    attach(page, "model.onnx", models.build("resnet18", small=True).SerializeToString())
    expect(page.locator("#graph .node").first).to_be_visible()
    wanted = page.locator("#graph .node", has=page.locator("title", has_text="conv_62"))
    expect(wanted).not_to_be_in_viewport()
    page.fill("#graph-search", "conv_62")
    expect(page.locator("#graph-found")).to_have_text("1 found")
    expect(wanted).to_be_in_viewport(ratio=1)
    place = page.locator("#scene").get_attribute("transform")
    page.fill("#graph-search", "conv_6")  # of these, one is in sight
    expect(page.locator("#scene")).to_have_attribute("transform", place or "")


@pytest.mark.long
def test_one_node_lights_up_down_to_the_instructions(network: Page) -> None:
    page = network
    page.locator('#graph .node[data-label="nn.conv2d"]').click()
    expect(page.locator('#graph .node.related[data-label="nn.conv2d"]')).to_have_count(1)
    expect(page.locator('#graph .node.related[data-label="nn.softmax"]')).to_have_count(0)
    expect(page.locator("#body-graph .l.related", has_text="nn.conv2d")).to_have_count(1)
    expect(page.locator(".kernels tr.related")).to_contain_text("conv2d")
    page.click(".levels [data-level=code]")
    settled(page)
    for pane in ("loops", "llvm", "asm"):
        expect(page.locator(f"#body-{pane} .l.related").first).to_be_attached()
    expect(page.locator("#pane-graph")).to_be_hidden()


@pytest.mark.long
def test_a_pinned_node_leads_to_its_own_kernel(network: Page) -> None:
    page = network
    page.locator('#graph .node[data-label="nn.softmax"]').click()
    page.click(".levels [data-level=code]")
    settled(page)
    expect(page.locator("#body-loops")).to_contain_text("softmax")
    expect(page.locator("#pane-schedule .facts")).to_contain_text("softmax")


@pytest.mark.long
def test_a_kernel_opens_down_to_its_assembly_and_as_a_script(network: Page) -> None:
    page = network
    page.click(".kernels tr:last-child [data-show-kernel]")
    settled(page)
    expect(page.locator("#body-asm .l").first).to_be_visible()
    expect(page.locator(".levels [data-level=code]")).to_have_attribute("aria-pressed", "true")
    assert violations(page) == []
    page.click(".levels [data-level=graph]")
    page.click("#run-button")
    expect(page.locator(".kernels thead")).to_contain_text("share")
    times = page.locator(".kernels td.share").all_inner_texts()
    page.click(".kernels tr:first-child [data-show-kernel]")
    settled(page)
    page.click(".levels [data-level=graph]")
    assert page.locator(".kernels td.share").all_inner_texts() == times
    page.click(".kernels tr:first-child [data-open-kernel]")
    settled(page)
    expect(page.locator(".cm-content")).to_contain_text("one kernel of a model")
    expect(page.locator("#state")).to_contain_text("✓ compiled")
    expect(page.locator("#pane-schedule .stage").first).to_be_visible()


@pytest.mark.long
def test_an_edited_kernel_races_the_original(network: Page) -> None:
    page = network
    page.click(".kernels tr:first-child [data-open-kernel]")
    settled(page)
    expect(page.locator(".file").first).to_contain_text("original.py")
    expect(page.locator(".cm-content")).to_contain_text("te.create_schedule")
    page.click("#run-button")
    rows = page.locator("#bench tbody tr.kernel")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("original")
    expect(rows.last).to_contain_text("× as fast as the original")
    expect(page.locator("#ladder-button")).to_have_text("Ladder")
    assert violations(page) == []


@pytest.mark.long
def test_run_measures_the_kernels_and_colours_the_drawing(network: Page) -> None:
    page = network
    expect(page.locator("#pane-kernels .facts")).to_contain_text("Run measures each")
    page.click("#run-button")
    expect(page.locator("#state")).to_contain_text("ran in")
    expect(page.locator(".kernels thead")).to_contain_text("GFLOP/s")
    shares = page.locator(".kernels .share span").all_inner_texts()
    assert sum(float(share.rstrip("%")) for share in shares) == pytest.approx(100, abs=1)
    assert page.locator('#graph .node[class*="heat-"]').count() >= 1
    assert violations(page) == []


def test_a_dropped_model_gets_a_script_and_a_link(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, 1680, 980)
    attach(page, "model.onnx", two_layers())
    expect(page.locator(".cm-content")).to_contain_text('onnx.load("model.onnx")')
    expect(page.locator("#state")).to_contain_text("✓ compiled")
    assert "nn.relu" in nodes(page)
    for chip in page.locator("#strip .graph .chip").all():
        chip.click()
        settled(page)
        page.fill("#graph-search", "bend")
        expect(page.locator("#graph-found")).to_have_text("1 found")
    expect(page.locator(".kernels td.layers", has_text="bend")).to_have_count(1)
    page.click("#share-button")
    expect(page).to_have_url(re.compile(r"/z/\w+"))
    opened = open_page(page.url, 1680, 980)
    settled(opened)
    expect(opened.locator("#state")).to_contain_text("✓ compiled")
    expect(opened.locator(".file")).to_contain_text("model.onnx")
    assert nodes(opened) == nodes(page)


@pytest.mark.long
def test_a_dropped_model_with_a_loop_runs_on_the_virtual_machine(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, 1680, 980)
    attach(page, "model.onnx", models.build("loop", small=True).SerializeToString())
    expect(page.locator("#state")).to_contain_text("✓ compiled")
    expect(page.locator("#pane-console")).to_contain_text("output 0 (4,)")
    assert nodes(page) != []


@pytest.mark.long
def test_names_of_layers_stay_readable_beside_the_times(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, 1280, 800)
    attach(page, "model.onnx", models.build("resnet18", small=True).SerializeToString())
    page.click("#run-button")
    expect(page.locator(".kernels thead")).to_contain_text("GFLOP/s")
    heights = page.locator(".kernels tbody tr").evaluate_all("rows => rows.map((row) => row.offsetHeight)")
    assert max(heights) <= 3 * min(heights), "a column is a few letters wide"


MODELS = {"resnet18": {}, "mobilenetv2": {}, "bert": {"layers": 12}}
MAX_SHIFT = 40.0
"""Pixels of the screen that a node may move to a side when another pass is shown."""
ROW = 92.0
"""Pixels from one row of nodes to the next; of two that are as near to the middle, one is held."""
PLACES = """
() => {
  const scene = new DOMMatrix(getComputedStyle(document.querySelector('#scene')).transform);
  return [...document.querySelectorAll('#graph .node')].map((node) => {
    const [, x, y] = /translate\\(([-\\d.]+) ([-\\d.]+)\\)/.exec(node.getAttribute('transform'));
    const middle = Number(x) + node.querySelector('rect').getAttribute('width') / 2;
    const point = scene.transformPoint(new DOMPoint(middle, Number(y)));
    return [node.querySelector('title').textContent, point.x, point.y, node.dataset.slot];
  });
}
"""


IN_SIGHT = """() => {
  const body = document.querySelector("#body-drawing").getBoundingClientRect();
  return [...document.querySelectorAll("#graph .band:not([hidden]) .node rect")].filter((node) => {
    const box = node.getBoundingClientRect();
    return box.right > body.left && box.left < body.right && box.bottom > body.top && box.top < body.bottom;
  }).length;
}"""
UNFRAMED = """() => {
  const groups = [...document.querySelectorAll("#graph .node")].map((node) => node.dataset.group).filter(Boolean);
  return new Set(groups).size - document.querySelectorAll("#graph .frames path").length;
}"""


def places(page: Page) -> dict[str, tuple[float, float]]:
    """Return where on the screen each node is, by what its tooltip says; only those that no other says."""
    drawn = page.evaluate(PLACES)
    times = Counter(title for title, *_ in drawn)
    return {title: (x, y) for title, x, y, _ in drawn if times[title] == 1}


@pytest.mark.long
@pytest.mark.parametrize("name", ["resnet18", "mobilenetv2", "bert"])
def test_from_pass_to_pass_nodes_keep_their_columns_and_what_is_looked_at_its_place(
    explorer: str, open_page: Callable[..., Page], name: str
) -> None:
    file = base64.b64encode(models.build(name, small=True, **MODELS[name]).SerializeToString()).decode()
    page = open_page(linked(explorer, {"script": OPTIMIZED, "files": {"model.onnx": file}}), 1680, 1000)
    page.wait_for_selector("#graph .node")
    expect(page.locator("#state")).to_contain_text("✓ compiled")
    expect(page.locator("#pane-console")).not_to_contain_text("not printed")
    steps = page.locator("#step-graph option").evaluate_all(
        "all => all.filter((o, i) => o.dataset.changed === '1' || !i).map((o) => [o.value, o.dataset.drawing ?? ''])"
    )
    assert len(steps) >= 6
    assert all(drawing for _, drawing in steps)
    page.select_option("#fold", "")
    page.locator("#body-drawing").hover()
    page.mouse.wheel(0, 1200)
    middle = page.locator("#body-drawing").bounding_box()["height"] / 2  # type: ignore[index]
    shifts = []
    before: dict[str, tuple[float, float]] = {}
    heights: dict[str, float] = {}
    for value, drawing in steps[1:]:  # the first is the model's file, which is drawn by itself
        page.select_option("#step-graph", value)
        expect(page.locator(f'#graph[data-key="{drawing}"]')).to_be_attached()
        now = places(page)
        assert now, "every step has a drawing"
        assert page.evaluate(IN_SIGHT) > 0, f"nothing of {value} is in sight"
        assert page.evaluate(UNFRAMED) == 0, f"a fused group of {value} has no frame"
        both = before.keys() & now.keys()
        shifts += [abs(now[t][0] - before[t][0]) for t in both]
        before = now
        known, heights = heights, {slot: y for _, _, y, slot in page.evaluate(PLACES)}
        looked_at = min(known.keys() & heights, key=lambda slot: abs(known[slot] - middle), default=None)
        assert looked_at is None or abs(heights[looked_at] - known[looked_at]) <= ROW, value
    assert len(shifts) > 50 * (len(steps) - 2) / 2
    print(f"{name}: {len(shifts)} shifts, median {statistics.median(shifts):.1f} px, largest {max(shifts):.1f} px")
    assert max(shifts) <= MAX_SHIFT
    assert page.locator("#graph .frames path").count() > 5


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
@pytest.mark.long
def test_what_a_pass_removes_fades_and_what_it_makes_grows(
    explorer: str, open_page: Callable[..., Page], motion: str
) -> None:
    page = open_page(f"{explorer}/?example=residual-block", 1680, 1000, reduced_motion=motion)
    page.wait_for_selector("#graph .node")
    seen = page.evaluate_handle(
        "() => { const seen = []; const animate = Element.prototype.animate;"
        "  Element.prototype.animate = function (frames, options) {"
        "    seen.push(this.getAttribute('class')); return animate.call(this, frames, options); }; return seen; }"
    )
    counts = []
    for option in page.locator("#step-graph option[data-changed='1']").all():
        page.select_option("#step-graph", option.get_attribute("value"))
        expect(page.locator(f'#graph[data-key="{option.get_attribute("data-drawing")}"]')).to_be_attached()
        expect(page.locator("#graph .ghost")).to_have_count(0)
        counts.append(page.locator("#graph .node").count())
    moved = seen.json_value()
    assert len(set(counts)) > 1
    assert any(name == "ghost" for name in moved) is (motion == "no-preference")
    assert any(name.startswith("node") for name in moved) is (motion == "no-preference")


@pytest.mark.long
@pytest.mark.parametrize("name", ["truncated", "unknown operators"])
def test_a_broken_model_is_told_at_the_scripts_line(explorer: str, open_page: Callable[..., Page], name: str) -> None:
    content, _, words = HOSTILE[name]
    page = open_page(explorer, 1680, 980)
    attach(page, "broken.onnx", content)
    expect(page.locator("#state")).to_contain_text("at line")
    for word in words:
        expect(page.locator("#pane-console .problem")).to_contain_text(word)
    expect(page.locator(".cm-lintRange-error").first).to_be_visible()
    if name == "unknown operators":
        expect(page.locator("#graph .node.faulty")).to_have_count(2)
        expect(page.locator("#graph .node.faulty").first).to_be_in_viewport()


@pytest.mark.long
def test_graph_panes_close_and_come_back(network: Page) -> None:
    page = network
    page.hover("#pane-graph .pane-head")
    page.click("#pane-graph [data-close=graph]")
    expect(page.locator("#pane-graph")).to_be_hidden()
    page.click("#panes-menu summary")
    page.check("#panes-form [name=graph]")
    expect(page.locator("#pane-graph")).to_be_visible()


@pytest.mark.long
def test_a_graph_on_a_phone_in_the_dark(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{explorer}/?example=residual-block", 390, 800, color_scheme="dark", has_touch=True)
    settled(page)
    page.locator("#tabs button", has_text=re.compile("^Graph$")).click()
    expect(page.locator("#graph .node").first).to_be_visible()
    boxes = page.locator("#graph .node:visible").evaluate_all(
        "nodes => nodes.map((node) => node.getBoundingClientRect().toJSON())"
    )
    left, right = min(box["left"] for box in boxes), max(box["right"] for box in boxes)
    assert left > 0
    assert abs(left - (390 - right)) < 20
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert violations(page) == []
    page.click("#tabs button >> text=Kernels")
    expect(page.locator(".kernels tbody tr").first).to_be_visible()
    page.click("#tabs button >> text=Assembly")
    expect(page.locator("#body-asm .l").first).to_be_visible()


@pytest.mark.long
def test_a_lesson_imports_builds_and_checks_a_model(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{explorer}/?example=model-from-onnx", 1680, 980)
    settled(page)
    expect(page.locator("#state")).to_contain_text("✓ compiled")
    expect(page.locator("#pane-console")).to_contain_text("agrees with the interpreter")
    assert page.locator("#strip .graph .chip").count() > 4


NESTED = """\
import tvm
from tvm import relay
from tvm.relay.prelude import Prelude

mod = tvm.IRModule()
prelude = Prelude(mod)
x = relay.var("x", shape=(4,))
flag = relay.var("flag", shape=(), dtype="bool")
v = relay.var("v", shape=(4,))
twice = relay.var("twice")
closure = relay.Function([v], relay.add(relay.nn.relu(v), x))
either = relay.If(flag, relay.tanh(x), relay.exp(relay.negative(x)))
some, none = prelude.mod.get_type("Option")[1:]
inner = relay.var("inner")
matched = relay.Match(some(either), [
    relay.Clause(relay.PatternConstructor(some, [relay.PatternVar(inner)]), relay.sigmoid(inner)),
    relay.Clause(relay.PatternWildcard(), relay.zeros_like(x)),
])
mod["main"] = relay.Function([x, flag], relay.Let(twice, closure, relay.Call(twice, [matched])))
mod = relay.transform.InferType()(mod)
"""
INSIDE = """([label, title]) => {
  const node = [...document.querySelectorAll("#graph .node")].find(({ dataset }) => dataset.label === label);
  const at = node?.querySelector("rect").getBoundingClientRect();
  const boxes = [...document.querySelectorAll("#graph .scopes path")].map((path) => path.getBoundingClientRect());
  const names = [...document.querySelectorAll("#graph .scope")];
  return Boolean(at) && boxes.some((box, index) => names[index].textContent.includes(title) && at.left >= box.left - 1
    && at.right <= box.right + 1 && at.top >= box.top - 1 && at.bottom <= box.bottom + 1);
}"""
"""Whether an operator is drawn inside of a box of a title."""


@pytest.mark.long
def test_branches_clauses_and_closures_are_nested_boxes(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, 1680, 1000)
    write(page, NESTED)
    expect(page.locator("#graph .node", has_text="sigmoid")).to_be_attached()
    titles = page.locator("#graph .scope")
    expect(titles).to_have_count(5)
    for title in ("fn", "then", "else", "Some(%inner)", "_"):
        expect(titles.filter(has_text=title)).to_have_count(1)
    for label, title in (("nn.relu", "fn"), ("tanh", "then"), ("exp", "else"), ("sigmoid", "Some(%inner)")):
        page.wait_for_function(INSIDE, arg=[label, title])
        assert not page.evaluate(INSIDE, ["zeros_like", title])
    page.wait_for_function(INSIDE, arg=["zeros_like", " _"])


WIDE = """\
import tvm
from tvm import relay

x = relay.var("x", shape=(1, 8, 16, 16))
y = relay.concatenate([relay.nn.leaky_relu(x, alpha=k / 8) for k in range(16)], axis=1)
mod = tvm.IRModule.from_expr(relay.Function([x], y))
lib = relay.build(mod, target="llvm")
"""


@pytest.mark.parametrize("moved", [False, True])
def test_another_model_is_shown_from_its_beginning(network: Page, moved: bool) -> None:
    drawing = network.locator("#body-drawing")
    if moved:
        drawing.click(position={"x": 5, "y": 5})
        for _ in range(9):
            network.keyboard.press("ArrowLeft")
    write(network, WIDE)
    settled(network)
    expect(network.locator("#graph .node")).not_to_have_count(0)
    expect(network.locator("#graph title", has_text="concatenate").first).to_be_attached()
    expect(network.locator("#graph .node").first).to_be_in_viewport()
    room, first = drawing.bounding_box(), network.locator("#graph .node").first.bounding_box()
    assert room is not None
    assert first is not None
    assert room["x"] <= first["x"] < room["x"] + room["width"]


MANY_INPUTS = """\
import tvm
from tvm import relay
from tvm.relay import testing

mod, params = testing.mobilenet.get_workload(batch_size=1)
lib = relay.build(mod, "llvm", params=params)
"""
IN_SIGHT = """() => {
  const room = document.querySelector("#body-drawing").getBoundingClientRect();
  const at = [...document.querySelectorAll("#graph .node.operator")].map((node) => node.getBoundingClientRect());
  const near = at.filter(({ y, height }) => height && y > room.top && y < room.bottom);
  return [near.filter(({ x }) => x > room.left && x < room.right).length, near.length];
}"""


def test_operators_are_in_sight_where_the_weights_push_the_input_aside(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(linked(explorer, {"script": MANY_INPUTS}))
    settled(page)
    expect(page.locator("#graph .node").first).to_be_attached()
    shown, near = page.evaluate(IN_SIGHT)
    assert shown > near / 2 > 0
