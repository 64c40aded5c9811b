"""Rendering within the calling process, where forking is not possible and in tests."""

from __future__ import annotations

from collections.abc import Sequence

from app.jobs.answers import StoredAnswer
from app.workers.rendering import DecodedAnswer, perform
from app.workers.tasks import Expected, Task


class InProcess:
    """A renderer in the calling process, without limits on time and memory."""

    def perform(
        self, task: Task, kind: type[Expected], answers: Sequence[StoredAnswer] = (), client: str = ""
    ) -> Expected:
        """Run a task; see :meth:`app.workers.tasks.Renderer.perform`."""
        reply = perform(task, [DecodedAnswer.of(answer.json()) for answer in answers])
        assert isinstance(reply, kind)
        return reply

    def close(self) -> None:
        """Do nothing: there are no processes."""
