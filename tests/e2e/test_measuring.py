"""Run and the ladder: streamed as they go, stopped at a word, waiting their turn."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.e2e.steps import MATMUL, write

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


def test_the_ladder_climbs_step_by_step(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, MATMUL)
    page.click("#ladder-button")
    expect(page.locator("#bench progress")).to_be_visible()
    expect(page.locator("#ladder-button")).to_have_text("Ladder", timeout=60_000)
    kernels = page.locator("#bench tbody tr.prefix th").all_inner_texts()
    assert kernels[0] == "default"
    assert [name.split("(")[0] for name in kernels[1:]] == ["split", "reorder", "vectorize"]
    assert page.locator("#bench tbody tr.prefix", has_text="✓").count() == len(kernels)
    expect(page.locator("#bench .rule.numpy")).to_have_count(1)
    expect(page.locator("#bench .rule.peak")).to_have_count(1)
    assert page.locator("#bench g.bar").count() == len(kernels)
    write(page, MATMUL.replace("factor=16", "factor=8"))
    expect(page.locator("#pane-bench")).to_have_class(re.compile("stale"))


def test_a_ladder_can_be_stopped(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, MATMUL.replace("n = 64", "n = 768"))
    page.click("#ladder-button")
    expect(page.locator("#bench progress")).to_be_visible()
    page.click("#ladder-stop")
    expect(page.locator("#toast")).to_contain_text("stopped")
    expect(page.locator("#ladder-button")).to_have_text("Ladder")
    expect(page.locator("#bench progress")).to_have_count(0)


def test_the_ladder_fits_a_phone(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, width=390, height=800)
    write(page, MATMUL.replace("n = 64", "n = 768"))
    page.click("#ladder-button")
    page.click("#tabs button:has-text('Benchmark')")
    expect(page.locator("#bench g.bar").first).to_be_visible(timeout=30_000)
    page.click("#ladder-stop")
    expect(page.locator("#ladder-button")).to_have_text("Ladder")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_run_executes_the_script_in_full(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, MEASURED)
    page.click("#run-button")
    expect(page.locator("#state")).to_contain_text("ran in", timeout=30_000)
    expect(page.locator("#pane-console")).to_contain_text("took")
    expect(page.locator("#bench tbody tr.kernel")).to_have_count(1)


SLOW = MEASURED.replace("n = 64", "n = 256").replace("number=3", "number=4000")


def test_a_run_shows_its_line_and_can_be_stopped(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, SLOW)
    page.click("#run-button")
    line = 1 + next(n for n, text in enumerate(SLOW.splitlines()) if "timer(a, b, c)" in text)
    expect(page.locator(".running-line")).to_contain_text("timer(a, b, c)")
    expect(page.locator("#state")).to_contain_text(f"running line {line}")
    page.click("#run-button")
    expect(page.locator("#state")).to_contain_text("compiled in", timeout=30_000)
    expect(page.locator(".running-line")).to_have_count(0)
    expect(page.locator("#run-label")).to_have_text("Run")
