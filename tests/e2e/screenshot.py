"""Takes the README's picture: the first page, dark, with its ladder measured.

python -m tests.e2e.screenshot [--example NAME] [--output FILE]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

from app import create_app
from tests.browser import ensure
from tests.e2e.conftest import serving

ROOT = Path(__file__).resolve().parents[2]
WIDTH, HEIGHT = 1680, 980


def main() -> None:
    """Start an explorer, measure, take the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--example", default="matmul-packed")
    parser.add_argument("--output", type=Path, default=ROOT / "static" / "img" / "screenshot.png")
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
            page.click("#ladder-button")
            expect(page.locator("#ladder-button")).to_have_text("Stop")
            expect(page.locator("#ladder-button")).to_have_text("Ladder", timeout=600_000)
            print(page.locator("#bench").inner_text())
            page.locator("#body-asm .l", has_text="fmadd").first.click()
            page.wait_for_timeout(500)
            page.screenshot(path=options.output)
            print(options.output)
        chromium.close()
        app.extensions["strata"].runner.close()


if __name__ == "__main__":
    main()
