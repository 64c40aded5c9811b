"""Liveness checks of the database, with a short timeout."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

log = logging.getLogger(__name__)

ANSWER_SECONDS = 0.4


class Liveness:
    """A health check that runs in a background thread, at most one at a time.

    Parameters
    ----------
    check : Callable[[], None]
        Raises an error if the database does not respond; may hang.
    """

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check
        self._lock = threading.Lock()
        self._asking: threading.Thread | None = None
        self._answers = False

    def answers(self) -> bool:
        """Return whether the database responds within :data:`ANSWER_SECONDS`."""
        with self._lock:
            thread = self._asking
            if thread is None or not thread.is_alive():
                self._answers = False
                thread = self._asking = threading.Thread(target=self._ask, name="liveness", daemon=True)
                thread.start()
        thread.join(ANSWER_SECONDS)
        return self._answers

    def _ask(self) -> None:
        try:
            self._check()
        except Exception:
            log.exception("the database of the links does not answer")
        else:
            self._answers = True
