"""The pytest plugin of ``tvm.testing``: ``pytest -p tvm.testing.plugin``.

A test that has an argument ``target`` runs on each target that ``TVM_TEST_TARGETS`` names, unless it names its own;
its argument ``dev`` is the device of the target.  Values of ``tvm.testing.parameters`` are given together.
``python -m compiler -m pytest`` loads it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compiler.classic.testing.features import Feature
from compiler.classic.testing.parametrization import (
    EXCLUDED,
    GROUP,
    IDS,
    KNOWN_FAILING,
    SOME_RUNS,
    VALUES,
    target_params,
)
from compiler.classic.testing.targets import target_kind
from compiler.runtime.device import Device, device


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marks of ``tvm.testing``."""
    for feature in Feature.all_features():
        config.addinivalue_line("markers", f"{feature.name}: needs {feature.long_name}")
    config.addinivalue_line("markers", f"{EXCLUDED}(*targets): does not run on these targets")
    config.addinivalue_line("markers", f"{KNOWN_FAILING}(*targets): is expected to fail on these targets")
    config.addinivalue_line("markers", f"{SOME_RUNS}(values, mark): has the mark with these values of its parameters")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test its targets and its correlated parameters."""
    _parametrize_groups(metafunc)
    if "target" in metafunc.fixturenames and not _has_own_values(metafunc, "target"):
        params = target_params(excluded=_marked(metafunc, EXCLUDED), failing=_marked(metafunc, KNOWN_FAILING))
        metafunc.parametrize("target", params, scope="session")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the runs of tests that are skipped, or expected to fail, by the values of their parameters."""
    for item in items:
        values = item.name.partition("[")[2].rstrip("]")
        for mark in list(item.iter_markers(SOME_RUNS)):
            runs, meaning = mark.args
            if values in runs:
                item.add_marker(meaning)


def _marked(metafunc: pytest.Metafunc, name: str) -> list[str]:
    """Return the arguments of all marks of a name on a test and its class."""
    return [target for mark in metafunc.definition.iter_markers(name) for target in mark.args]


def _has_own_values(metafunc: pytest.Metafunc, argument: str) -> bool:
    """Return whether a mark or a fixture of the user's gives an argument its values."""
    for mark in metafunc.definition.iter_markers("parametrize"):
        named = mark.args[0] if mark.args else mark.kwargs["argnames"]
        if argument in ([n.strip() for n in named.split(",")] if isinstance(named, str) else named):
            return True
    return any(definition.func.__module__ != __name__ for definition in _definitions(metafunc, argument))


def _definitions(metafunc: pytest.Metafunc, name: str) -> Iterator[pytest.FixtureDef[object]]:
    """Yield the fixture that an argument of a test stands for, if it does for one."""
    yield from metafunc._arg2fixturedefs.get(name, ())[-1:]


def _parametrize_groups(metafunc: pytest.Metafunc) -> None:
    """Give the fixtures that ``tvm.testing.parameters`` made their values together."""
    groups: dict[int, dict[str, pytest.FixtureDef[object]]] = {}
    for name in metafunc.fixturenames:
        for definition in _definitions(metafunc, name):
            group = getattr(definition.func, GROUP, None)
            if group is not None:
                groups.setdefault(group, {})[name] = definition
    for members in groups.values():
        functions = [definition.func for definition in members.values()]
        sets = list(zip(*(getattr(function, VALUES) for function in functions), strict=True))
        metafunc.parametrize(list(members), sets, indirect=True, ids=getattr(functions[0], IDS), scope="session")


@pytest.fixture
def dev(target: str) -> Device:
    """Return the device that a test's target is for."""
    return device(target_kind(target))


@pytest.fixture
def ctx(target: str) -> Device:
    """Return the device that a test's target is for, as tests of TVM 0.7 call it."""
    return device(target_kind(target))
