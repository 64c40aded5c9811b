"""In-memory attached files, for sandboxes without access to the file system.

``open`` finds them by name, and ``os.listdir`` in the working directory.
"""

from __future__ import annotations

import builtins
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any


def keep(names: Iterable[str]) -> None:
    """Read files of the working directory into memory, and serve them from there for the rest of the process."""
    files = {name: Path(name).read_bytes() for name in names}
    _answer_open(files)
    _answer_listdir(list(files))


def _answer_open(files: Mapping[str, bytes]) -> None:
    usual = builtins.open

    def open_attached(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> IO[Any]:
        content = None if isinstance(file, int) else files.get(os.path.normpath(os.fsdecode(file)))
        if content is None or not set(mode) <= set("rbtU"):
            return usual(file, mode, *args, **kwargs)
        if "b" in mode:
            return io.BytesIO(content)
        named = dict(zip(("buffering", "encoding", "errors", "newline"), args, strict=False)) | kwargs
        return io.TextIOWrapper(
            io.BytesIO(content), named.get("encoding") or "utf-8", named.get("errors"), named.get("newline")
        )

    builtins.open = io.open = open_attached  # type: ignore[assignment]


def _answer_listdir(names: Sequence[str]) -> None:
    usual = os.listdir

    def list_attached(path: Any = ".") -> list[Any]:
        if path is None or (not isinstance(path, int) and os.path.normpath(os.fsdecode(path)) == "."):
            return [os.fsencode(name) if isinstance(path, bytes) else name for name in names]
        return usual(path)

    os.listdir = list_attached
