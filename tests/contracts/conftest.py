"""The real thing: an application whose scripts run in the sandbox, started once for all tests of a worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from app import create_app, start_runner
from app.config import Config
from app.sandbox import Runner
from tests.renderer import renderer as renderer

BUDGET_SECONDS = 30.0
"""More than any honest script needs, on a machine that is busy with other tests."""
SHORT_BUDGET_SECONDS = 1.0
"""For scripts that use up whatever they get."""


@pytest.fixture(scope="session")
def runner() -> Iterator[Runner]:
    """The real sandbox."""
    runner = start_runner(Config.read({"POOL": 1}))
    yield runner
    runner.close()


def _client(runner: Runner, folder: Path, seconds: float) -> FlaskClient:
    settings = {"DATA_DIR": folder, "RATE_LIMIT": 0, "COMPILE_SECONDS": seconds, "RUN_SECONDS": 60.0}
    return create_app(settings, runner).test_client()


@pytest.fixture(scope="session")
def explorer(runner: Runner, tmp_path_factory: pytest.TempPathFactory) -> FlaskClient:
    """A client of an application with its real sandbox."""
    return _client(runner, tmp_path_factory.mktemp("data"), BUDGET_SECONDS)


@pytest.fixture(scope="session")
def hurried(runner: Runner, tmp_path_factory: pytest.TempPathFactory) -> FlaskClient:
    """The same with little time for a script."""
    return _client(runner, tmp_path_factory.mktemp("data"), SHORT_BUDGET_SECONDS)


@pytest.fixture(scope="session")
def enough(runner: Runner, tmp_path_factory: pytest.TempPathFactory) -> FlaskClient:
    """The same with time to get to a script's last line on a busy machine, though not past an endless one."""
    return _client(runner, tmp_path_factory.mktemp("data"), 5 * SHORT_BUDGET_SECONDS)
