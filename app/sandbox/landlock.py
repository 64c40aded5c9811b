"""Landlock: file system access rights enforced by the kernel."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable

from app.sandbox import syscalls

EXECUTE = 1 << 0
WRITE_FILE = 1 << 1
READ_FILE = 1 << 2
READ_DIRECTORY = 1 << 3
REMOVE_DIRECTORY = 1 << 4
REMOVE_FILE = 1 << 5
MAKE_DIRECTORY = 1 << 7
MAKE_REGULAR = 1 << 8
REFER = 1 << 13
TRUNCATE = 1 << 14

READ = READ_FILE | READ_DIRECTORY
WRITE = WRITE_FILE | REMOVE_DIRECTORY | REMOVE_FILE | MAKE_DIRECTORY | MAKE_REGULAR | REFER | TRUNCATE
ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
"""The access rights that apply to non-directories."""

_FILE_RIGHTS_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_TCP_RIGHTS = 0b11
"""Bind and connect; since ABI 4."""
_SCOPES = 0b11
"""Abstract Unix sockets and signals to processes outside; since ABI 6."""

_GET_VERSION = 1
_RULE_PATH_BENEATH = 1


class _Ruleset(ctypes.Structure):
    _fields_ = [("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _PathBeneath(ctypes.Structure):
    _layout_ = "ms"  # which is what packing means
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def abi() -> int:
    """Return the Landlock ABI version of this kernel; 0 if it has none."""
    try:
        return syscalls.call("landlock_create_ruleset", None, 0, _GET_VERSION)
    except OSError:
        return 0


def restrict(read: Iterable[str], write: Iterable[str], execute: Iterable[str] = ()) -> None:
    """Irrevocably restrict this thread and its descendants to the given paths and everything below them.

    The process must be single-threaded and have ``no_new_privs`` set.

    Raises
    ------
    OSError
        If the kernel refuses.
    """
    version = abi()
    handled = _FILE_RIGHTS_BY_ABI[min(version, max(_FILE_RIGHTS_BY_ABI))]
    ruleset = _Ruleset(handled, _TCP_RIGHTS if version >= 4 else 0, _SCOPES if version >= 6 else 0)
    size = 8 if version < 4 else 16 if version < 6 else 24
    fd = syscalls.call("landlock_create_ruleset", ruleset, size, 0)
    try:
        for paths, rights in ((read, READ), (write, READ | WRITE), (execute, READ_FILE | EXECUTE)):
            for path in paths:
                _add(fd, path, rights & handled)
        syscalls.call("landlock_restrict_self", fd, 0)
    finally:
        os.close(fd)


def _add(ruleset: int, path: str, rights: int) -> None:
    parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rights = rights if os.path.isdir(path) else rights & ON_FILES
        syscalls.call("landlock_add_rule", ruleset, _RULE_PATH_BENEATH, _PathBeneath(rights, parent), 0)
    finally:
        os.close(parent)
