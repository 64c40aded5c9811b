"""The schedule on the visitor's GPU: Chromium's WebGPU, with SwiftShader in the place of a GPU."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from app.gallery import load_gallery
from app.recorder.measuring.random_inputs import in_range, random_arrays
from tests.e2e.steps import violations, write

TILED = """\
import tvm
from tvm import te

n, t = 64, 8
A = te.placeholder((n, n), name="A")
B = te.placeholder((n, n), name="B")
k = te.reduce_axis((0, n), name="k")
C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
s = te.create_schedule(C.op)
AS, BS = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])
bi, bj, i, j = s[C].tile(*C.op.axis, t, t)
ko, ki = s[C].split(s[C].op.reduce_axis[0], factor=t)
s[C].reorder(bi, bj, i, j, ko, ki)
ty, tx = te.thread_axis("threadIdx.y"), te.thread_axis("threadIdx.x")
s[C].bind(bi, te.thread_axis("blockIdx.y"))
s[C].bind(bj, te.thread_axis("blockIdx.x"))
s[C].bind(i, ty)
s[C].bind(j, tx)
for shared in (AS, BS):
    s[shared].compute_at(s[C], ko)
    s[shared].bind(shared.op.axis[0], ty)
    s[shared].bind(shared.op.axis[1], tx)
print(tvm.lower(s, [A, B, C]))
"""
SCALE = """\
import tvm
from tvm import te

A = te.placeholder((1000,), name="A")
B = te.compute((1000,), lambda i: A[i] * 2.0, name="B")
s = te.create_schedule(B.op)
block, thread = s[B].split(B.op.axis[0], factor=64)
s[B].bind(block, te.thread_axis("blockIdx.x"))
s[B].bind(thread, te.thread_axis("threadIdx.x"))
print(tvm.lower(s, [A, B]))
"""
Edit = Callable[[dict], None]


def run(page: Page, script: str, button: str = "#webgpu-run") -> None:
    """Run a script's schedule in the pane, and wait for the end."""
    write(page, script)
    if not page.locator("#body-adapter").is_visible():
        page.click("[data-open='adapter']:visible")
    page.click(button)
    expect(page.locator("#webgpu-run")).to_be_enabled()


def edited(page: Page, edit: Edit) -> None:
    """Let the page get another program than the server sent."""

    def answer(route: Route) -> None:
        response = route.fetch()
        body = response.json()
        edit(body["program"])
        route.fulfill(response=response, body=json.dumps(body))

    page.route("**/api/webgpu", answer)


def replaced(before: str, after: str) -> Edit:
    def edit(program: dict) -> None:
        step = program["steps"][-1]
        assert before in step["source"], step["source"]
        step["source"] = step["source"].replace(before, after, 1)

    return edit


def rewritten(page: Page, module: str, changes: dict[str, str]) -> None:
    """Let the page get a module of its worker with other text in it."""

    def answer(route: Route) -> None:
        text = route.fetch().text()
        for before, after in changes.items():
            assert before in text, before
            text = text.replace(before, after)
        route.fulfill(content_type="text/javascript", body=text)

    page.route(f"**/webgpu/{module}.js", answer)


