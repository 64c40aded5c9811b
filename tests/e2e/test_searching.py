"""A search in the page: of a function, a log that is dropped on it, or the kernels of a model, by keyboard too."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from playwright.sync_api import FilePayload, Page, Route, expect

from compiler.classic.alias import install
from compiler.search import Machine, ScheduleSpace, Wishes
from compiler.search.choices import Choices
from compiler.search.models import numbers_of
from compiler.search.tuning import workload_of
from compiler.target.target import Target
from compiler.te.lowering.create_prim_func import create_prim_func
from tests.e2e.conftest import Console
from tests.e2e.steps import LISTEN, MATMUL, refuse, reload, settled, violations, write

CHOICES = [
    ["C.way", "tiles"], ["C.vector", 1], ["C.1.inner", 16], ["C.0.inner", 4], ["C.0.outer", [4, 2]],
    ["C.1.outer", [2, 1]], ["C.r0.inner", 8], ["C.pack1", False], ["C.written_at", 0], ["C.unroll", False],
]  # fmt: skip


MODEL = """\
import numpy as np
import tvm
from tvm import relay

x = relay.var("x", shape=(4, 64))
y = relay.nn.relu(relay.nn.dense(x, relay.const(np.ones((48, 64), "float32"))))
y = relay.nn.softmax(relay.nn.dense(y, relay.const(np.ones((8, 48), "float32"))))
lib = relay.build(tvm.IRModule.from_expr(relay.Function([x], y)), target="llvm -mcpu=native")
"""


@cache
def matmul() -> str:
    """Return what records call the function of the usual script."""
    scope: dict[str, Any] = {}
    install()
    exec(MATMUL, scope)
    definition = create_prim_func([scope["A"], scope["B"], scope["C"]])
    return workload_of(definition, Target("llvm"), 1)


def line(seconds: float | None, kind: str = "ok", **fields: object) -> str:
    record = {"v": 1, "workload": matmul(), "structure": "s", "choices": CHOICES, "kind": kind, "seconds": seconds}
    return json.dumps({**record, "message": "", "features": [], "timestamp": 1.0, **fields})


DENSE = "tvmgen_default_fused_nn_dense_nn_relu"
FOUND = "#pane-kernels tr:has(.own)"
LOG = "\n".join(
    [line(2e-5), line(None, "wrong", message="another result"), line(1e-5, predicted=2e-5), line(3e-5)[:50]]
)


def test_a_log_opens_and_its_best_candidate_becomes_a_script(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, script=MATMUL)
    page.set_input_files("#attach", files=[{"name": "search.jsonl", "mimeType": "", "buffer": LOG.encode()}])
    search = page.locator("#search")
    expect(search.locator(".kept")).to_contain_text("not measured now")
    expect(search.locator(".point[data-trial]")).to_have_count(2)
    widths = set()
    for width in (1900, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        settled(page)
        widths.add(search.locator("svg").first.get_attribute("width"))
        assert search.evaluate("node => node.scrollWidth <= node.clientWidth")
    assert len(widths) == 2, "the chart has the room that there is now"
    page.locator("#pane-source").hover()
    expect(search).to_have_css("opacity", "1")
    search.hover()
    page.mouse.wheel(0, 5000)
    expect(search.get_by_role("rowheader", name="another result")).to_be_in_viewport()
    search.get_by_label("Candidate", exact=True).focus()
    page.keyboard.press("Enter")
    expect(search.locator("#search-texts pre").first).to_contain_text("sch.vectorize")
    search.locator("summary", has_text="way").press("Enter")
    search.get_by_label("Pin C.way as tiles").press("Enter")
    expect(search.get_by_label("Pin C.way as tiles")).to_have_attribute("aria-pressed", "true")
    search.get_by_role("button", name="Open as script").press("Enter")
    expect(page.locator("#strip .chip", has_text="vectorize").first).to_be_visible(timeout=20_000)
    expect(page.locator("#pane-source .file", has_text="original.py")).to_be_visible()
    expect(page.locator("#pane-search")).to_have_class(re.compile("stale"))
    page.locator(".cm-content").press("Control+z")
    expect(page.locator("#pane-search")).not_to_have_class(re.compile("stale"))


def test_the_tree_of_sketches_filters_the_charts_and_opens_candidates(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    tile = {"C.0.inner": 2, "C.1.inner": 32}  # which sixteen registers hold, too
    wide = [[name, tile.get(name, value)] for name, value in CHOICES]
    packed = [[name, True if name == "C.pack1" else value] for name, value in CHOICES]
    text = "\n".join(
        [line(2e-5), line(1e-5, choices=wide), line(3e-5, choices=packed), line(None, "wrong", message="no")]
    )
    page = open_page(explorer, 390, 844, script=MATMUL)
    page.set_input_files("#attach", files=[{"name": "search.jsonl", "mimeType": "", "buffer": text.encode()}])
    tree = page.locator("#search .sketches")
    nodes = tree.locator("[data-only][aria-expanded]")
    expect(nodes).to_have_text(["C in tiles, operand 1 not packed", "C in tiles, operand 1 packed"])
    expect(tree.get_by_text("1 × no")).to_be_visible()
    nodes.first.press("Enter")
    expect(nodes).to_have_count(4)
    outside = page.locator("#search .point.outside")
    expect(outside).to_have_attribute("data-trial", "2")
    nodes.nth(1).press("Enter")
    expect(nodes.nth(1)).to_contain_text("1.inner 32")
    expect(outside).to_have_count(2)
    nodes.nth(2).press("Enter")
    tree.get_by_role("button", name="Candidate 2").press("Enter")
    expect(page.locator("#search-texts pre").first).to_contain_text("sch.vectorize")
    expect(page.locator("#search-texts")).to_be_in_viewport()
    tree.get_by_role("button", name="All sketches").press("Enter")
    expect(outside).to_have_count(0)
    expect(nodes).to_have_count(2)
    assert violations(page) == []


def test_the_kernels_of_a_model_are_searched_and_it_is_built_with_what_was_found(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer, script=MODEL)
    page.evaluate("for (const option of document.querySelector('#search-seconds').options) option.value = 8")
    page.get_by_role("button", name="Search kernels").press("Enter")
    search = page.locator("#search")
    rows = search.locator("tbody tr", has=page.locator("[data-of-kernel]"))
    expect(rows).to_have_count(3)
    expect(search.locator("tfoot")).to_contain_text("expected")
    expect(page.locator("#search-start")).to_have_text("Search", timeout=240_000)
    expect(search.locator(".verdict")).to_contain_text("measured in turns")
    expect(search.locator("tfoot td").last).not_to_have_text("0")
    tried = next(row for row in rows.all() if row.locator("td").last.inner_text() != "0")
    count = int(tried.locator("td").last.inner_text())
    tried.get_by_role("button").press("Enter")
    expect(tried.get_by_role("button")).to_have_attribute("aria-pressed", "true")
    points = search.locator("svg").first.locator(".point[data-trial]")
    assert 0 < points.count() <= count
    points.first.click()
    expect(search.locator("#search-texts")).to_contain_text("Assembly")
    expect(page.locator("#pane-source .file", has_text="search.jsonl")).to_be_visible()
    kept = rows.locator(".own").count()
    page.click('[data-level="graph"]')
    expect(page.locator("#pane-kernels .own")).to_have_count(kept)
    page.click('[data-level="code"]')
    page.get_by_role("button", name="Forget").press("Enter")
    expect(search.locator("table")).to_have_count(0)
    page.click('[data-level="graph"]')
    expect(page.locator("#pane-kernels .own")).to_have_count(0)


def test_a_search_over_a_model_stops_and_goes_on_from_its_log_with_what_is_wanted_of_a_kernel(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{explorer}/?theme=dark", 1920, 1080)
    write(page, MODEL)
    page.get_by_role("button", name="Search kernels").press("Enter")
    search, button = page.locator("#search"), page.locator("#search-start")
    expect(search.locator("[data-of-kernel]")).to_have_count(3)
    all_tried = search.locator("tfoot td").last
    expect(all_tried).to_have_text(re.compile("[1-9]"))
    button.press("Enter")
    expect(button).to_have_text("Search")
    expect(search.get_by_text("The model was not measured")).to_be_visible()
    tried = int(all_tried.inner_text())
    kernel = search.locator("tr.current [data-of-kernel]").get_attribute("data-of-kernel")
    search.locator("details summary", has_text="way: ").first.press("Enter")
    search.get_by_label("Ban numbers for way").press("Enter")
    with page.expect_request("**/api/searches") as asked:
        button.press("Enter")
    assert asked.value.post_data_json["search"]["kernels"] == {kernel: {"pinned": [], "banned": [["way", "numbers"]]}}
    expect(search.locator("progress")).to_be_visible()
    expect(all_tried).to_have_text(re.compile("[1-9]"))
    assert int(all_tried.inner_text()) >= tried, "those of the log are counted"
    assert violations(page) == []
    button.press("Enter")
    expect(button).to_have_text("Search")


@cache
def choices_of(way: str) -> tuple[str, Choices]:
    """Return what records call the model's first kernel, and the choices of a candidate of it."""
    scope: dict[str, Any] = {}
    install()
    exec(MODEL, scope)
    definition = scope["lib"].kernels[DENSE].usual
    func, target = definition.blocks(), Target("llvm -mcpu=native")
    space = ScheduleSpace(func, Machine.of(target, 1), Wishes({"way": way}), numbers_of(definition))
    return workload_of(func, target, 1), space.sample(random.Random(0))


