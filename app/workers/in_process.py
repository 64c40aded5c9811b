"""Rendering within the calling process, where forking is not possible and in tests."""

from __future__ import annotations

from collections.abc import Sequence

from app.jobs.answers import StoredAnswer
from app.workers.rendering import Decoded, perform
from app.workers.tasks import Expected, Task


class InProcess:
    """A renderer without processes: nothing bounds the time and the memory that it takes."""

    def perform(
        self, task: Task, kind: type[Expected], answers: Sequence[StoredAnswer] = (), client: str = ""
    ) -> Expected:
        """Return the reply to a task, as :meth:`app.workers.tasks.Renderer.perform` says."""
        reply = perform(task, [Decoded.of(answer.json()) for answer in answers])
        assert isinstance(reply, kind)
        return reply

    def close(self) -> None:
        """Nothing works for it."""
