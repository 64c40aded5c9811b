"""Run and the ladder: streamed as they go, stopped at a word, waiting their turn."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.conftest import Console
from tests.e2e.steps import MATMUL, refuse, write

MEASURED = (
    MATMUL
    + """
import numpy as np
a, b = (tvm.nd.array(np.ones((n, n), "float32")) for _ in range(2))
c = tvm.nd.array(np.zeros((n, n), "float32"))
timer = f.time_evaluator(f.entry_name, tvm.cpu(0), number=3)
print("took", timer(a, b, c).mean, "s")
"""
)


def test_a_kernel_that_is_measured_again_says_what_it_took_before(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer, script=MATMUL)
    for words in ("", "was "):
        page.click("#run-button")
        expect(page.locator("body.measuring")).to_have_count(1)
        expect(page.locator("body.measuring")).to_have_count(0)
        expect(page.locator("#bench tr.kernel")).to_contain_text(words)
    expect(page.locator("#bench tr.peak")).not_to_contain_text("was ")


def test_the_ladder_climbs_step_by_step(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, script=MATMUL)
    page.click("#ladder-button")
    expect(page.locator("#bench progress")).to_be_visible()
    expect(page.locator("#ladder-button")).to_have_text("Ladder")
    kernels = page.locator("#bench tbody tr.prefix .measured").all_inner_texts()
    assert kernels[0] == "default"
    assert [name.split("(")[0] for name in kernels[1:]] == ["reorder", "vectorize"]
    assert page.locator("#bench tbody tr.prefix", has_text="✓").count() == len(kernels)
    expect(page.locator("#bench .rule.numpy")).to_have_count(1)
    expect(page.locator("#bench .rule.peak")).to_have_count(1)
    assert page.locator("#bench g.bar").count() == len(kernels)
    expect(page.locator("#bench g.bar.reported")).to_have_count(0)
    expect(page.locator("#bench .roofline .point")).to_have_count(len(kernels))
    expect(page.locator("#bench .roofline svg")).to_have_attribute("aria-label", re.compile(r"GB/s and .* of the roof"))
    assert set(page.locator("#bench .source").all_inner_texts()) == {"measured by this server"}
    write(page, MATMUL.replace("factor=16", "factor=8"))
    expect(page.locator("#pane-bench")).to_have_class(re.compile("stale"))
    for faded in ("tbody", ".rule-names text", ".roofline svg"):
        expect(page.locator(f"#bench {faded}").first).to_have_css("filter", "saturate(0.3)")
    grounds = page.locator("#bench :is(.rule-names, thead)").evaluate_all(
        "nodes => nodes.map((node) => { const found = []; for (let box = node; box.id !== 'bench'; "
        "box = box.parentElement) found.push(getComputedStyle(box).filter); return found; }).flat()"
    )
    assert set(grounds) == {"none"}, "what is older loses colour, not the ground that it stands on"


def test_a_ladder_waits_for_its_server_and_its_end_is_drawn_though_nothing_is_drawn_then(
    explorer: str, open_page: Callable[..., Page], console: Console
) -> None:
    page = open_page(explorer, script=MATMUL)
    measurement = {"name": "default", "kind": "prefix", "step": 0, "seconds": 1e-3}
    told = [("measured", {"measurement": measurement}), ("ended", {"status": "ok"})]
    body = "".join(f"event: {kind}\ndata: {json.dumps(event)}\n\n" for kind, event in told)
    progress = {"done": 0, "total": 1, "label": "default"}
    answers: list[str | None] = [f"retry: 100\nevent: progress\ndata: {json.dumps(progress)}\n\n", None]

    def climb(route: Route) -> None:
        answer = answers.pop(0) if answers else body
        if answer is None:
            route.fulfill(status=502, body="")
            answers[:] = [None]  # also when it is asked why
        else:
            route.fulfill(status=200, content_type="text/event-stream", body=answer)

    page.route("**/climbed", climb)
    page.route("**/api/ladders", lambda route: route.fulfill(status=202, json={"id": "1", "events": "/climbed"}))
    page.click("#ladder-button")
    expect(page.locator("#bench .progress-line")).to_contain_text("the server does not answer")
    refuse(page, "**/chart", None, 2)
    answers.clear()
    expect(page.locator("#toast")).to_contain_text("still trying")
    expect(page.locator("#bench tbody tr.prefix")).to_have_count(1)
    expect(page.locator("#bench progress")).to_have_count(0)
    assert {said.split(":")[0] for said in console.said} == {"error"}, "the requests that were lost"
    console.said.clear()


@pytest.mark.long
def test_a_ladder_can_be_stopped(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, MATMUL.replace("n = 64", "n = 768"))
    page.click('#pane-bench [data-open="search"]')
    expect(page.locator("#bench")).to_be_hidden()
    page.click("#ladder-button")  # its pane comes before the others of its group
    expect(page.locator("#bench progress")).to_be_visible()
    page.click("#ladder-stop")
    expect(page.locator("#toast")).to_contain_text("stopped")
    expect(page.locator("#ladder-button")).to_have_text("Ladder")
    expect(page.locator("#bench progress")).to_have_count(0)


def test_a_ladder_takes_the_place_of_what_is_measured_behind_a_run(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer, script=MATMUL.replace("n = 64", "n = 768"))
    page.click("#run-button")
    button, progress = page.locator("#ladder-button"), page.locator("#bench progress")
    expect(page.locator("#ladder-stop")).to_be_visible()
    assert button.inner_text() == "Ladder"
    with page.expect_response("**/api/ladders"):
        button.evaluate("button => { button.click(); button.click(); }")
    expect(button).to_have_text("Stop")
    expect(progress).to_be_visible()
    expect(page.locator("#toast")).to_have_text("")
    button.click()
    expect(page.locator("#toast")).to_contain_text("stopped")
    expect(progress).to_have_count(0)


@pytest.mark.long
def test_the_ladder_fits_a_phone(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, width=390, height=800)
    write(page, MATMUL.replace("n = 64", "n = 768"))
    page.click("#ladder-button")
    expect(page.locator("#bench g.bar").first).to_be_visible()
    page.click("#ladder-stop")
    expect(page.locator("#ladder-button")).to_have_text("Ladder")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_run_executes_the_script_in_full(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, script=MEASURED)
    page.click("#run-button")
    expect(page.locator("#state")).to_contain_text("ran in")
    expect(page.locator("#pane-console")).to_contain_text("took")
    expect(page.locator("#bench tbody tr.kernel")).to_have_count(1)


@pytest.mark.long
def test_a_run_s_word_and_the_server_s_are_told_apart(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, MEASURED)
    page.click("#run-button")
    source = page.locator("#bench tbody tr.kernel .source")
    expect(source).to_have_text("as the script reports")
    expect(source).to_have_attribute("title", re.compile("A script can report whatever it likes"))
    expect(page.locator("#bench-facts")).to_contain_text("as the script reports")
    expect(page.locator("#bench g.bar.reported")).to_have_count(1)
    page.click("#measure-kernels")
    expect(source).to_have_text("measured by this server")
    expect(page.locator("#ladder-stop")).to_be_hidden()
    expect(page.locator("#bench .hint")).to_contain_text("in a process that the script never entered")
    expect(page.locator("#bench tbody tr.kernel")).to_contain_text("✓")
    expect(page.locator("#bench g.bar.reported")).to_have_count(0)
    expect(page.locator("#bench-facts")).to_contain_text("measured by this server")


@pytest.mark.long
def test_what_cannot_be_measured_by_the_server_says_why(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(
        explorer, script=MATMUL.replace("A[i, k] *", 'tvm.tir.call_pure_extern("float32", "fabsf", A[i, k]) *')
    )
    page.click("#ladder-button")
    expect(page.locator("#ladder-button")).to_have_text("Stop")  # it begins when the server has answered
    expect(page.locator("#ladder-button")).to_have_text("Ladder")
    expect(page.locator("#bench .hint", has_text="Not measured by this server")).to_contain_text("call_pure_extern")
    expect(page.locator("#bench tbody tr.prefix")).to_have_count(3)
    assert set(page.locator("#bench .source").all_inner_texts()) == {"as the script reports"}


SLOW = MEASURED.replace("n = 64", "n = 256").replace("number=3", "number=4000")


def test_a_run_shows_its_line_and_can_be_stopped(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, script=SLOW)
    page.click("#run-button")
    line = 1 + next(n for n, text in enumerate(SLOW.splitlines()) if "timer(a, b, c)" in text)
    expect(page.locator(".running-line")).to_contain_text("timer(a, b, c)")
    expect(page.locator("#state")).to_contain_text(f"running line {line}")
    page.click("#run-button")
    expect(page.locator("#state")).to_contain_text("✓ compiled")
    expect(page.locator(".running-line")).to_have_count(0)
    expect(page.locator("#run-label")).to_have_text("Run")


@pytest.mark.long
def test_a_run_does_not_begin_under_the_problem_of_the_time_before(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer, script="import time\ntime.sleep(1)\nraise ValueError('mine')\n")
    expect(page.locator(".console .problem")).to_contain_text("mine")
    page.click("#run-button")
    assert page.locator(".console .problem").count() == 0
    expect(page.locator(".console .problem")).to_contain_text("mine")


def climb(page: Page) -> None:
    """Measure the ladder of what the editor holds."""
    page.click("#ladder-button")
    expect(page.locator("#ladder-button")).to_have_text("Stop")
    expect(page.locator("#ladder-button")).to_have_text("Ladder")


@pytest.mark.long
def test_a_link_keeps_the_ladder_with_its_machine_and_date(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, MATMUL)
    climb(page)
    times = page.locator("#bench tbody td:nth-child(2)").all_inner_texts()
    page.click("#share-button")
    expect(page.locator("#shared-link")).to_have_value(re.compile("/z/"))
    opened = open_page(page.locator("#shared-link").input_value())
    expect(opened.locator("#bench .kept")).to_contain_text(re.compile(r"measured \d{4}-\d\d-\d\d \d\d:\d\d UTC on \w"))
    assert opened.locator("#bench tbody td:nth-child(2)").all_inner_texts() == times
    assert set(opened.locator("#bench .source").all_inner_texts()) == {"from the link"}
    expect(opened.locator("#bench g.bar.reported")).to_have_count(len(times) - 3)


@pytest.mark.long
def test_a_ladder_is_drawn_over_the_one_that_was_kept(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, MATMUL)
    climb(page)
    page.click("#ladder-keep")
    write(page, MATMUL.replace("factor=16", "factor=8"))
    climb(page)
    expect(page.locator("#bench .ghost.reference")).to_have_count(3)
    expect(page.locator("#bench")).to_contain_text("the kept ladder")
    page.click("#ladder-keep")
    expect(page.locator("#bench .ghost.reference")).to_have_count(0)


@pytest.mark.long
def test_steps_are_predicted_before_they_are_measured(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, MATMUL)
    page.click("#ladder-predict")
    sliders = page.locator("#predict input")
    expect(sliders).to_have_count(2)  # none for the split alone
    sliders.nth(1).press("End")
    assert page.locator("#predict output").last.inner_text() == "4,100×"
    page.click("#predict button[type='submit']")
    expect(page.locator("#ladder-button")).to_have_text("Ladder")
    expect(page.locator("#bench .ghost.predicted")).to_have_count(2)
    expect(page.locator("#bench .predictions")).to_contain_text(re.compile(r"[0-1] of 2 within a factor of two"))
    page.click("#ladder-predict")
    write(page, MATMUL.replace("factor=16", "factor=8"))
    expect(page.locator("#predict")).to_have_count(0)  # its bars were those of other steps


@pytest.mark.long
def test_parallel_steps_have_a_second_bar_for_one_thread(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(
        explorer, script=MATMUL.replace("n = 64", "n = 128").replace("f = tvm", "s[C].parallel(i)\nf = tvm")
    )
    page.click("#options-summary")
    page.locator("#options-form [name='threads']").fill("2")
    page.keyboard.press("Enter")
    page.wait_for_timeout(500)
    climb(page)
    expect(page.locator("#bench .ghost.single")).to_have_count(1)
    assert page.locator("#bench tbody tr.prefix", has_text="1 thread").count() == 1


def link_with(explorer: str, measurements: list[dict[str, object]]) -> str:
    """Return the address of a link that keeps a ladder; what is not a step has a kind."""
    defaults = {"kind": "prefix", "spread": 0.0, "repeats": 1, "number": 1, "threads": 1, "checked": "unchecked"}
    defaults |= {"cpu": "Test", "target": "llvm", "note": "", "host": "", "estimated": False}
    fields = ["name", "kind", "seconds", "spread", "repeats", "number", "threads", "flops", "gflops", "traffic"]
    fields += ["checked", "error", "cpu", "target", "note", "step", "host", "estimated"]
    view = {"rungs": "2026-01-01T00:00:00Z"}
    for at, measurement in enumerate(measurements):
        told = {"step": None if "kind" in measurement else at, **defaults, **measurement}
        view[f"rung{at}"] = json.dumps([told.get(name) for name in fields])
    asked = json.dumps({"workspace": {"script": MATMUL}, "view": view}).encode()
    with urlopen(Request(f"{explorer}/api/links", asked, {"Content-Type": "application/json"})) as answer:
        return f"{explorer}/z/{json.load(answer)['id']}"


COVERED = """() => [...document.querySelectorAll("#bench .chart")].flatMap((chart) => {
  const texts = [...chart.querySelectorAll("text:not([transform])")];
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2;
  return texts.flatMap((text, at) => [...texts.slice(at + 1), ...chart.querySelectorAll("circle")]
    .filter((other) => text.textContent && meet(text.getBoundingClientRect(), other.getBoundingClientRect()))
    .map((other) => `${text.textContent} and ${other.textContent || other.parentElement.textContent}`));
})"""
"""Words of charts that cannot be read, as other words or points stand there."""


@pytest.mark.long
def test_nothing_in_a_chart_stands_on_words(explorer: str, open_page: Callable[..., Page]) -> None:
    """Steps that exceed what was measured as the peak are the highest, and two are at nearly one place."""
    rates = [0.2, 0.3, 130.0, 128.0, 131.0]
    steps = [
        {"name": f"step{at}", "seconds": 1 / rate, "gflops": rate, "flops": 1e9, "traffic": 1e8 / (1 + 0.2 * at)}
        for at, rate in enumerate(rates)
    ]
    peak = {"name": "peak", "kind": "peak", "seconds": 0.01, "gflops": 98.0, "flops": 1e9}
    memory = {"name": "memory", "kind": "bandwidth", "seconds": 0.1, "traffic": 1e9}
    link = link_with(explorer, [*steps, peak, memory])
    for width in (390, 1280):
        page = open_page(link, width=width, height=800)
        if width == 390:
            page.click("#tabs button:has-text('Benchmark')")
        expect(page.locator("#bench .roofline .point")).to_have_count(len(rates))
        expect(page.locator("#bench .unit").first).to_have_text("GFLOP/s, logarithmic")
        assert page.evaluate(COVERED) == []
    page.goto(link_with(explorer, [*({**step, "name": f"s{n}"} for n in range(5) for step in steps[:4]), peak]))
    expect(page.locator("#bench g.bar")).to_have_count(20)
    assert page.evaluate(
        "() => { const bench = document.getElementById('bench');"
        " return bench.scrollWidth > bench.clientWidth && bench.scrollLeft === 0; }"
    )
    assert page.evaluate(COVERED) == []
    expect(page.get_by_text("noisy peak 98", exact=True)).to_be_in_viewport(ratio=1)


@pytest.mark.long
def test_an_estimate_stays_one_in_a_link(explorer: str, open_page: Callable[..., Page]) -> None:
    """What a ladder could only estimate is written as such, wherever the ladder is opened."""
    slow = {
        "name": "default",
        "seconds": 40.0,
        "gflops": 0.5,
        "estimated": True,
        "note": "estimated, not measured: a part",
    }
    page = open_page(link_with(explorer, [slow, {"name": "split(i)", "seconds": 2.0, "gflops": 10.0, "spread": 0.0}]))
    expect(page.locator("#bench tbody tr.prefix")).to_have_count(2)
    expect(page.locator("#bench g.bar.estimated")).to_have_count(1)
    expect(page.locator("#bench tr.estimated")).to_contain_text("≈ 40 s")
    expect(page.locator("#bench tr.estimated")).to_contain_text("estimated, not measured")
    expect(page.locator("#bench tr.estimated .how")).not_to_contain_text("single run")
    expect(page.locator("#bench .hint", has_text="not measured")).to_be_visible()
    expect(page.locator("#bench .roofline .point")).to_have_count(0)


@pytest.mark.long
def test_what_would_take_too_long_is_estimated_and_marked(explorer: str, open_page: Callable[..., Page]) -> None:
    """The columns of B lie 8 KiB apart: each of the 10⁹ iterations waits for a cache that is far away."""
    page = open_page(explorer)
    definition, built = MATMUL.split("i, j = C.op.axis")[0], MATMUL.splitlines()[-1]
    wide = definition.replace("n = 64", "m, n = 512, 2048").replace('((n, n), name="A")', '((m, n), name="A")')
    write(page, wide.replace("te.compute((n, n)", "te.compute((m, n)") + built)
    climb(page)
    expect(page.locator("#bench g.bar.estimated")).to_have_count(1)
    rung = page.locator("#bench tr.estimated")
    expect(rung).to_contain_text(re.compile("≈ [0-9.]+ s"))
    expect(rung).to_contain_text(re.compile("estimated, not measured: the time of [0-9,]+ of 512 iterations of i"))
    expect(page.locator("#bench .roofline .point")).to_have_count(0)