def candidate(way: str, seconds: float | None, kind: str = "ok") -> str:
    workload, choices = choices_of(way)
    return line(seconds, kind, workload=workload, choices=choices)


@pytest.mark.parametrize(
    ("way", "primitive"), [("numbers", "].split("), pytest.param("rules", "sch.split(", marks=pytest.mark.long)]
)
def test_a_candidate_of_a_kernel_becomes_a_script_that_goes_back_into_the_model(
    way: str, primitive: str, explorer: str, open_page: Callable[..., Page]
) -> None:
    text = candidate(way, 1e-5)
    page = open_page(explorer, script=MODEL)
    page.set_input_files("#attach", files=[{"name": "search.jsonl", "mimeType": "", "buffer": text.encode()}])
    search = page.locator("#search")
    search.get_by_role("button", name="Show the best").press("Enter")
    expect(page.locator("#search-texts pre").first).to_contain_text(primitive)
    search.get_by_role("button", name="Open as script").dblclick()
    expect(page.locator("#fork")).to_be_visible()
    expect(page.locator("#pane-source .file", has_text="original.py")).to_be_visible()
    page.locator("#fork-put").press("Enter")
    expect(page.locator(FOUND)).to_have_attribute("data-kernel", DENSE)
    expect(page.locator("#pane-kernels .refusal")).to_have_count(0)
    expect(page.locator("#race")).to_contain_text("Its outputs are the same")
    settled(page)
    page.click('[data-level="code"]')
    search.get_by_role("button", name="Use in the model").press("Enter")
    expect(page.locator("#pane-kernels [data-drop-kernel]")).to_have_count(0)  # what is picked takes its place
    expect(page.locator(FOUND)).to_contain_text("found")


