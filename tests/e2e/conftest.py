"""A real browser on a real server; every page must keep its console silent."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from app import create_app
from app.gallery import Example, Gallery
from app.sandbox import Runner
from app.workers.tasks import Renderer
from tests.app.fixtures import FixedRunner
from tests.app.serving.served import served
from tests.browser import ensure
from tests.e2e.steps import settled, watch
from tests.renderer import renderer as renderer

PATIENCE_MS = 120_000
"""How long the page may take over anything; other tests and other programs use the cores at the same time."""
COMPILE_SECONDS = 60
"""How long a script may compile, for the same reason; no browser test is about that limit."""
TEST_SECONDS = 900
"""How long a test may take, for the same reason."""
UNUSED = (
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup", "SpareRendererForSitePerProcess"),
    *("HttpsUpgrades", "PaintHolding"),
)
"""Features of Chromium: a popup of the address bar takes each new window a process as dear as the page's own, and so
does the spare one for the next page; Playwright's own list, without the last two, does not count beside another."""
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
def serving(app: Flask, port: int = 0) -> Iterator[str]:
    """Serve an application while the block runs, on a port of its own if none is given; yields its address."""
    with served(app, port=port) as server:
        yield server.address.removesuffix("/")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = ensure()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield chromium
        chromium.close()


class Scripts(Gallery):
    """Examples, and the scripts of tests under names of their own: a page that opens with one is drawn only once."""

    given: dict[str, str] = {}

    def find(self, name: str) -> Example | None:
        script = self.given.get(name)
        return super().find(name) if script is None else Example(name, "A test", "", script)

    @classmethod
    def query(cls, script: str) -> str:
        """Return what follows an explorer's address to open it with a script."""
        name = hashlib.sha256(script.encode()).hexdigest()[:16]
        cls.given[name] = script
        return f"/?example={name}"


@pytest.fixture(scope="session")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an explorer with its real sandbox and compiler."""
    app = create_app({"DATA_DIR": tmp_path_factory.mktemp("data"), "RATE_LIMIT": 0, "COMPILE_SECONDS": COMPILE_SECONDS})
    services = app.extensions["strata"]
    app.extensions["strata"] = replace(services, gallery=Scripts(services.gallery.examples))
    with serving(app) as address:
        yield address
    services.runner.close()


@pytest.fixture(scope="session")
def port() -> int:
    """A port that one test after another serves on: at a known address a browser has scripts and styles already."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.fixture
def serve(tmp_path: Path, port: int) -> Iterator[Callable[..., str]]:
    """Start an explorer over a runner, and render workers, of the test's choice; returns its address."""
    with ExitStack() as opened:

        def start(runner: Runner, workers: Renderer | None = None) -> str:
            app = create_app({"DATA_DIR": tmp_path, "RATE_LIMIT": 0}, runner, workers)
            try:
                return opened.enter_context(serving(app, port))
            except OSError:  # taken: by an earlier explorer of the same test, for example
                return opened.enter_context(serving(app))

        yield start


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


class Visitors:
    """Browser profiles, lent to one test after another.

    A new one would fetch and compile every script of the page again, which takes three times as long as the rest of
    opening it. Nothing else of an earlier test is left in one: what its sites stored is deleted.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: dict[str, list[BrowserContext]] = {}

    @contextmanager
    def lend(self, **options: Any) -> Iterator[BrowserContext]:
        """Lend a profile with these options, which nobody else has meanwhile."""
        free = self._free.setdefault(repr(sorted(options.items())), [])
        context = free.pop() if free else self._browser.new_context(**options)
        context.on("page", watch)
        yield context
        context.remove_listener("page", watch)
        for page in context.pages:
            page.close()
        context.clear_permissions()
        context.set_offline(False)
        context.clear_cookies()
        free.append(context)

    def arrive(self, context: BrowserContext, address: str) -> Page:
        """Return a page of a profile, before its first visit of a site."""
        site = "/".join(address.split("/")[:3])
        page = context.new_page()
        forget = {"origin": site, "storageTypes": "local_storage,indexeddb,cache_storage,service_workers"}
        session = context.new_cdp_session(page)
        session.send("Storage.clearDataForOrigin", forget)
        session.detach()
        context.grant_permissions(["clipboard-read", "clipboard-write"], origin=site)
        return page


@pytest.fixture(scope="session")
def visitors(browser: Browser) -> Visitors:
    return Visitors(browser)


@pytest.fixture
def open_page(visitors: Visitors, console: Console) -> Iterator[Callable[..., Page]]:
    """Open an address at a size, each time as another visitor; afterwards the console must have stayed silent.

    An explorer's may be opened with a script, as if that was one of its examples.
    """
    with ExitStack() as lent:

        def open_(
            address: str, width: int = 1440, height: int = 900, *, script: str | None = None, **options: Any
        ) -> Page:
            address += "" if script is None else Scripts.query(script)
            page = visitors.arrive(lent.enter_context(visitors.lend(**options)), address)
            page.set_viewport_size({"width": width, "height": height})
            page.set_default_timeout(PATIENCE_MS)
            page.on("console", lambda message: console.said.append(f"{message.type}: {message.text}"))
            page.on("pageerror", lambda error: console.said.append(f"error: {error}"))
            page.goto(address)
            page.wait_for_selector("html[data-ready]")
            if script is not None:
                settled(page)
            return page

        yield open_
    assert console.said == []
