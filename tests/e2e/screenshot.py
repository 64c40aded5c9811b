"""Takes the README's pictures: a schedule with its ladder measured, and a model that ran.

python -m tests.e2e.screenshot [--example NAME] [--model NAME] [--folder DIRECTORY]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from app import create_app
from tests import models
from tests.browser import ensure
from tests.e2e.conftest import serving

ROOT = Path(__file__).resolve().parents[2]
WIDTH, HEIGHT = 1680, 980


def measure_ladder(page: Page) -> None:
    """Measure every prefix of the schedule, and pin an instruction of its heart."""
    page.click("#ladder-button")
    expect(page.locator("#ladder-button")).to_have_text("Stop")
    expect(page.locator("#ladder-button")).to_have_text("Ladder", timeout=600_000)
    print(page.locator("#bench").inner_text())
    page.locator("#body-asm .l", has_text="fmadd").first.click()


def run_model(page: Page, name: str, folder: Path) -> None:
    """Attach a model, as by dropping it on the page, run it, and pin a convolution of its drawing."""
    file = folder / f"{name}.onnx"
    file.write_bytes(models.build(name).SerializeToString())
    page.set_input_files("#attach", file)
    page.wait_for_selector("#graph .node", timeout=60_000)
    page.click("#run-button")
    expect(page.locator("#run-label")).to_have_text("Stop")
    expect(page.locator("#run-label")).to_have_text("Run", timeout=120_000)
    page.wait_for_selector("#graph .node:is(.heat-3, .heat-4)", state="attached")
    print(page.locator("table.kernels").inner_text())
    for _ in range(3):
        page.click('[data-zoom="out"]')
    page.locator("#graph .node:visible", has_text="conv2d").first.click()


def main() -> None:
    """Start an explorer, measure, take the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--example", default="matmul-packed")
    parser.add_argument("--model", choices=sorted(models.MODELS), default="resnet18")
    parser.add_argument("--folder", type=Path, default=ROOT / "static" / "img")
    parser.add_argument("--theme", choices=("dark", "light"), default="dark")
    options = parser.parse_args()
    path = ensure()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        app = create_app({"DATA_DIR": Path(folder), "RATE_LIMIT": 0})
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        with serving(app) as address:
            context = chromium.new_context(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=options.theme)
            page = context.new_page()
            page.goto(f"{address}/?example={options.example}")
            page.wait_for_selector("html[data-ready]")
            measure_ladder(page)
            page.wait_for_timeout(500)
            page.screenshot(path=options.folder / "screenshot.png")
            run_model(page, options.model, Path(folder))
            page.wait_for_timeout(500)
            page.screenshot(path=options.folder / "model.png")
        chromium.close()
        app.extensions["strata"].runner.close()


if __name__ == "__main__":
    main()
