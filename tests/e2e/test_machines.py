"""The page on servers with other processors: nothing that they are called or lack breaks it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from app import create_app
from tests.e2e.conftest import COMPILE_SECONDS, serving
from tests.e2e.steps import CUT_OFF, MATMUL, settled, write
from tests.machines import MACHINES, pretended

SIZES = [(1280, 800), (1920, 1080), (390, 844)]
CALLED = """
import numpy as np
arrays = [tvm.nd.array(np.random.default_rng(i).random((n, n), dtype="float32")) for i in range(3)]
f(*arrays)
np.testing.assert_allclose(arrays[2].numpy(), arrays[0].numpy() @ arrays[1].numpy(), rtol=1e-5)
print("as NumPy has it")
"""


ALWAYS = "a single core without AVX"
"""Has a long name that nothing knows, too."""


@pytest.fixture(params=[pytest.param(n, marks=[] if n == ALWAYS else pytest.mark.long) for n in MACHINES])
def server(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    """The address of an explorer on another machine, and the name of its processor."""
    name = str(request.param)
    with pretended(name, monkeypatch):
        folder = tmp_path_factory.mktemp("data")
        app = create_app({"DATA_DIR": folder, "RATE_LIMIT": 0, "COMPILE_SECONDS": COMPILE_SECONDS})
        with serving(app) as address:
            yield address, str(MACHINES[name]["processor"])
        app.extensions["strata"].runner.close()


def show(page: Page, *panes: str) -> None:
    page.click("#panes-menu summary")
    for pane in panes:
        page.check(f"#panes-form [name={pane}]")
    page.keyboard.press("Escape")
    page.click("#title")


def test_every_pane_fits_and_every_answer_is_right(server: tuple[str, str], open_page: Callable[..., Page]) -> None:
    address, processor = server
    page = open_page(address, *SIZES[0])
    write(page, MATMUL + CALLED)
    page.click("#run-button")
    expect(page.locator("#pane-console")).to_contain_text("as NumPy has it")
    page.click("#ladder-button")
    expect(page.locator("#ladder-button")).to_have_text("Ladder")
    expect(page.locator("#bench tbody tr.prefix")).to_have_count(3)
    assert page.locator("#bench tbody tr.prefix", has_text="✓").count() == 3
    expect(page.locator("#pane-bench")).to_contain_text(processor)
    show(page, "conformance", "flow")
    page.click("#conformance-compile")
    expect(page.locator("#conformance .result").first).to_have_text("✓ compiles")
    expect(page.locator("#throughput")).to_contain_text(re.compile("Hot loop: |No throughput of the hot loop: "))
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        settled(page)
        if width > 900:
            expect(page.locator("#pane-console .pane-head")).to_contain_text(processor)
            assert page.evaluate(CUT_OFF) == []
            continue
        for tab in page.locator("#tabs button:visible").all():
            tab.click()
            assert page.evaluate("document.documentElement.scrollWidth") == width
