"""``tvm.contrib.utils``: temporary files and file names."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from itertools import count
from pathlib import Path
from typing import ClassVar

from compiler.ir.error import ArgumentError

_SOURCES = (".cc", ".cpp", ".c", ".cu", ".cl", ".ll", ".s", ".py")


class TempDirectory:
    """A folder for temporary files, removed with the object, or at the end of a ``with`` block.

    ``custom_path`` is a folder to be used instead, which must not exist yet. ``TEMPDIRS`` has those that will be
    removed.
    """

    TEMPDIRS: ClassVar[set[str]] = set()
    _KEEP_FOR_DEBUG: ClassVar[bool] = False
    _kept: ClassVar[Iterator[int]] = count()

    @classmethod
    @contextmanager
    def set_keep_for_debug(cls, set_to: bool = True) -> Iterator[None]:
        """Leave the folders that are made within a ``with`` statement where they are, or remove them nevertheless.

        Those of a process are numbered in a folder, which is named by the time.
        """
        before = cls._KEEP_FOR_DEBUG
        cls._KEEP_FOR_DEBUG = set_to
        try:
            yield
        finally:
            cls._KEEP_FOR_DEBUG = before

    def __init__(self, custom_path: str | Path | None = None, keep_for_debug: bool = False) -> None:
        self._keep = keep_for_debug or self._KEEP_FOR_DEBUG
        if custom_path is None and self._keep:
            self.path = _debug_parent() / f"{next(self._kept):05d}"
            self.path.mkdir()
        elif custom_path is None:
            self.path = Path(tempfile.mkdtemp(prefix="tvm-"))
        else:
            self.path = Path(custom_path)
            if self.path.exists():
                raise ArgumentError(f"TempDirectory: {self.path} exists")
            self.path.mkdir(parents=True)
        if not self._keep:
            self.TEMPDIRS.add(self.temp_dir)

    @property
    def temp_dir(self) -> str:
        """The path of the folder."""
        return str(self.path)

    def remove(self) -> None:
        """Remove the folder and all that is in it."""
        if not self._keep:
            shutil.rmtree(self.path, ignore_errors=True)
            self.TEMPDIRS.discard(self.temp_dir)

    def relpath(self, name: str) -> str:
        """Return the path of a file in the folder."""
        return str(self.path / name)

    def listdir(self) -> list[str]:
        """Return the names of the files in the folder."""
        return os.listdir(self.path)

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def __enter__(self) -> TempDirectory:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()

    def __del__(self) -> None:
        if hasattr(self, "path"):
            self.remove()


@cache
def _debug_parent() -> Path:
    """Return the folder of this process for those that are kept, whose name begins with the time."""
    parent = Path(tempfile.gettempdir(), "tvm-debug-mode-tempdirs")
    parent.mkdir(exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"{datetime.now():%Y-%m-%dT%H-%M-%S}___", dir=parent))


def tempdir(custom_path: str | Path | None = None, keep_for_debug: bool = False) -> TempDirectory:
    """Return a folder for temporary files, as :class:`TempDirectory` is.

    Examples
    --------
    >>> temp = tvm.contrib.utils.tempdir()
    >>> lib.save(temp.relpath("lib.o"))
    """
    return TempDirectory(custom_path, keep_for_debug)


def is_source_path(path: str) -> bool:
    """Return whether a path names a file of source code."""
    return os.path.splitext(path)[1] in _SOURCES


def which(exec_name: str) -> str | None:
    """Return the path of a program that can be run, or None."""
    return shutil.which(exec_name)
