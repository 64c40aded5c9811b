"""Numbers of the script as sliders: their stops, what follows them, and the curve of what was measured."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.steps import MATMUL, settled, violations, write

STOPS = {
    ("16", 64): "1 2 4 8 15 16 17 32 64",
    ("4", 100): "1 2 3 4 5 8 10 16 20 25 32 50 64 100",
    ("1", 7): "1 2 4 7",
    ("4", 10**18): " ".join(str(stop) for stop in sorted({3, 5, *(2**power for power in range(22))})),
    ("3", None): "1 2 3 4 6 8 12 16 24 32",
    ("0", None): "0 1 2 4",
    ("1_024", None): "64 128 256 512 1023 1_024 1025 2048 4096 8192 16384",
    ("0x10", None): "1 2 4 8 15 0x10 17 32 64 128 256",
    ("2.0", None): "0.25 0.5 1.0 2.0 4.0 8.0 16.0",
    ("1e-5", None): "0.00000125 0.0000025 0.000005 1e-5 0.00002 0.00004 0.00008",
    ("1j", None): "",
}
"""By number and extent of the loop that it splits."""
STOPS_OF = """async (numbers) => {
  const { stopsOf } = await import(new URL("slider/stops.js", document.querySelector("#entry").src));
  return numbers.map(([text, extent]) => stopsOf(text, extent ? [extent] : []).join(" "));
}"""
FACTOR = "jo, ji = s[C].split(j, factor=16)"


def answer(page: Page, address: str, events: list[tuple[str, object]]) -> list[dict[str, object]]:
    """Let measurements that are asked for at an address come out so; returns what is asked."""
    asked: list[dict[str, object]] = []
    told = [*events, ("ended", {"status": "ok", "message": ""})]
    body = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in told)

    def start(route: Route) -> None:
        asked.append(route.request.post_data_json)
        route.fulfill(status=202, json={"id": "1", "events": f"/told{address}"})

    page.route(f"**{address}", start)
    page.route(f"**/told{address}", lambda route: route.fulfill(content_type="text/event-stream", body=body))
    return asked


def measured(**fields: object) -> tuple[str, object]:
    return "measured", {"measurement": fields}


def refused(label: str, message: str) -> tuple[str, object]:
    return "failed", {"label": label, "problem": {"message": message}}


LADDER = [
    measured(name=name, kind="prefix", step=step, seconds=seconds, flops=1e6, gflops=1e-3 / seconds)
    for step, (name, seconds) in enumerate(
        [("default", 0.02), ("split", 0.02), ("reorder", 0.01), ("vectorize", 0.002)]
    )
]
SCRUB = [measured(name=name, kind="kernel", seconds=seconds, flops=1e6, disturbed=seconds > 1) for name, seconds in
         {"8": 0.003, "16": 0.002, "32": 0.001, "64": 2.0}.items()]  # fmt: skip


def test_measurements_of_an_example_are_stale_once_a_number_slid(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    settled(page)
    expect(page.locator("#bench table")).to_be_attached()
    page.locator(".cm-line", has_text="ROWS = ").locator(".n").click()
    page.keyboard.press("F4")
    expect(page.locator(".slider input")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#pane-bench")).to_contain_class("stale")


@pytest.mark.long
def test_a_number_slides_and_its_values_are_measured(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, 1280, 800)
    found = page.evaluate(STOPS_OF, list(STOPS))
    assert dict(zip(STOPS, found, strict=True)) == STOPS
    write(page, MATMUL)
    line = page.locator(".cm-line", has_text="factor=")
    line.locator(".n").click()
    page.keyboard.press("F4")
    slider = page.locator(".slider input")
    last = page.locator("#bench tr.prefix").last
    expect(slider).to_be_focused()
    words = page.locator(".slider > .slider-words")
    expect(words).to_contain_text("Hot loop: ")
    assert slider.get_attribute("max") == "8", "divisors of 64, the neighbours and the number itself"
    for key in ("ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    settled(page)
    expect(line).to_have_text(FACTOR.replace("16", "32"))
    expect(page.locator("#pane-schedule")).to_contain_text("j.inner 32")
    expect(words).to_contain_text("was ")
    assert violations(page) == []
    page.keyboard.press("Enter")
    expect(page.locator(".slider")).to_have_count(0)
    page.keyboard.press("Control+z")
    expect(line).to_have_text(FACTOR)
    page.keyboard.press("F4")
    expect(slider).to_be_focused()
    page.keyboard.press("Home")
    expect(line).to_have_text(FACTOR.replace("16", "1"))
    page.keyboard.press("Escape")
    expect(line).to_have_text(FACTOR)
    settled(page)
    answer(page, "/api/ladders", LADDER)
    page.click("#ladder-button")
    expect(last).to_contain_text("2 ms")
    line.locator(".n").click()
    page.keyboard.press("F4")
    asked = answer(page, "/api/scrubs", [*SCRUB, refused("15", "no factor of 64")])
    page.get_by_role("button", name="Measure all").click()
    verdict = page.locator(".curve [role=status]")
    expect(verdict).to_contain_text("Best: 32 with 1 ms, 2 × as fast as 16. Other programs")
    expect(page.locator(".curve")).to_contain_text("Logarithmic, from 2 s at the bottom to 1 ms")
    [body] = asked
    assert (body["line"], body["column"]) == (1 + MATMUL.splitlines().index(FACTOR), FACTOR.index("16"))
    assert body["values"] == STOPS["16", 64].split()
    assert violations(page) == []
    expect(page.locator(".point.refused")).to_have_attribute("title", "15: no factor of 64")
    page.get_by_role("button", name="32: 1 ms, the best").click()
    settled(page)
    expect(line).to_have_text(FACTOR.replace("16", "32"))
    expect(last).to_contain_text("measured with 32 in the place of 16")
    page.get_by_role("button", name="1: not measured yet", exact=True).click()
    settled(page)
    expect(last).to_contain_text("≈")
    expect(last).to_contain_text("by the model of the hot loop")
    page.get_by_role("button", name="32: 1 ms, the best").click()
    page.locator(".slider").get_by_role("button", name="Close").click()
    expect(last).not_to_contain_text("in the place of 16")
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    expect(line).to_have_text(FACTOR)
