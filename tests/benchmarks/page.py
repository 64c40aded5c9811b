"""How quickly the page answers a person, in a real Chromium.

    python -m tests.benchmarks.page [--runs N] [--only first|edit|hover|model]

Starts the explorer on a port of its own with its real sandbox, opens it as a visitor does, and prints medians beside
their goals: from opening an address to the first paint and until the page is ready; from a key to painted panes, and
what that time goes to (the page waits for more typing: 150 ms, or 250 where answers are slow); from the pointer to lit
lines in a listing; of ResNet-18, from the dropped file to its first drawing, from a key to the pass before, and from
*Run* to the time of every kernel.  Says how busy other programs kept the machine.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, TimeoutError, sync_playwright

from app import create_app
from tests import models
from tests.benchmarks.compile_latency import quartiles
from tests.benchmarks.serving.load import LoadMeter
from tests.browser import ensure
from tests.e2e.conftest import serving

LONG = """\
import tvm
from tvm import te

n = 11520
A = te.placeholder((n,), name="A")
I = te.placeholder((n,), "int32", name="I")
B = te.compute((n,), lambda i: A[I[i]], name="B")
s = te.create_schedule(B.op)
outer, inner = s[B].split(B.op.axis[0], factor=720)
s[B].unroll(inner)
f = tvm.build(s, [A, I, B], target="llvm")
"""
"""Makes a listing of more than 5,000 lines."""
ROW = 19.5
"""Pixels of a line."""

FIRST_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
WATCH_POINTER = """() => {
  window.lit = [];
  document.querySelector("#body-asm").addEventListener("pointerover", ({ target, timeStamp }) => {
    if (!target.closest(".l")) return;
    requestAnimationFrame(() => requestAnimationFrame(() => window.lit.push(performance.now() - timeStamp)));
  });
}"""
"""Notes how long after the pointer moved the frame with what it lights is there: when the next one begins."""
UNREAD = """() => {
  const waiting = document.querySelectorAll(".pane.listing:not(.closed) .chunk.waiting");
  waiting[0]?.scrollIntoView();
  return waiting.length;
}"""
"""Brings lines that were not fetched yet into view, and counts such chunks."""


class Unmeasured(Exception):
    """Something could not be measured."""


def first(page: Page, address: str, runs: int) -> Iterator[tuple[str, list[float]]]:
    """Yield the times to the first paint and to a page that answers, with the page's own files in the cache."""
    painted, ready = [], []
    for _ in range(runs + 1):
        page.goto(address)
        ready.append(
            page.wait_for_function("() => document.documentElement.dataset.ready && performance.now()").json_value()
        )
        painted.append(page.wait_for_function(FIRST_PAINT).json_value())
    yield "first paint", painted[1:]
    yield "ready", ready[1:]


WATCH_KEYS = """() => {
  window.typed = [];
  let key = 0;
  performance.setResourceTimingBufferSize(10_000);
  addEventListener("keydown", () => { key = performance.now(); }, true);
  new MutationObserver(() => {
    if (!key || document.body.classList.contains("pending")) return;
    const began = key;
    key = 0;
    requestAnimationFrame(() => { window.typed.push([began, performance.now()]); });
  }).observe(document.body, { attributeFilter: ["class"] });
}"""
"""Notes when a key is pressed, and when what it changed is painted."""
PARTS = """() => window.typed.map(([key, painted]) => {
  const requests = performance.getEntriesByName(`${location.origin}/panes`);
  const asked = requests.findLast(({ startTime }) => startTime < painted);
  const [answer, draw] = asked.serverTiming.map(({ duration }) => duration);
  return {
    "key to painted panes": painted - key,
    "  waiting for more typing": asked.startTime - key,
    "  the script's answer": answer,
    "  drawing it": draw,
    "  sending text and panes": asked.responseEnd - asked.startTime - answer - draw,
    "  swap, links, layout": painted - asked.responseEnd,
  };
})"""
"""What the time of each key went to, by the browser's clock and the server's."""


def edit(page: Page, address: str, runs: int) -> Iterator[tuple[str, list[float]]]:
    """Yield the time from a key to painted panes, and its parts; each text is new, so that no cache can answer."""
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    page.click(".cm-content")
    page.keyboard.press("Control+End")
    page.keyboard.type("#")
    page.wait_for_selector("body.pending")
    page.wait_for_selector("body:not(.pending)", timeout=60_000)
    page.evaluate(WATCH_KEYS)
    for run in range(runs + 1):
        page.keyboard.press(str(run % 10))
        page.wait_for_function(f"window.typed.length > {run}", timeout=60_000)
        page.wait_for_timeout(100)
    parts = page.evaluate(PARTS)[1:]
    yield from ((name, [run[name] for run in parts]) for name in parts[0])


