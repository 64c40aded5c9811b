"""Options of the whole suite."""

from __future__ import annotations

import gc
import random
import sys
from collections import Counter
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

import compiler.classic  # noqa: F401  (TVM's names beside those of the core)
from compiler.ir.origin import current_ambient

FRAMES = sys.getrecursionlimit()
# A busy machine is no reason to fail.
settings.register_profile("strata", deadline=None, max_examples=20)
settings.register_profile("long", deadline=None, max_examples=200)
NO_CONSTANTS = providers.Constants()
GC_THRESHOLDS = (50_000, 20, 100)
"""Trees of programs are many small objects: with Python's own thresholds a tenth of the time went on searches."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden texts anew; review them as a diff")
    parser.addoption("--long", action="store_true", help="run also what is marked `long`")


def pytest_configure(config: pytest.Config) -> None:
    """Choose how much is tried."""
    settings.load_profile("long" if config.getoption("--long") else "strata")
    if not config.getoption("--long"):  # each process would read all modules for numbers to try, for ten seconds
        providers._get_local_constants = lambda: NO_CONSTANTS


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, object, object]:
    """Let each worker read the files in an order of its own: what one has compiled, the others find compiled."""
    report: pytest.CollectReport = yield
    worker = getattr(collector.config, "workerinput", None)
    if worker and isinstance(collector, pytest.Directory):
        random.Random(worker["workerid"]).shuffle(report.result or [])
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is long, and of a sampled test all but every so many-th case, unless all are asked for.

    Tests of the page come first: one worker waits for pages while the others compute, instead of all at the end.
    """
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: ("e2e" not in item.path.parts, item.path.parts))  # the order that all workers know
    if config.getoption("--long"):
        return
    cases: Counter[str] = Counter()

    def runs(item: pytest.Item) -> bool:
        name = item.nodeid.partition("[")[0]
        cases[name] += 1
        sample = item.get_closest_marker("sample")
        return not item.get_closest_marker("long") and (sample is None or cases[name] % sample.args[0] == 1)

    chosen = [item for item in items if runs(item)]
    kept = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = chosen


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep Python's search for garbage away from the modules and tests, which all stay, and let it come seldom."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)
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
