"""The processes that render, shared by all applications of a session: they are real, and start once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app import server
from app.config import Config
from app.workers.pool import RenderWorkers

MEMORY_BYTES = 400 << 20


@pytest.fixture(scope="session", autouse=True)
def renderer() -> Iterator[RenderWorkers]:
    """Give every application the same processes; they start when the first test needs them."""
    workers = RenderWorkers(2, MEMORY_BYTES)

    def start_renderer(_: Config) -> RenderWorkers:
        return workers

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "start_renderer", start_renderer)
        yield workers
    workers.close()
