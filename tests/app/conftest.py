"""An application over jobs that do what a test says."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app import create_app
from tests.app.runners import ScriptedRunner
from tests.renderer import renderer as renderer


@pytest.fixture
def runner() -> ScriptedRunner:
    return ScriptedRunner()


@pytest.fixture
def app(tmp_path: Path, runner: ScriptedRunner) -> Flask:
    return create_app({"DATA_DIR": tmp_path, "RATE_LIMIT": 0, "BODY_BYTES": 100_000, "FILES_BYTES": 50_000}, runner)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.fixture
def one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no time pass: when a minute ends, a part of the quotas comes back."""
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
