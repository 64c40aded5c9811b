"""LLVM through llvmlite, which is imported when machine code is first made.

Where llvmlite is not installed, expressions, schedules, graphs and source code for other compilers work all the same.
"""

from __future__ import annotations

import importlib
import threading
from functools import cache
from typing import TYPE_CHECKING, Any

from compiler.ir.error import UnavailableError
from compiler.runtime.parallel.forks import hold_while_forking

__all__ = ["binding", "has_llvm", "require_llvm"]


@cache
def require_llvm() -> Any:
    """Return ``llvmlite.binding``.

    Raises UnavailableError if llvmlite is not installed.
    """
    try:
        loaded: Any = importlib.import_module("llvmlite.binding")
    except ImportError as error:
        raise UnavailableError(
            f"machine code is made by LLVM through llvmlite, which cannot be imported: {error}; pip install llvmlite"
        ) from None
    _LOCK.of_llvm = loaded.ffi.lib._lock
    return loaded


def has_llvm() -> bool:
    """Return whether llvmlite can be imported."""
    try:
        require_llvm()
    except UnavailableError:
        return False
    return True


class _Lock:
    """The lock of all of llvmlite, from its import on: another thread may be compiling."""

    def __init__(self) -> None:
        self.of_llvm: object = None
        self._held = threading.local()

    def __enter__(self) -> None:
        self._held.lock = self.of_llvm
        if self._held.lock is not None:
            self._held.lock.__enter__()

    def __exit__(self, *exc: object) -> None:
        if self._held.lock is not None:
            self._held.lock.__exit__(*exc)


_LOCK = _Lock()
hold_while_forking(_LOCK)  # before the locks of those who make code: the last one is taken first


class _LoadedWhenUsed:
    def __getattr__(self, name: str) -> Any:
        return getattr(require_llvm(), name)


if TYPE_CHECKING:
    from llvmlite import binding
else:
    binding = _LoadedWhenUsed()  # each use is one of `require_llvm`
