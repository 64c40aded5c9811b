"""Liveness checks of the database, which never keep anybody waiting for long."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

ANSWER_SECONDS = 0.4
"""How long a check is waited for."""
HANGING_SECONDS = 10.0
"""The age of a check that hangs: on a busy machine one may get no processor for some seconds."""


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
        self._asked = 0.0
        self._answers = True

    def answers(self) -> bool:
        """Return whether the database responds; while a check is going on, whether it did before."""
        with self._lock:
            thread = self._asking
            if thread is None or not thread.is_alive():
                self._asked = time.monotonic()
                thread = self._asking = threading.Thread(target=self._ask, name="liveness", daemon=True)
                thread.start()
        thread.join(ANSWER_SECONDS)
        return self._answers and not (thread.is_alive() and time.monotonic() - self._asked > HANGING_SECONDS)

    def _ask(self) -> None:
        try:
            self._check()
        except Exception:
            log.exception("the database of the links does not answer")
            self._answers = False
        else:
            self._answers = True
