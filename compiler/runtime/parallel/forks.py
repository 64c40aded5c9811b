"""Processes that fork: the child has one thread, and each lock as it was at that moment."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager


def hold_while_forking(lock: AbstractContextManager[object]) -> None:
    """Let a fork wait until a lock is free, so that the child never finds it held by a thread that it does not have.

    The lock, such as a ``threading.Lock``, has to live as long as the process.
    """

    def release() -> None:
        lock.__exit__(None, None, None)

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.__enter__, after_in_parent=release, after_in_child=release)