def hover(page: Page, address: str, runs: int) -> Iterator[tuple[str, list[float]]]:
    """Yield the time from the pointer at an instruction to the paint of what it lights."""
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    page.evaluate(
        "text => import(document.getElementById('entry').src.replace('main.js', 'editor.js'))"
        ".then(({ editor }) => { editor.text = text; })",
        LONG,
    )
    page.wait_for_selector("body.pending")
    page.wait_for_selector("body:not(.pending)", timeout=60_000)
    if page.locator("#state.failed").count():
        raise Unmeasured(f"the long script was not compiled: {page.locator('#state').text_content()}")
    lines = page.evaluate("JSON.parse(document.querySelector('#links-asm').textContent).lines.length")
    while page.evaluate(UNREAD):  # as whoever has read all of it
        page.wait_for_timeout(100)
    page.evaluate("document.querySelectorAll('.code').forEach((body) => { body.scrollTop = 0; })")
    page.evaluate(WATCH_POINTER)
    box = page.locator("#body-asm").bounding_box()
    assert box is not None
    rows = int(box["height"] / ROW) - 2
    for run in range(runs):
        page.wait_for_timeout(100 + 1000 / 60 * run / runs)  # at any moment between two frames
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + ROW * (1 + 5 * run % rows))
        page.wait_for_function(f"window.lit.length > {run}")
    yield f"pointer to paint, {lines:,} lines", page.evaluate("window.lit")


NEXT_STEP = """(key) => new Promise((resolve) => {
  const began = performance.now();
  document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const asked = document.getElementById("step-graph").selectedOptions[0].dataset;
  const look = () => {
    const text = document.getElementById("body-graph").dataset.listing;
    const drawing = document.getElementById("graph")?.dataset.key;
    const there = text === asked.listing && drawing === asked.drawing;
    requestAnimationFrame(there ? () => resolve(performance.now() - began) : look);
  };
  look();
})"""
"""Presses a key and waits for the paint of the step that it asks for: its text and its drawing."""
KERNELS_TIMED = """() => document.querySelectorAll("#pane-kernels .share span").length > 0"""
MODEL_RUNS, SCRUBBED = 3, 8
"""How often the model is opened, and through how many passes one goes in each."""


def model(page: Page, address: str, runs: int) -> Iterator[tuple[str, list[float]]]:
    """Yield the times from a dropped ResNet-18 to its drawing, of a step through its passes, and of a run."""
    drawn, scrubbed, ran = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "resnet18.onnx")
        file.write_bytes(models.build("resnet18").SerializeToString())
        for _ in range(min(runs, MODEL_RUNS)):
            page.goto(address)
            page.wait_for_selector("html[data-ready]")
            began = time.perf_counter()
            page.set_input_files("#attach", file)
            page.wait_for_selector("#graph .node", state="attached", timeout=120_000)
            drawn.append((time.perf_counter() - began) * 1e3)
            page.wait_for_selector("body:not(.pending)")
            scrubbed += [page.evaluate(NEXT_STEP, "[") for _ in range(SCRUBBED)]
            began = time.perf_counter()
            page.click("#run-button")
            page.wait_for_function(KERNELS_TIMED, timeout=120_000)
            ran.append((time.perf_counter() - began) * 1e3)
    yield "ResNet-18 dropped to drawing", drawn
    yield "a pass back, text and drawing", scrubbed
    yield "Run to every kernel's time", ran


GOALS = {
    "first paint": 800,
    "ready": 1200,
    "key to painted panes": 350,
    "pointer to paint": 30,
    "ResNet-18 dropped to drawing": 2500,
    "a pass back, text and drawing": 60,
    "Run to every kernel's time": 8000,
}
"""Milliseconds, by the beginning of what is measured."""

MEASURED: dict[str, Callable[[Page, str, int], Iterator[tuple[str, list[float]]]]] = {
    "first": first,
    "edit": edit,
    "hover": hover,
    "model": model,
}


def show(measured: str, page: Page, address: str, runs: int) -> bool:
    """Print the rows of one measurement; returns whether all of them could be measured."""
    try:
        for name, taken in MEASURED[measured](page, address, runs):
            goal = next((str(limit) for what, limit in GOALS.items() if name.startswith(what)), "")
            print(f"{name:36}{quartiles(taken)} {goal:>9}", flush=True)
    except (Unmeasured, TimeoutError) as problem:
        print(f"{measured}: not measured, as {str(problem).splitlines()[0]}", flush=True)
        return False
    return True


@contextmanager
def visitor(address: str) -> Iterator[tuple[Page, str]]:
    """A page of a browser of its own, and the address that it is for."""
    path = ensure()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = chromium.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True).new_page()
        yield page, address
        chromium.close()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--only", choices=MEASURED)
    asked = parser.parse_args()
    print(f"{'ms':36}{'median':>9} {'25 %':>9} {'75 %':>9} {'min':>9} {'max':>9} {'goal':>9}")
    with tempfile.TemporaryDirectory() as folder:
        app = create_app({"DATA_DIR": Path(folder), "RATE_LIMIT": 0})
        with serving(app) as address, visitor(address) as (page, where):
            meter = LoadMeter()
            names = [asked.only] if asked.only else list(MEASURED)
            missing = [name for name in names if not show(name, page, where, asked.runs)]
            print(meter.read())
        app.extensions["strata"].runner.close()
    if missing:
        raise SystemExit(f"not measured: {', '.join(missing)}")


if __name__ == "__main__":
    main()
