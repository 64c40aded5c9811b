"""A real browser on a real server; every page must keep its console silent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from flask import Flask
from playwright.sync_api import Browser, Page, expect, sync_playwright

from app import create_app
from app.sandbox import Runner
from app.workers.tasks import Renderer
from tests.app.fixtures import FixedRunner
from tests.app.serving.served import served
from tests.browser import ensure
from tests.e2e.steps import watch
from tests.renderer import renderer as renderer

PATIENCE_MS = 120_000
"""How long the page may take over anything; other tests and other programs use the cores at the same time."""
COMPILE_SECONDS = 60
"""How long a script may compile, for the same reason; no browser test is about that limit."""
TEST_SECONDS = 900
"""How long a test may take, for the same reason."""
UNUSED = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup", "HttpsUpgrades", "PaintHolding")
"""Features of Chromium: a popup of the address bar takes each new window a process as dear as the page's own, and
Playwright's own list, without the last two, does not count beside another."""
ARGUMENTS = [
    "--no-sandbox",
    "--enable-unsafe-webgpu",
    "--use-webgpu-adapter=swiftshader",
    f"--disable-features={','.join(UNUSED)}",
]
"""A GPU that the CPU emulates, for pages that ask for one, and nothing that no page needs."""
expect.set_options(timeout=PATIENCE_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give browser tests time: a busy machine is no reason to fail, and a page that hangs is found all the same."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.timeout(TEST_SECONDS))


@contextmanager
def serving(app: Flask) -> Iterator[str]:
    """Serve an application on a port of its own while the block runs; yields its address."""
    with served(app) as server:
        yield server.address.removesuffix("/")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = ensure()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an explorer with its real sandbox and compiler."""
    app = create_app({"DATA_DIR": tmp_path_factory.mktemp("data"), "RATE_LIMIT": 0, "COMPILE_SECONDS": COMPILE_SECONDS})
    with serving(app) as address:
        yield address
    app.extensions["strata"].runner.close()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Start an explorer over a runner, and render workers, of the test's choice; returns its address."""
    opened = []

    def start(runner: Runner, workers: Renderer | None = None) -> str:
        context = serving(create_app({"DATA_DIR": tmp_path, "RATE_LIMIT": 0}, runner, workers))
        opened.append(context)
        return context.__enter__()

    yield start
    for context in opened:
        context.__exit__(None, None, None)


@pytest.fixture
def fixed(serve: Callable[[Runner], str]) -> str:
    """The address of an explorer that answers every script with the same hand-made answer."""
    return serve(FixedRunner())


@dataclass
class Console:
    """What a page's console said."""

    said: list[str] = field(default_factory=list)


@pytest.fixture
def console() -> Console:
    return Console()


@pytest.fixture
def open_page(browser: Browser, console: Console) -> Iterator[Callable[..., Page]]:
    """Open an address at a size; afterwards the console must have stayed silent."""
    contexts = []

    def open_(address: str, width: int = 1440, height: int = 900, **options: object) -> Page:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)  # type: ignore[arg-type]
        context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address.split("/?")[0])
        contexts.append(context)
        context.on("page", watch)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", lambda message: console.said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: console.said.append(f"error: {error}"))
        page.goto(address)
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert console.said == []
