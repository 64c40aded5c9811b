"""A server that commands are carried out on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app import create_app
from app.services import services_of
from app.workers.in_process import InProcess
from tests.app.serving.served import served


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of one with its real sandbox, whose scripts need no new Python each."""
    app = create_app({"DATA_DIR": tmp_path_factory.mktemp("data"), "RATE_LIMIT": 0, "POOL": 1}, renderer=InProcess())
    with served(app) as running:
        yield running.address.removesuffix("/")
    services_of(app).runner.close()
