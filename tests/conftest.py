"""Options of the whole suite."""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings

import compiler.classic  # noqa: F401  (TVM's names beside those of the core)
from compiler.ir.origin import current_ambient

FRAMES = sys.getrecursionlimit()
# A busy machine is no reason to fail.
settings.register_profile("strata", deadline=None)
settings.load_profile("strata")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden texts anew; review them as a diff")
    parser.addoption("--long", action="store_true", help="run also what is marked `long`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is long, unless it is asked for: something quicker of its kind runs always."""
    if config.getoption("--long"):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if not item.get_closest_marker("long")]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep Python's search for garbage away from the modules and tests, which all stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def nothing_left_to_the_next() -> Iterator[None]:
    """Put back what a test may change for good, and fail where it leaves a ``__main__`` that no new process can import.

    An importer that is asked for the names of layers records for good, and jobs allow Python more frames.
    """
    main, ambient = sys.modules["__main__"], current_ambient()
    table = ambient.table
    sys.setrecursionlimit(FRAMES)
    yield
    ambient.table = table
    changed, sys.modules["__main__"] = sys.modules["__main__"], main
    assert changed is main
