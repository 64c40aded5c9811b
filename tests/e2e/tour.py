"""Takes a picture of every main state of the page, in three sizes and both themes.

python -m tests.e2e.tour [--folder DIRECTORY] [--only STATE …]

Look at them: what overlaps, what cannot be read.  Prints which texts are cut off.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from app import create_app
from tests import models
from tests.browser import ensure
from tests.e2e.conftest import serving
from tests.e2e.steps import MATMUL, SPLIT_LINE, watch, write
from tests.e2e.test_graphs import NESTED, NETWORK

SIZES = {"wide": (1920, 1080), "projector": (1280, 800), "phone": (360, 780)}
THEMES = ("light", "dark")
PATIENCE_MS = 120_000


def opened(page: Page, address: str) -> None:
    """Open an address, and wait for its panes."""
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    page.wait_for_selector("body:not(.pending)")


def show_tab(page: Page, title: str) -> None:
    """Bring a pane forward, where one shows at a time."""
    tab = page.locator("#tabs").get_by_role("button", name=title, exact=True)
    if tab.is_visible():
        tab.click()


def landing(page: Page, address: str) -> None:
    """The first example."""
    opened(page, address)


def model(page: Page, address: str) -> None:
    """A network from its file."""
    opened(page, address)
    show_tab(page, "Source")
    content = models.build("resnet18").SerializeToString()
    file = {"name": "resnet18.onnx", "mimeType": "application/octet-stream", "buffer": content}
    page.set_input_files("#attach", [file])  # type: ignore[list-item]
    expect(page.locator("#strip .group.graph")).to_be_attached(timeout=PATIENCE_MS)
    show_tab(page, "Graph")
    page.wait_for_selector("#graph .node", state="attached")


def measured_model(page: Page, address: str) -> None:
    """A network after Run: its kernels have times, and colour the drawing."""
    opened(page, address)
    show_tab(page, "Source")
    write(page, NETWORK)
    page.click("#run-button")
    show_tab(page, "Kernels")
    expect(page.locator(".kernels thead")).to_contain_text("GFLOP/s", timeout=PATIENCE_MS)


def wrong_model(page: Page, address: str) -> None:
    """A file that is no model, whatever it is called."""
    opened(page, address)
    file = {"name": "resnet18.onnx", "mimeType": "application/octet-stream", "buffer": b"<html>404 Not Found</html>"}
    page.set_input_files("#attach", [file])  # type: ignore[list-item]
    expect(page.locator("#state")).to_contain_text("✗")


def challenges(page: Page, address: str) -> None:
    """The list of challenges."""
    page.goto(f"{address}/challenges")


def challenge(page: Page, address: str) -> None:
    """A challenge beside its workspace."""
    opened(page, f"{address}/challenges/matmul")


def docs(page: Page, address: str) -> None:
    """A long page of the documentation."""
    page.goto(f"{address}/docs/explorer")


def residual_block(page: Page, address: str) -> None:
    """A small network."""
    opened(page, f"{address}/?example=residual-block")
    show_tab(page, "Graph")
    page.wait_for_selector("#graph .node", state="attached")


def node(page: Page, address: str) -> None:
    """What is known of an operator."""
    residual_block(page, address)
    page.locator('#graph .node[data-label*="conv2d"]').first.click()
    expect(page.locator("#node-panel")).to_be_visible()


def branches(page: Page, address: str) -> None:
    """Branches, clauses and closures as nested boxes."""
    opened(page, address)
    show_tab(page, "Source")
    write(page, NESTED)
    show_tab(page, "Graph")
    expect(page.locator("#graph .scope").first).to_be_attached()


def gpu(page: Page, address: str) -> None:
    """A schedule for a GPU."""
    opened(page, f"{address}/?example=gpu-matmul-shared")
    show_tab(page, "Kernel code")


def tensorir(page: Page, address: str) -> None:
    """A schedule of TensorIR."""
    opened(page, f"{address}/?example=tensorir-matmul")
    show_tab(page, "Schedule")


def fused(page: Page, address: str) -> None:
    """What FuseOps changes in a small network."""
    opened(page, f"{address}/?example=residual-block")
    page.click("#strip .graph .chip >> text=FuseOps")
    show_tab(page, "Graph")
    page.keyboard.press("d")
    expect(page.locator("#facts-graph")).to_contain_text("+")


def shown(page: Page, address: str, view: str) -> None:
    """A link to the schedule of a matmul, in one of the views that are for reading."""
    asked = {"workspace": {"script": MATMUL}}
    link = page.request.post(f"{address}/api/links", data=asked).json()["id"]
    opened(page, f"{address}/z/{link}?view={view}")


def reading(page: Page, address: str) -> None:
    """A link as a projector shows it."""
    shown(page, address, "read")


def embedded(page: Page, address: str) -> None:
    """A link in a frame of another page."""
    shown(page, address, "embed")


def lesson(page: Page, address: str) -> None:
    """A lesson beside its workspace."""
    opened(page, f"{address}/learn/split")


def lessons(page: Page, address: str) -> None:
    """The list of lessons."""
    page.goto(f"{address}/learn")


def failed_step(page: Page, address: str) -> None:
    """A step of a lesson that does not pass yet."""
    opened(page, f"{address}/learn/split")
    page.click("#lesson-check")
    expect(page.locator(".checks:visible .failed").first).to_be_visible()


def made_class(page: Page, address: str) -> tuple[str, str]:
    """Make a class with two students, in which somebody presents; returns its id and its teacher's secret."""
    made = page.request.post(f"{address}/api/classes", data={"lesson": "split"}).json()
    for number in range(2):
        student = {"student": f"{number:032x}", "step": number + 1}
        page.request.post(f"{address}/api/classes/{made['id']}/students", data=student)
    state = {"step": 2, "script": MATMUL}
    secret = {"X-Class-Secret": made["secret"]}
    page.request.put(f"{address}/api/classes/{made['id']}/presented", data=state, headers=secret)
    return made["id"], made["secret"]


