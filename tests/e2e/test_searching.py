"""A search in the page: a log that is dropped on it opens, by keyboard too, and what is pinned goes with the next."""

from __future__ import annotations

import json
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.e2e.steps import MATMUL

CHOICES = [
    ["C.way", "tiles"], ["C.vector", 1], ["C.1.inner", 16], ["C.0.inner", 4], ["C.0.outer", [4, 2]],
    ["C.1.outer", [2, 1]], ["C.r0.inner", 8], ["C.pack1", False], ["C.written_at", 0], ["C.unroll", False],
]  # fmt: skip


def line(seconds: float | None, kind: str = "ok", **fields: object) -> str:
    record = {"v": 1, "workload": "w", "structure": "s", "choices": CHOICES, "kind": kind, "seconds": seconds}
    return json.dumps({**record, "message": "", "features": [], "timestamp": 1.0, **fields})


LOG = "\n".join(
    [line(2e-5), line(None, "wrong", message="another result"), line(1e-5, predicted=2e-5), line(3e-5)[:50]]
)


def test_a_log_opens_and_its_best_candidate_becomes_a_script(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, script=MATMUL)
    page.set_input_files("#attach", files=[{"name": "search.jsonl", "mimeType": "", "buffer": LOG.encode()}])
    page.click('[data-open="search"]')
    search = page.locator("#search")
    expect(search.locator(".kept")).to_contain_text("not measured now")
    expect(search.locator(".point[data-trial]")).to_have_count(2)
    expect(search.get_by_text("another result")).to_be_visible()
    search.get_by_label("Candidate", exact=True).focus()
    page.keyboard.press("Enter")
    expect(search.locator("#search-texts pre").first).to_contain_text("sch.vectorize")
    search.locator("summary", has_text="way").press("Enter")
    search.get_by_label("Pin C.way as tiles").press("Enter")
    expect(search.get_by_label("Pin C.way as tiles")).to_have_attribute("aria-pressed", "true")
    search.get_by_role("button", name="Open as script").press("Enter")
    expect(page.locator("#strip .chip", has_text="vectorize").first).to_be_visible(timeout=20_000)
    expect(page.locator("#pane-source .file", has_text="original.py")).to_be_visible()