@pytest.mark.long
def test_candidates_of_a_model_are_its_own_though_the_script_has_none_now(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer, script=MODEL)
    found = {"kernels": [{"name": DENSE, "workload": choices_of("numbers")[0]}], "type": "model"}
    body = f"event: model\ndata: {json.dumps(found)}\n\nevent: tried\ndata: "
    body += json.dumps({"record": candidate("numbers", 1e-5)}) + '\n\nevent: ended\ndata: {"status": "ok"}\n\n'
    page.route("**/searched", lambda route: route.fulfill(status=200, content_type="text/event-stream", body=body))
    page.route("**/api/searches", lambda route: route.fulfill(status=202, json={"id": "1", "events": "/searched"}))
    page.get_by_role("button", name="Search kernels").press("Enter")
    search = page.locator("#search")
    expect(search.locator(".point[data-trial]")).to_have_count(1)
    settled(page)
    write(page, MATMUL)
    expect(page.locator("#search-what")).to_be_hidden()
    search.get_by_role("button", name="Show the best").press("Enter")
    expect(page.locator("#search-texts pre").first).to_contain_text(".split(")


@pytest.mark.long
def test_a_log_that_is_cut_keeps_what_is_decided_and_the_best(explorer: str, open_page: Callable[..., Page]) -> None:
    slow = candidate("rules", 1e-3)
    lines = [slow, candidate("numbers", 1e-6), *[slow] * 599]
    padded = [line.replace('"message": ""', f'"message": "{"x" * (830 - len(line))}"') for line in lines]
    text = "\n".join(padded)
    assert 480 * 1024 < len(text) < 512 * 1024, "more than is kept, and no upload"
    page = open_page(explorer, script=MODEL)
    page.set_input_files("#attach", files=[{"name": "search.jsonl", "mimeType": "", "buffer": text.encode()}])
    page.get_by_role("button", name="Use in the model").press("Enter")
    expect(page.locator(FOUND)).to_contain_text("found")
    page.reload()
    settled(page)
    page.click('[data-level="graph"]')
    page.click(".own-kernels [data-open=search]")
    row = page.locator("#search tr.current")
    expect(row).to_contain_text("nn_dense_nn_relu kept")
    expect(row).to_contain_text("1 µs")
    assert 500 < int(row.locator("td").last.inner_text()) < 601


def code_of(page: Page) -> list[str | None]:
    """Return hashes of the loops, LLVM IR and assembly that the page shows."""
    return [page.locator(f"#body-{pane}").get_attribute("data-key") for pane in ("loops", "llvm", "asm")]


