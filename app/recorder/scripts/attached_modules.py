"""Modules among the files that are attached to a script: ``import helper`` finds ``helper.py``.

They are read with ``open``, as the script reads its files: some sandboxes let a process open no file and answer from
memory, which Python's own importing does not ask.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType

from app.artifacts import SCRIPT_NAME

_read: set[str] = set()
"""Files whose code was asked for in this process."""


def is_attached(file: str) -> bool:
    """Return whether a file of code is one that is attached."""
    return file in _read


@contextmanager
def attached_modules() -> Iterator[None]:
    """Let modules be found in the working directory while the block runs, after all others."""
    finder = _Finder()
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        file = f"{name}.py"
        if path is not None or file == SCRIPT_NAME or file not in os.listdir("."):
            return None
        return importlib.util.spec_from_file_location(name, file, loader=_Loader(file))


class _Loader(importlib.abc.SourceLoader):
    def __init__(self, file: str) -> None:
        self._file = file
        _read.add(file)

    def get_filename(self, fullname: str) -> str:
        return self._file

    def get_data(self, path: str | bytes) -> bytes:
        with open(path, "rb") as file:
            return file.read()