def student(page: Page, address: str) -> None:
    """A student who follows his teacher."""
    name, _ = made_class(page, address)
    opened(page, f"{address}/learn/split?class={name}")
    expect(page.locator("#class-following")).to_be_visible()


def teacher(page: Page, address: str) -> None:
    """A teacher with the list of his class."""
    name, secret = made_class(page, address)
    opened(page, f"{address}/learn/split?class={name}#teacher={secret}")
    expect(page.locator("#class-count")).to_have_text("2 students")
    page.click("#class-open")


def class_board(page: Page, address: str) -> None:
    """The board of a class, for a projector."""
    name, _ = made_class(page, address)
    opened(page, f"{address}/learn/split/board?class={name}")
    expect(page.locator("#class-state")).to_have_text("2 students")


def live(page: Page, address: str) -> None:
    """A workspace that several people edit, one of whom has a long name; they pinned a line."""
    made = page.request.post(f"{address}/api/live", data={"key": "0" * 32, "name": "Ada", "script": MATMUL}).json()
    opened(page, f"{address}/live/{made['id']}")
    for number, name in enumerate(("W" * 24, "<b>Eve</b>"), 1):
        place = {"line": SPLIT_LINE + number, "from_line": SPLIT_LINE, "pin": [SPLIT_LINE]}
        person = {"key": str(number) * 32, "name": name, "place": place}
        page.request.post(f"{address}/api/live/{made['id']}/people", data=person)
    expect(page.locator(".live-people")).to_contain_text("<b>Eve</b>")


def proposals(page: Page, address: str) -> None:
    """What can be applied to a loop next."""
    opened(page, address)
    show_tab(page, "Source")
    write(page, MATMUL)
    show_tab(page, "Schedule")
    page.get_by_role("button", name="What can be applied to loop i of C next", exact=True).click()
    expect(page.locator("#proposals")).to_contain_text("parallel", timeout=PATIENCE_MS)


def prediction(page: Page, address: str) -> None:
    """Bars that are drawn before anything is measured."""
    opened(page, address)
    show_tab(page, "Benchmark")
    page.click("#ladder-predict")
    expect(page.locator("#predict")).to_be_visible()


def examples(page: Page, address: str) -> None:
    """The list of examples."""
    opened(page, address)
    page.click("#open-gallery")


def keys(page: Page, address: str) -> None:
    """The help, with all keys."""
    opened(page, address)
    page.click("#open-help")


def ladder(page: Page, address: str) -> None:
    """A schedule measured step by step."""
    opened(page, address)
    show_tab(page, "Source")
    write(page, MATMUL)
    page.keyboard.press("Control+Shift+Enter")
    expect(page.locator("#ladder-button")).to_have_text("Stop")
    expect(page.locator("#ladder-button")).to_have_text("Ladder", timeout=PATIENCE_MS)
    show_tab(page, "Benchmark")


def roofline(page: Page, address: str) -> None:
    """The same under the roofs of the machine."""
    ladder(page, address)
    page.locator("#bench .roofline svg").scroll_into_view_if_needed()