def test_the_model_is_built_with_the_candidate_that_is_picked_until_it_is_taken_out(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    text = "\n".join([candidate("rules", 2e-5), candidate("numbers", 1e-5), candidate("rules", None, "wrong")])
    page = open_page(explorer, script=MODEL)
    page.set_input_files("#attach", files=[{"name": "search.jsonl", "mimeType": "", "buffer": text.encode()}])
    page.click('[data-level="graph"]')
    page.click(f"[data-show-kernel={DENSE}]")
    settled(page)
    search, own = page.locator("#search"), code_of(page)
    number, use = search.get_by_label("Candidate", exact=True), search.get_by_role("button", name="Use in the model")
    number.fill("3")
    use.press("Enter")
    expect(page.locator("#toast")).to_contain_text("it was wrong when it was measured")
    search.locator(".point[data-trial='0']").first.click()
    expect(search.locator("#search-texts pre").first).to_contain_text("sch.")
    use.press("Enter")
    expect(search.locator("h3", has_text="Candidate 1")).to_contain_text("in the model")
    expect(search.locator("tr.current")).to_contain_text("nn_dense_nn_relu kept Take out10 µs")
    expect(page.locator(FOUND)).to_have_attribute("data-kernel", DENSE)
    settled(page)
    picked = code_of(page)
    assert all(now != before for now, before in zip(picked, own, strict=True))
    page.locator("#share-menu summary").click()
    expect(page.locator("#shared-link")).to_have_value(re.compile(r"/z/"))
    other = open_page(page.locator("#shared-link").input_value())
    expect(other.locator(FOUND)).to_have_attribute("data-kernel", DENSE)
    settled(other)
    assert code_of(other) == picked
    other.locator("#run-button").click()
    expect(other.locator("#race")).to_contain_text("Its outputs are the same")
    other.locator(".own-kernels [data-open=search]").press("Enter")
    other.get_by_role("button", name="Take out what is kept of nn_dense_nn_relu").press("Enter")
    expect(other.locator(FOUND)).to_have_count(0)
    settled(other)
    assert code_of(other) == own
    assert violations(other) == []


def test_the_log_of_several_kernels_is_shown_kernel_by_kernel(explorer: str, open_page: Callable[..., Page]) -> None:
    long = "tvmgen_default_fused_nn_dense_exp_nn_relu_sigmoid_tanh_add"
    decided = line(1e-5, workload="aa llvm threads=1", is_decision=True, message=long)
    text = "\n".join([line(2e-5, workload="aa llvm threads=1"), line(3e-5, workload="bb llvm threads=1"), decided])
    page = open_page(explorer, script=MODEL)
    page.set_input_files("#attach", files=[{"name": "search.jsonl", "mimeType": "", "buffer": text.encode()}])
    search = page.locator("#search")
    expect(search.locator("[data-of-kernel]")).to_have_count(2)
    expect(search.locator("tr", has_text="sigmoid")).to_contain_text("kept")
    search.get_by_role("button", name="kernel bb").press("Enter")
    expect(search.locator("h3")).to_have_text("Candidates of kernel bb llvm")
    search.get_by_label("Candidate", exact=True).press("Enter")
    expect(search.locator("#search-texts")).to_contain_text("no such kernel now")
    expect(search.get_by_text("can be pinned or banned: the script has none such now")).to_be_visible()
    expect(search.locator("[data-pin], [data-ban]")).to_have_count(0)
    page.set_viewport_size({"width": 390, "height": 844})
    name = search.locator("tr", has_text="kept").get_by_role("button").first
    expect(name).to_have_text("nn_dense_exp_nn_relu_sigmoid_tanh_add")
    assert name.evaluate("node => node.scrollWidth <= node.clientWidth")
    assert name.evaluate(
        "node => node.getBoundingClientRect().right <= node.closest('th').getBoundingClientRect().right"
    )


def test_why_no_model_is_searched_is_said_where_the_visitor_looks(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer, script=MODEL.replace("llvm -mcpu=native", "webgpu"))
    page.get_by_role("button", name="Search kernels").press("Enter")
    expect(page.locator("#search .problem")).to_contain_text("not for webgpu")


HOSTILE = [
    *("[]", "null", '"x"', "{", '{"kind": "ok"}'),
    *(line(1e-5, choices=strange) for strange in ("abc", 5, [1, 2], [["C.way", None]], [["C.way", 1.5]], {})),
    line(-1.0, is_decision=True, choices=5),
]
"""What is no record."""
TASK = ["llvm", "matmul", [["TENSOR", [64, 64], "float32"]], {}]
AUTOTVM = [
    {"input": TASK, "config": {"entity": [["tile_y", "sp", [-1, 8]]]}, "result": [[3e-5, 5e-5], 0, 1.2, 1.6e9]},
    {"input": TASK, "config": {"entity": [["tile_y", "sp", [-1, 64]]]}, "result": [["TimeoutError()"], 7, 1.2, 1.6e9]},
]
ANSOR = [{"i": [["key", "llvm", []], [[], [["SP", 2, 0, 64, [8, 2], 1]]]], "r": [[4e-5], 0, 0.2, 1.6e9], "v": "v0.6"}]
OWN_ANSOR = [
    {"i": [["key", "llvm", []], [["s[C].fuse(i, j)"], [[], [1, 4, 2]]]], "r": [[4e-5], 0, 0.2, 1.6e9], "v": "v0.6"}
]
SPLIT = ["Split", ["l2", None, 8, 4], [True, False], ["l3", "l4", "l5"]]
OWN_META = [[0, [[[["GetBlock", [], ["C", "main"], ["b0"]], SPLIT], []], [4e-5], {"kind": "llvm"}, None]]]
META = [[0, [[[["GetBlock", [], [], []]], [[3, [4, 16]]]], [4e-5], {"kind": "llvm"}, []]]]


@pytest.mark.sample(3)
@pytest.mark.parametrize(("name", "log", "said"), [
    ("search (1).jsonl", [line(1e-5), *HOSTILE], ["Left out: 11 of 13 lines", "1 candidate, best 10 µs"]),
    ("search.jsonl", HOSTILE[:5], ["no line that is a record"]),
    ("search.jsonl", [], ["is empty"]),
    ("search.jsonl", [line(1e-5 * (1 + n % 9), message="x" * 400) for n in range(1200)], ["candidates, best 10 µs"]),
    ("search.jsonl", [line(1e-5, workload=f"{n} llvm threads=1") for n in range(101)], ["kernel 99", "Candidates of"]),
    ("tuning.log", [json.dumps(row) for row in AUTOTVM], ["AutoTVM’s matmul", "40 µs", "tile_y", "run timeout"]),
    ("ansor.json", [json.dumps(row) for row in ANSOR], ["auto_scheduler’s key", "40 µs", "SP"]),
    ("tuning_record.json", [json.dumps(row) for row in META], ["MetaSchedule’s workload 0", "40 µs", "4 × 16"]),
    ("own.json", [json.dumps(row) for row in OWN_ANSOR], ["auto_scheduler’s key", "tiles 0 1 × 4 × 2"]),
    ("own.json", [json.dumps(row) for row in OWN_META], ["MetaSchedule’s workload 0", "Split l2 8 × 4"]),
], ids=[
    "strange", "broken", "empty", "huge", "kernels", "autotvm", "ansor", "meta", "own ansor", "own meta"
])  # fmt: skip
def test_any_log_that_is_dropped_is_shown_or_said_to_be_none(
    name: str, log: list[str], said: list[str], explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer, script=MATMUL)
    page.set_input_files("#attach", files=[{"name": name, "mimeType": "", "buffer": "\n".join(log).encode()}])
    for words in said:
        expect(page.locator("#search")).to_contain_text(words)
    if name.endswith(("log", "json")):
        expect(page.locator("#search")).to_contain_text("can be pinned or banned: they are of another tuner")
        expect(page.locator("[data-pin], [data-ban], [data-open-candidate]")).to_have_count(0)
    if name == "own.json":
        page.get_by_role("button", name="Show the best").press("Enter")
        expect(page.locator("#search-texts")).to_contain_text("of another tuner’s space")
    page.evaluate("for (const part of document.querySelectorAll('#search details')) part.open = true")
    assert page.locator("#search").evaluate("node => node.scrollWidth <= node.clientWidth")


def test_the_programs_that_were_tuned_are_shown_with_what_was_measured_of_them(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer, script=MATMUL)
    programs = FilePayload(name="database_workload.json", mimeType="", buffer=b'["17", "AAAA"]\n')
    records = FilePayload(name="database_tuning_record.json", mimeType="", buffer=json.dumps(META[0]).encode())
    page.set_input_files("#attach", files=[programs])
    expect(page.locator("#toast")).to_contain_text("drop database_tuning_record.json")
    expect(page.locator("#search")).to_be_hidden()
    page.set_input_files("#attach", files=[programs, records])
    expect(page.locator("#search")).to_contain_text("MetaSchedule’s workload 0")
    expect(page.locator("#pane-source .file")).to_have_count(3)


def test_a_file_that_is_no_log_is_called_by_its_name(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, script=MATMUL)
    page.click('[data-open="search"]')
    for name in ("monday.jsonl", "build.log", "sizes.json"):
        page.set_input_files("#attach", files=[FilePayload(name=name, mimeType="", buffer=b'{"n": 1}\n')])
        expect(page.locator("#pane-source .file", has_text=name)).to_be_visible()
        said = "build.log" if name == "sizes.json" else name  # what a script reads is no matter of searches
        expect(page.locator("#toast")).to_have_text(
            re.compile(f"^{said} .* not the log of a search: none of its lines")
        )
    expect(page.locator("#search")).to_contain_text("What would a machine find?")


def test_what_of_a_long_log_is_not_kept_is_said(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, script=MATMUL)
    log = "\n".join(line(1e-5, message=f"{n}" * 100) for n in range(1000, 2200)).encode()
    page.set_input_files("#attach", files=[{"name": "search.jsonl", "mimeType": "", "buffer": log}])
    expect(page.locator("#toast")).to_have_text(re.compile(r"^\d{3} of 1200 lines of the log are kept"))


def test_a_number_that_no_candidate_has_is_refused(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, script=MATMUL)
    page.set_input_files("#attach", files=[{"name": "search.jsonl", "mimeType": "", "buffer": LOG.encode()}])
    settled(page)
    search = page.locator("#search")
    for name in ("Show", "Open as script"):
        search.get_by_label("Candidate", exact=True).fill("99")
        page.evaluate("document.querySelector('#toast').textContent = ''")
        search.get_by_role("button", name=name, exact=True).press("Enter")
        expect(page.locator("#toast")).to_contain_text("they are numbered from 1 to 3")
    page.get_by_role("button", name="Remove search.jsonl").press("Enter")
    expect(search.get_by_text("search.jsonl was removed")).to_be_visible()
    expect(search.locator(".point")).to_have_count(0)


def test_a_typed_number_of_a_candidate_outlives_drawings_until_one_is_shown(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer, script=MATMUL)
    log = LOG.replace(matmul(), "other").encode()
    page.set_input_files("#attach", files=[{"name": "search.jsonl", "mimeType": "", "buffer": log}])
    settled(page)
    search = page.locator("#search")
    search.locator("summary", has_text="way: ").press("Enter")
    expect(search.get_by_text("can be pinned or banned: the script’s function is another one now")).to_be_visible()
    expect(search.locator("[data-pin], [data-ban]")).to_have_count(0)
    field = search.get_by_label("Candidate", exact=True)
    best = field.input_value()
    other = next(number for number in "123" if number != best)
    field.fill(other)
    page.locator("#search-axis").select_option("seconds")
    settled(page)
    expect(field).to_have_value(other)
    search.get_by_role("button", name="Show", exact=True).press("Enter")
    expect(search.get_by_role("heading", name=f"Candidate {other}")).to_be_visible()
    search.get_by_role("button", name="Show the best").press("Enter")
    expect(search.get_by_role("heading", name=f"Candidate {best}")).to_be_visible()
    expect(field).to_have_value(best)


def test_a_search_that_ends_while_nothing_is_drawn_is_drawn_later_with_all_its_labels(
    explorer: str, open_page: Callable[..., Page], console: Console
) -> None:
    page = open_page(explorer, 390, 844, script=MATMUL)
    times = {"numpy": 8e-3, "prefix": 9e-3, "peak": 1e-7}
    measured: list[dict[str, object]] = [
        {"name": kind, "kind": kind, "seconds": seconds, "disturbed": True, "estimated": True}
        for kind, seconds in times.items()
    ]
    told: list[tuple[str, dict[str, object]]] = [("measured", {"measurement": each}) for each in measured]
    told += [("tried", {"record": record}) for record in (line(1e-5), line(1.1e-5), line(8.88e-3, choices=None))]
    body = "".join(f"event: {kind}\ndata: {json.dumps(event)}\n\n" for kind, event in told)
    body += 'event: ended\ndata: {"status": "ok"}\n\n'
    page.route("**/searched", lambda route: route.fulfill(status=200, content_type="text/event-stream", body=body))
    page.route("**/api/searches", lambda route: route.fulfill(status=202, json={"id": "1", "events": "/searched"}))
    page.evaluate("document.querySelector('[data-open=search]').click()")
    settled(page)
    refuse(page, "**/search", None, 2)
    page.locator("#search-start").press("Enter")
    expect(page.locator("#toast")).to_contain_text("still trying")
    search = page.locator("#search")
    expect(search.locator(".point[data-trial]")).to_have_count(2)
    expect(search.locator(".rule text")).to_have_count(4)
    right = """texts => texts.map(text => text.getBBox()).every(({ x, width }) => x + width <=
        texts[0].ownerSVGElement.viewBox.baseVal.width)"""
    assert search.locator(".rule text").evaluate_all(right)
    assert {said.split(":")[0] for said in console.said} == {"error"}, "the requests that were lost"
    console.said.clear()


def test_a_search_begins_once_outlives_a_reload_and_keeps_to_its_function_and_wishes(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer, script=MATMUL)
    tried = [line(1e-5, workload="first"), line(2e-5, workload="second"), line(3e-5, workload="second")]
    told: list[list[str]] = [tried[:1], tried[:1], tried[1:]]
    begun: list[dict[str, Any]] = []

    def events(route: Route) -> None:
        body = "".join(f"event: tried\ndata: {json.dumps({'record': record})}\n\n" for record in told[len(heard)])
        heard.append(body)
        if len(heard) > 1:
            body += 'event: ended\ndata: {"status": "ok"}\n\n'
        route.fulfill(status=200, content_type="text/event-stream", body="retry: 1000000\n" + body)

    def begin(route: Route) -> None:
        begun.append(route.request.post_data_json["search"])
        route.fulfill(status=202, json={"id": "1", "events": "/searched"})

    heard: list[str] = []
    page.route("**/searched", events)
    page.route("**/api/searches", begin)
    page.click('[data-open="search"]')
    settled(page)
    page.keyboard.press("o")
    assert len(page.context.pages) == 1, "a window of its own would not hear of the search"
    page.evaluate("for (let click = 0; click < 2; click += 1) document.querySelector('#search-start').click()")
    search, button = page.locator("#search"), page.locator("#search-start")
    expect(search.locator(".point[data-trial]")).to_have_count(1)
    reload(page)
    expect(button).to_have_text("Search")
    expect(search.locator(".point[data-trial]")).to_have_count(1)
    assert (len(begun), len(heard)) == (1, 2)
    write(page, MATMUL.replace("64", "40"))
    with page.expect_request("**/api/candidates") as asked:
        search.get_by_role("button", name="Show the best").press("Enter")
    assert json.loads(asked.value.post_data or "")["script"] == MATMUL, "what was searched"
    expect(page.locator("#search-texts pre").first).to_contain_text("sch.vectorize")
    search.locator("summary", has_text="way").press("Enter")
    search.get_by_label("Pin C.way as tiles").press("Enter")
    expect(search.get_by_label("Pin C.way as tiles")).to_have_attribute("aria-pressed", "true")
    button.press("Enter")
    expect(search.locator(".point[data-trial]")).to_have_count(2)
    assert begun[1]["pinned"] == [["C.way", "tiles"]]
    expect(search.get_by_label("Pin C.way as tiles")).to_have_attribute("aria-pressed", "true")
    reload(page)
    expect(search.locator(".kept")).to_contain_text("not measured now")
    expect(search.locator(".point[data-trial]")).to_have_count(2)


def test_whose_a_log_is_is_told_by_a_candidate_that_any_schedule_of_the_function_has(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    former = [["way", "template 0123456789abcdef"], ["i", 8]]  # the fastest, which only the schedule of then derives
    text = "\n".join(line(t, workload="f llvm threads=1", **of) for t, of in ((1e-5, {"choices": former}), (2e-5, {})))
    page = open_page(explorer, script=MATMUL)
    page.set_input_files("#attach", files=[{"name": "search.jsonl", "mimeType": "", "buffer": text.encode()}])
    search = page.locator("#search")
    expect(search.locator(".point[data-trial]")).to_have_count(2)
    expect(search).not_to_contain_text("the script’s function is another one now")
    search.locator("summary", has_text="unroll: ").press("Enter")
    expect(search).to_contain_text("the script’s function is another one now")


def test_what_is_pinned_and_banned_stays_after_a_reload_and_in_links(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer, script=MATMUL)
    page.set_input_files("#attach", files=[{"name": "search.jsonl", "mimeType": "", "buffer": LOG.encode()}])
    search = page.locator("#search")
    search.locator("summary", has_text="way: ").press("Enter")
    search.get_by_label("Pin C.way as tiles").press("Enter")
    search.locator("summary", has_text="unroll: ").press("Enter")
    search.get_by_label("Ban no for C.unroll").press("Enter")
    expect(search.get_by_label("Ban no for C.unroll")).to_have_attribute("aria-pressed", "true")
    reload(page)
    pinned, banned = search.get_by_label("Pin C.way as tiles"), search.get_by_label("Ban no for C.unroll")
    expect(pinned).to_have_attribute("aria-pressed", "true")
    expect(banned).to_have_attribute("aria-pressed", "true")
    page.locator("#share-menu summary").click()
    expect(page.locator("#shared-link")).to_have_value(re.compile(r"/z/"))
    other = open_page(page.locator("#shared-link").input_value())
    expect(other.locator("#search").get_by_label("Pin C.way as tiles")).to_have_attribute("aria-pressed", "true")
    other.locator("#search").get_by_label("Pin C.way as tiles").press("Enter")
    with other.expect_request("**/api/searches") as asked:
        other.locator("#search-start").press("Enter")
    wanted = json.loads(asked.value.post_data or "")["search"]
    assert (wanted["pinned"], wanted["banned"]) == ([], [["C.unroll", False]])
    other.locator("#search-start").press("Enter")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Forget").press("Enter")
    reload(page)
    expect(banned).to_have_attribute("aria-pressed", "true")
    expect(search.get_by_text("No candidate was measured")).to_have_count(0)


def test_a_search_is_announced_shared_and_waited_for_and_the_focus_comes_and_goes(
    explorer: str, open_page: Callable[..., Page], console: Console
) -> None:
    page = open_page(explorer, script=MATMUL)
    told: list[tuple[str, dict[str, object]]] = [("tried", {"record": line(1e-5)}), ("tried", {"record": line(2e-5)})]
    told += [("found", {"choices": CHOICES, "seconds": 1e-5, "default_seconds": 2e-5}), ("ended", {"status": "ok"})]
    texts = [f"id: {n}\nevent: {kind}\ndata: {json.dumps(event)}\n\n" for n, (kind, event) in enumerate(told, 1)]
    asked: list[str] = []
    is_away = True

    def events(route: Route) -> None:
        asked.append(route.request.url)
        last = int(route.request.url.partition("after=")[2] or 0)
        if asked[1:] and is_away:
            route.fulfill(status=502, body="")
        else:
            body = "retry: 100\n" + "".join(texts[last:] if asked[1:] else texts[:1])
            route.fulfill(status=200, content_type="text/event-stream", body=body)

    page.route(re.compile("/searched"), events)
    page.route("**/api/searches", lambda route: route.fulfill(status=202, json={"id": "1", "events": "/searched"}))
    page.evaluate(LISTEN)
    opener = page.locator("#pane-bench [data-open=search]")
    opener.press("Enter")
    search, start = page.locator("#search"), page.locator("#search-start")
    expect(search).to_be_focused()
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()
    page.keyboard.press("Enter")
    page.locator("#pane-search [data-close]").press("Enter")
    expect(opener).to_be_focused()
    expect(search).to_be_hidden()
    page.keyboard.press("Enter")
    with page.expect_request(re.compile("/searched[?]after=1$")):  # it goes on where it was
        start.press("Enter")
        expect(search.locator(".progress-line")).to_contain_text("the server does not answer")
    with page.expect_request("**/api/links") as shared:
        page.locator("#share-menu summary").click()
    assert "search.jsonl" in json.loads(shared.value.post_data or "")["workspace"]["files"]
    expect(page.locator("#toast")).to_contain_text("the link has what it has measured until now")
    page.keyboard.press("Escape")
    expect(page.locator("#saved")).to_contain_text("/z/")
    heard = page.evaluate("window.heard.filter((words) => !/^(The link|A search)/.test(words))")
    begun, away = (
        "The search has begun: 60 seconds once it is its turn",
        "The server does not answer; the page goes on trying",
    )
    assert heard == [begun, away]
    reload(page)
    page.evaluate(LISTEN)
    expect(search.locator(".progress-line")).to_contain_text("the server does not answer")
    is_away = False
    expect(start).to_have_text("Search")
    page.wait_for_function("() => window.heard.at(-1).startsWith('Search ended')")
    ended = ["The server answers again", "Search ended: 0.50 of the default’s time after 2 trials"]
    assert [words for words in page.evaluate("window.heard") if words != away] == ended
    expect(search.locator(".point[data-trial]")).to_have_count(2)
    is_away = True
    page.route("**/api/ladders/1", lambda route: route.abort())
    start.press("Enter")
    expect(search.locator(".progress-line")).to_contain_text("the server does not answer")
    start.press("Enter")
    expect(search.locator(".problem")).to_contain_text("was stopped while the server did not answer")
    page.get_by_role("button", name="Forget").press("Enter")
    expect(search.get_by_text("The search and its log are forgotten")).to_be_visible()
    expect(start).to_be_focused()
    page.route(re.compile("/searched"), lambda route: route.fulfill(status=404, json={"error": {"message": "none"}}))
    start.press("Enter")
    expect(search.locator(".problem")).to_contain_text("no longer knows this search")
    assert {said.split(":")[0] for said in console.said} == {"error"}, "the requests that were lost"
    console.said.clear()


@pytest.mark.long
def test_the_search_of_a_model_is_in_sight_again_after_a_reload(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, script=MODEL)
    heard: list[Route] = []

    def events(route: Route) -> None:
        heard.append(route)
        kernels = [{"name": DENSE, "workload": "w"}, {"name": "other", "workload": "v"}]
        found = {"kernels": kernels, "type": "model"}
        body = f"retry: 1000000\nevent: model\ndata: {json.dumps(found)}\n\nevent: tried\ndata: "
        body += json.dumps({"record": line(1e-5)}) + "\n\n"
        if len(heard) > 1:
            body += 'event: ended\ndata: {"status": "ok"}\n\n'
        route.fulfill(status=200, content_type="text/event-stream", body=body)

    page.route("**/searched", events)
    page.route("**/api/searches", lambda route: route.fulfill(status=202, json={"id": "1", "events": "/searched"}))
    page.get_by_role("button", name="Search kernels").press("Enter")
    search = page.locator("#search")
    expect(search.locator("[data-of-kernel]")).to_have_count(2)
    for _ in range(2):  # while it goes on, and once it has ended
        reload(page)
        expect(search).to_be_visible()
        expect(search.locator(".point[data-trial]")).to_have_count(1)
    assert len(heard) == 2
    page.click('[data-level="graph"]')
    reload(page)
    expect(search).to_be_hidden()


def test_more_wishes_than_a_link_holds_are_not_kept_and_strange_ones_are_none(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer, script=MATMUL)
    kept = """async (pinned) => {
      const at = new URL("search/wishes.js", document.querySelector("#entry").src);
      const { keepWishes, readWishes } = await import(at);
      const { state } = await import(new URL("state.js", document.querySelector("#entry").src));
      state.view.wishes0 = '["", [["C.way", {}]], []]';
      const strange = readWishes().size;
      const wishes = new Map(pinned.map((some, at) => [`${at}`, { pinned: some, banned: [] }]));
      return [strange, keepWishes(wishes), readWishes().size];
    }"""
    for pinned, said in (
        ([[["C.way", "tiles"]] * 50], [0, True, 1]),
        ([[["C.way", "tiles"]] * 51], [0, False, 0]),
        ([[["C.way", "x" * 199]] * 10], [0, False, 0]),
        ([[["C.way", "tiles"]]] * 12, [0, False, 0]),
    ):
        assert page.evaluate(kept, pinned) == said
