"""Imports of modules when they are first used, for which a fork by another thread waits.

Python locks a module while it is imported.  A child that was forked then finds the lock held by a thread that it does
not have, and waits for it for ever.
"""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

_changed = threading.Condition()
_depths: dict[int, int] = {}
"""How many imports each thread that imports is in, one inside the other."""


def import_late(name: str) -> ModuleType:
    """Return a module, imported if it is not yet."""
    with importing():
        return importlib.import_module(name)


@contextmanager
def importing() -> Iterator[None]:
    """Let other threads fork only after the block, which imports modules.

    Imports do not exclude each other: Python's own locks could then wait for one another.
    """
    thread = threading.get_ident()
    with _changed:
        _depths[thread] = _depths.get(thread, 0) + 1
    try:
        yield
    finally:
        with _changed:
            _depths[thread] -= 1
            if not _depths[thread]:
                del _depths[thread]
                _changed.notify_all()


def _wait() -> None:
    """Wait until no other thread imports, and keep them from beginning."""
    _changed.acquire()
    _changed.wait_for(lambda: not _depths.keys() - {threading.get_ident()})


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait, after_in_parent=_changed.release, after_in_child=_changed.release)
