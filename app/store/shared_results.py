"""Result storage shared by several servers: small named objects that can be recomputed."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from app.store.shared_files import open_store

log = logging.getLogger(__name__)

MAX_WAITING = 64
"""Maximum number of pending writes; more are dropped, as results can be recomputed."""
PAUSE_SECONDS = 30.0
"""How long the store is bypassed after a failure."""


class SharedResults:
    """An object store at a URL, in the subdirectory ``results``.

    Parameters
    ----------
    url : str
        As for :class:`~app.store.shared_files.SharedFiles`.
    version : str
        Version of the program that makes the results; those of other versions are invisible.

    Raises
    ------
    ConfigurationError
        As for :class:`~app.store.shared_files.SharedFiles`.
    """

    def __init__(self, url: str, version: str) -> None:
        self._system, root = open_store(url)
        self._root = f"{root}/results/{version}"
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="results")
        self._waiting = threading.Semaphore(MAX_WAITING)
        self._made: set[str] = set()
        self._pause_until = 0.0

    def read(self, name: str) -> bytes | None:
        """Return an object; None if it does not exist or the store does not respond."""
        if time.monotonic() < self._pause_until:
            return None
        try:
            return self._system.cat_file(f"{self._root}/{name}")
        except FileNotFoundError:
            return None
        except Exception as error:  # each kind of store raises its own exceptions
            self._pause(error)
            return None

    def write(self, objects: Mapping[str, bytes]) -> None:
        """Write objects asynchronously in another thread, replacing existing ones."""
        if time.monotonic() < self._pause_until or not self._waiting.acquire(blocking=False):
            return
        self._writer.submit(self._write, objects)

    def _write(self, objects: Mapping[str, bytes]) -> None:
        try:
            for directory in {name.rpartition("/")[0] for name in objects} - self._made:
                self._system.makedirs(f"{self._root}/{directory}", exist_ok=True)
                self._made.add(directory)
            self._system.pipe({f"{self._root}/{name}": content for name, content in objects.items()})
        except Exception as error:  # each kind of store raises its own exceptions
            self._pause(error)
        finally:
            self._waiting.release()

    def _pause(self, error: Exception) -> None:
        self._pause_until = time.monotonic() + PAUSE_SECONDS
        log.warning("the store of results does not answer, and is left alone for a while: %s", error)
