"""``tvm.rpc.LocalSession``: a session in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from compiler.classic.contrib.utils import tempdir
from compiler.ir.error import ArgumentError
from compiler.runtime.device import Device
from compiler.runtime.device import cpu as cpu_device
from compiler.runtime.device import device as as_device
from compiler.runtime.modules.library import load_module, system_lib
from compiler.runtime.modules.module import Module
from compiler.runtime.modules.packed_func import get_global_func
from compiler.runtime.rpc.client import content_of


class LocalSession:
    """A session in this process, with a folder of its own for the files that are sent to it."""

    def __init__(self) -> None:
        self._folder = tempdir()

    def upload(self, data: bytearray | bytes | str | Path, target: str | None = None) -> None:
        """Put content, or a file at a path, into the session's folder, under its own name by default.

        Raises ArgumentError if content has no name, or the file cannot be read.
        """
        name, content = content_of(data, target)
        self._path(name).write_bytes(content)

    def download(self, path: str) -> bytearray:
        """Return what a file of the session contains."""
        return bytearray(self._existing(path).read_bytes())

    def remove(self, path: str) -> None:
        """Remove a file of the session."""
        self._existing(path).unlink()

    def listdir(self, path: str) -> list[str]:
        """Return the names of the files of a folder, ``.`` for the session's own."""
        return sorted(entry.name for entry in self._path(path).iterdir())

    def load_module(self, path: str) -> Any:
        """Return what a library contains that was sent to the session."""
        return load_module(self._existing(path))

    def system_lib(self) -> Module:
        """Return the functions of the libraries in this process; see :func:`tvm.runtime.system_lib`."""
        return system_lib()

    def get_function(self, name: str) -> Callable[..., Any]:
        """Return a function that is registered under a name."""
        function = get_global_func(name)
        assert function is not None
        return function

    def device(self, dev_type: str | int, dev_id: int = 0) -> Device:
        """Return a device of this machine."""
        return as_device(dev_type, dev_id)

    def cpu(self, dev_id: int = 0) -> Device:
        """Return the CPU."""
        return cpu_device(dev_id)

    def _path(self, name: str) -> Path:
        return Path(self._folder.relpath(name))

    def _existing(self, name: str) -> Path:
        path = self._path(name)
        if not path.is_file():
            raise ArgumentError(f"LocalSession: there is no file {name!r}")
        return path