def test_a_matmul_with_shared_memory_is_right_and_timed(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    run(page, TILED)
    row = page.locator("#webgpu-rows tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text(re.compile(r"[\d.]+ (µs|ms)"))
    expect(row).to_contain_text("✓ max abs error")
    expect(row).to_contain_text("all elements compared with NumPy")
    expect(page.locator("#facts-adapter")).to_contain_text(re.compile("SwiftShader", re.IGNORECASE))
    expect(page.locator("#facts-adapter")).to_have_attribute("title", re.compile("threads a block"))
    expect(page.locator("#webgpu-how")).to_contain_text("not by this server")


@pytest.mark.long
def test_the_ladder_climbs_over_the_steps_that_are_legal(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    run(page, SCALE, "#webgpu-ladder")
    rows = page.locator("#webgpu-rows tr")
    expect(rows).to_have_count(4)
    page.set_viewport_size({"width": 1280, "height": 800})
    assert page.evaluate("(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(window['body-adapter'])") == 0
    for at in (0, 1):
        expect(rows.nth(at)).to_contain_text("no loop is bound to blockIdx or threadIdx")
    for at in (2, 3):
        expect(rows.nth(at)).to_contain_text("✓")


@pytest.mark.long
def test_the_ladder_of_the_matrix_product_climbs_to_its_last_rung(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer)
    # Thirty steps: each is right, and its time does not matter here.
    rewritten(page, "run", {"ALL_SECONDS = 1": "ALL_SECONDS = 0.02", "= 2e-3": "= 1e-4"})
    example = load_gallery().find("gpu-matmul-ladder")
    assert example is not None
    run(page, example.script.replace("step = 512", "step = 64"), "#webgpu-ladder")
    rows = page.locator("#webgpu-rows tr")
    expect(rows).to_have_count(37)
    expect(rows.filter(has_text="✓")).to_have_count(29)
    expect(rows.filter(has_text="the same loops as step")).to_have_count(1)
    for rung in (
        "bind(i.inner.outer, threadIdx.y)",
        "bind(j.inner.outer, threadIdx.x)",
        "unroll(j.c)",
        "vectorize(j.inner",
    ):
        expect(rows.filter(has_text=rung)).to_contain_text("✓")
    expect(rows.filter(has_text="cache_read(A, 'shared'")).to_contain_text("touches A from the host")


@pytest.mark.long
def test_a_wrong_kernel_is_caught(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    edited(page, replaced("2.0f", "2.01f"))
    run(page, SCALE)
    expect(page.locator("#webgpu-rows tr.wrong")).to_contain_text("wrong: 1,000 of 1,000 compared elements")


@pytest.mark.long
def test_wgsl_that_does_not_compile_is_caught(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    edited(page, replaced("2.0f", "two"))
    run(page, SCALE)
    expect(page.locator("#webgpu-rows tr")).to_contain_text(re.compile(r"WGSL line \d+: .*two"))


@pytest.mark.long
def test_without_timestamps_batches_are_timed(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    rewritten(page, "device", {'["timestamp-query", ': "["})
    run(page, SCALE)
    expect(page.locator("#webgpu-rows tr")).to_contain_text("✓")
    expect(page.locator("#webgpu-how")).to_contain_text("batches by the page's clock")


@pytest.mark.long
def test_a_limit_that_a_schedule_exceeds_is_named(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)

    def edit(program: dict) -> None:
        program["steps"][-1]["launches"][0]["threads"] = [1 << 20, 1, 1]

    edited(page, edit)
    run(page, SCALE)
    expect(page.locator("#webgpu-rows tr")).to_contain_text("needs 1,048,576 threads a block; this GPU allows")
    expect(page.locator("#webgpu-rows tr")).to_contain_text("maxComputeInvocationsPerWorkgroup")


@pytest.mark.long
def test_double_precision_is_refused_at_the_schedule_s_line(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    run(page, SCALE.replace('name="A")', 'name="A", dtype="float64")'))
    row = page.locator("#webgpu-rows tr")
    expect(row).to_contain_text("WGSL has no double precision")
    assert row.locator("[data-line]").get_attribute("data-line") == "9"


@pytest.mark.long
def test_a_kernel_that_takes_too_long_is_survived(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    rewritten(page, "run", {"MAX_SECONDS = 2": "MAX_SECONDS = 0.2"})
    loop = "for (var again = 0; again < 2000000; again++) { B[0] = B[0] * 0.5f + 1.0f; }\n    B["
    edited(page, replaced("    B[", f"    {loop}"))
    run(page, SCALE)
    expect(page.locator("#webgpu-rows tr")).to_contain_text("cancelled: it takes longer than 0.2 s")
    expect(page.locator("#webgpu-state")).to_contain_text("took too long")
    page.click("#theme-button")  # the page answers, once the emulated GPU can draw again
    assert page.evaluate("document.documentElement.dataset.theme") in ("light", "dark")


@pytest.mark.long
def test_a_long_call_is_made_in_parts(explorer: str, open_page: Callable[..., Page]) -> None:
    """Here each block is a part, as if it took long, and any call is too long to be repeated."""
    page = open_page(explorer)
    rewritten(page, "parts", {"PART_SECONDS = 0.25": "PART_SECONDS = 0"})
    rewritten(page, "run", {"first > MAX_SECONDS": "first > 0"})
    run(page, SCALE)
    expect(page.locator("#webgpu-rows tr")).to_contain_text("✓")
    expect(page.locator("#webgpu-rows tr")).to_contain_text("1 × 1 calls")
    expect(page.locator("#webgpu-how")).to_contain_text("one call in 16 parts by the page's clock")
    expect(page.locator("#webgpu-how")).not_to_contain_text("median")


@pytest.mark.long
def test_a_lost_gpu_is_told_and_asked_for_anew(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    rewritten(page, "run", {"async first(progress) {": "async first(progress) { this.device.destroy();"})
    run(page, SCALE)
    expect(page.locator("#webgpu-state")).to_contain_text("The GPU was lost; the next run requests it again.")
    page.unroute_all()
    page.click("#webgpu-run")
    expect(page.locator("#webgpu-rows tr")).to_contain_text("✓")
    expect(page.locator("#webgpu-state")).to_be_hidden()


def test_no_webgpu_says_how_to_get_it(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    page.evaluate("Object.defineProperty(Navigator.prototype, 'gpu', { get: () => undefined })")
    run(page, SCALE)
    expect(page.locator("#webgpu-state")).to_contain_text("This browser has no WebGPU. Chrome and Edge have it")


@pytest.mark.long
def test_a_link_keeps_what_was_measured_and_says_who_did(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    run(page, SCALE)
    page.click("#share-menu summary")
    expect(page.locator("#shared-link")).to_have_value(re.compile("/z/"))
    again = open_page(page.locator("#shared-link").input_value())
    expect(again.locator("#pane-adapter")).to_be_visible()
    expect(again.locator("#webgpu-how")).to_contain_text("measured in the browser of whoever shared it")
    expect(again.locator("#webgpu-rows tr")).to_contain_text("measured in a browser")
    expect(again.locator("#webgpu-rows tr")).not_to_contain_text("✓")


HOSTILE = [
    {"gpu": "[", "gpu0": "{}"},
    {"gpu": '["n","<img src=x onerror=alert(1)>","c","d"]', "gpu0": '[0,"<b>x</b><script>1</script>",0.001,0,1,1,1]'},
    {"gpu": '["n","a","c","d"]', "gpu0": '[0,"x","fast",0,1,1,1]', "gpu1": '[0,"x",-1,0,1,1,1]'},
    {"gpu": '["n","a","c","d"]', "gpu0": '[0,"x",1e300,0,1,1,1]', "gpu1": '[0,"x",5e-324,0,1,1,1]'},
    {"gpu": 3.5, "gpu0": True},
]  # fmt: skip


@pytest.mark.long
def test_what_a_link_claims_is_read_as_a_stranger_s_text(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    for view in HOSTILE:
        body = {"workspace": {"script": SCALE}, "view": view}
        made = page.request.post(f"{explorer}/api/links", data=body)
        page.goto(f"{explorer}/z/{made.json()['id']}")
        page.wait_for_selector("html[data-ready]")
        page.click("[data-open='adapter']:visible")
        rows = page.locator("#webgpu-rows tr")
        expect(rows).to_have_count(1 if "img" in str(view) else 0)
        if rows.count():
            expect(rows).to_contain_text("<b>x</b>")
        assert page.locator("#body-adapter img, #body-adapter script, #body-adapter b").count() == 0


@pytest.mark.long
def test_the_pane_is_accessible(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, reduced_motion="reduce")
    run(page, SCALE, "#webgpu-ladder")
    page.wait_for_timeout(4200)  # the toast goes
    assert violations(page) == []


@pytest.mark.long
def test_the_page_makes_the_inputs_of_the_server(explorer: str, open_page: Callable[..., Page]) -> None:
    """Bit by bit, for each type that WGSL's buffers hold."""
    page = open_page(explorer)
    module = page.evaluate("document.querySelector('#entry').src.replace('main.js', 'webgpu/inputs.js')")
    for seed in (0, 1, 12345, 0xFFFFFFFF):
        dtypes = ["float32", "int32", "uint32", "float16"]
        arrays = random_arrays([(1000,)] * len(dtypes), dtypes, seed)
        for argument, (dtype, array) in enumerate(zip(dtypes, arrays, strict=True)):
            script = """async ([module, dtype, seed, argument, range]) => {
                const { randomInputs } = await import(module);
                return [...new Uint8Array(randomInputs(dtype, 1000, seed, argument, range).buffer)];
            }"""
            assert bytes(page.evaluate(script, [module, dtype, seed, argument, None])) == array.tobytes(), (dtype, seed)
        weight = in_range(random_arrays([(1000,)], ["float32"], seed)[0], -0.3, 1.7)
        assert bytes(page.evaluate(script, [module, "float32", seed, 0, [-0.3, 1.7]])) == weight.tobytes(), seed