def control_flow(page: Page, address: str) -> None:
    """The blocks of a kernel."""
    opened(page, address)
    show_tab(page, "Source")
    write(page, MATMUL)
    page.click("#panes-menu summary")
    page.check("#panes-form [name=flow]")
    page.keyboard.press("Escape")
    show_tab(page, "Control flow")
    expect(page.locator("#flow .block").first).to_be_attached()


def llvm_passes(page: Page, address: str) -> None:
    """What LLVM's optimiser does, pass by pass."""
    opened(page, address)
    show_tab(page, "Source")
    write(page, MATMUL)
    show_tab(page, "LLVM IR")
    page.click("#llvm-passes")
    expect(page.locator("#strip .group.llvm .chip").nth(8)).to_be_attached()


def player(page: Page, address: str) -> None:
    """Loops that run step by step."""
    opened(page, address)
    show_tab(page, "Source")
    write(page, MATMUL)
    show_tab(page, "Loop IR")
    page.click("#pane-loops [data-open='player']")
    expect(page.locator("#player-parts")).to_be_visible(timeout=PATIENCE_MS)


def compare(page: Page, address: str) -> None:
    """Assembly beside that of another schedule."""
    opened(page, address)
    show_tab(page, "Source")
    write(page, MATMUL)
    show_tab(page, "Assembly")
    page.select_option("#against-asm", "keep")
    show_tab(page, "Source")
    write(page, MATMUL.replace("factor=16", "factor=32"))
    show_tab(page, "Assembly")
    expect(page.locator("#body-asm .l.added").first).to_be_attached()


def failed(page: Page, address: str) -> None:
    """A script with a mistake."""
    opened(page, address)
    show_tab(page, "Source")
    write(page, MATMUL.replace("reorder(i", "reorder(k, k"))
    expect(page.locator("#state")).to_contain_text("✗")


def empty(page: Page, address: str) -> None:
    """A script that makes nothing."""
    opened(page, address)
    show_tab(page, "Source")
    write(page, "import tvm\n")
    expect(page.locator("#strip")).to_contain_text("The timeline appears")


STATES: dict[str, Callable[[Page, str], None]] = {
    state.__name__: state
    for state in (
        *(landing, model, wrong_model, measured_model, node, branches, fused, gpu, tensorir, reading, embedded),
        *(lessons, lesson, failed_step, student, teacher, class_board, live, challenges, challenge, docs),
        *(
            proposals,
            prediction,
            ladder,
            roofline,
            control_flow,
            llvm_passes,
            player,
            compare,
            examples,
            keys,
            failed,
            empty,
        ),
    )
}


CLIPPED = """() => [...document.querySelectorAll("body *")].filter((element) => {
  const style = getComputedStyle(element);
  const text = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  return text && element.checkVisibility() && style.overflowX !== "visible" && style.overflowX !== "auto"
    && style.overflowX !== "scroll" && element.clientWidth > 1 && element.scrollWidth > element.clientWidth;
}).map((element) => `${element.id || element.className}: ${element.textContent.trim().slice(0, 60)}`)"""
"""The elements whose text is cut off, and cannot be scrolled to."""


def photograph(page: Page, folder: Path, name: str) -> None:
    """Save what a page shows, in both themes."""
    page.mouse.move(0, 0)
    for theme in THEMES:
        page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        page.wait_for_timeout(400)  # colours fade
        page.screenshot(path=folder / f"{name}-{theme}.png")


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("screenshots"))
    parser.add_argument("--only", nargs="*", choices=STATES, default=list(STATES))
    parser.add_argument("--size", nargs="*", choices=SIZES, default=list(SIZES))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    path = ensure()
    with tempfile.TemporaryDirectory() as data, sync_playwright() as playwright:
        app = create_app({"DATA_DIR": Path(data), "RATE_LIMIT": 0, "COMPILE_SECONDS": 60.0})
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        with serving(app) as address:
            for state in options.only:
                for size in options.size:
                    width, height = SIZES[size]
                    context = chromium.new_context(viewport={"width": width, "height": height})
                    context.on("page", watch)
                    page = context.new_page()
                    page.set_default_timeout(PATIENCE_MS)
                    STATES[state](page, address)
                    photograph(page, options.folder, f"{state}-{size}")
                    print(f"{state}, {size}", *page.evaluate(CLIPPED), sep="\n  cut off: ", flush=True)
                    context.close()
        chromium.close()
        app.extensions["strata"].runner.close()


if __name__ == "__main__":
    main()
