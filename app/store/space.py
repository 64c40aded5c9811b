"""Space for uploaded files: their total size, and the minimum of free disk space."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

from app.errors import StorageFull

BLOCK = 4096
"""Bytes that even the smallest file takes on a disk."""
RECOUNT_SECONDS = 10.0
"""How soon the files are counted again once there is no room: an operator may have deleted some."""


def on_disk(size: int) -> int:
    """Return the bytes that a file of this size takes on a disk, which holds blocks only."""
    return -(-size // BLOCK) * BLOCK


def disk_free(directory: Path) -> int:
    """Return the bytes that are free on the disk of a directory."""
    return shutil.disk_usage(directory).free


class Space:
    """Counts the bytes in a directory of files, those that still arrive included.

    Parameters
    ----------
    directory : Path
    capacity : int
        Bytes that the files may take together.
    reserve : int
        Bytes of the disk that stay free.
    is_file : Callable[[str], bool]
        Whether a name in the directory is one of the files.
    """

    def __init__(self, directory: Path, capacity: int, reserve: int, is_file: Callable[[str], bool]) -> None:
        self._directory = directory
        self.capacity = capacity
        self.reserve = reserve
        self._is_file = is_file
        self._lock = threading.Lock()
        self._arriving = 0
        self._stored = self._count()
        self._counted = time.monotonic()

    @property
    def used(self) -> int:
        """Bytes that the files take; does not wait for who counts them."""
        return self._stored + self._arriving

    @property
    def free(self) -> int:
        """Bytes that are free on the disk."""
        return disk_free(self._directory)

    def take(self, size: int) -> None:
        """Reserve room for bytes that arrive.

        Raises
        ------
        StorageFull
            The files would take more than they may, or leave less of the disk free than they must.
        """
        with self._lock:
            if self._stored + self._arriving + size > self.capacity:
                self._recount()
            if self._stored + self._arriving + size > self.capacity:
                raise StorageFull(
                    "this server's storage for files is full: the file was not stored",
                    field="$.file",
                    expected=f"at most {self.capacity:,} bytes of all clients together",
                )
            if self.free < self.reserve + size:
                raise StorageFull(
                    "the disk of this server is full: the file was not stored",
                    field="$.file",
                    expected=f"at least {self.reserve:,} bytes that stay free",
                )
            self._arriving += size

    def settle(self, size: int, stored: int) -> None:
        """End an arrival: of the ``size`` bytes that it took, ``stored`` stay."""
        with self._lock:
            self._arriving -= size
            self._stored += stored

    def _recount(self) -> None:
        if time.monotonic() - self._counted > RECOUNT_SECONDS:
            self._stored, self._counted = self._count(), time.monotonic()

    def _count(self) -> int:
        with os.scandir(self._directory) as entries:
            return sum(on_disk(entry.stat().st_size) for entry in entries if self._is_file(entry.name))
