"""The real thing: an application whose scripts run in the sandbox, started once for all tests of a worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from app import create_app
from app.services import EXTENSION, Services

BUDGET_SECONDS = 20.0
"""More than any honest script needs, on a machine that is busy with other tests."""


@pytest.fixture(scope="session")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    """A client of an application with its real sandbox."""
    settings: dict[str, Any] = {
        "DATA_DIR": Path(tmp_path_factory.mktemp("data")),
        "RATE_LIMIT": 0,
        "POOL": 1,
        "COMPILE_SECONDS": BUDGET_SECONDS,
        "RUN_SECONDS": 60.0,
    }
    app = create_app(settings)
    services: Services = app.extensions[EXTENSION]
    yield app.test_client()
    services.runner.close()
