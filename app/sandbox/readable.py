"""Paths that scripts may read: Python, shared libraries, this project's code, CPU information."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
CODE = ("app", "compiler")

_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")
_FACTS = ("/proc/cpuinfo", "/sys/devices/system/cpu")
NULL = "/dev/null"
RANDOM = "/dev/urandom"
"""PyTorch seeds its generators from it, the first one when it is imported."""
DEVICES = (NULL, RANDOM)

_LOADERS = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")
"""What the kernel starts a program of shared libraries by."""


def executables(program: str) -> list[str]:
    """Return the files that a job executes which becomes a program: that and its loader."""
    return [program, *(loader for loader in _LOADERS if os.path.exists(loader))]


def paths(more: Iterable[str] = ()) -> list[str]:
    """Existing paths, these and ``more``, none beneath another; symbolic links are kept as such.

    The Python prefix itself is not among them: it may be ``/usr``.  Only its library directories are.
    """
    scheme = sysconfig.get_paths()
    wanted = {scheme[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    wanted |= {os.path.join(sys.base_prefix, os.path.relpath(scheme["purelib"], sys.prefix))}
    wanted |= {str(PROJECT / name) for name in CODE}
    wanted |= _mapped_libraries()
    wanted |= {*_LIBRARIES, *_FACTS, *more}
    existing = {path for path in wanted if os.path.exists(path)}
    return sorted(path for path in existing if not any(path != other and _beneath(path, other) for other in existing))


def python(module: str) -> list[str]:
    """Command that runs ``main`` of one of our modules, given this project on ``PYTHONPATH``.

    Neither the current directory nor the user's own packages are searched, now or later.
    """
    return [sys.executable, "-P", "-s", "-c", f"from {module} import main; main()"]


def _beneath(path: str, directory: str) -> bool:
    return os.path.realpath(path).startswith(os.path.realpath(directory) + "/")


def _mapped_libraries() -> set[str]:
    """The shared libraries that this process found, such as libpython in an unusual place.

    Inside Python's own prefix their whole directory is added, as others may be loaded from there later.
    """
    with open("/proc/self/maps") as maps:
        libraries = set(re.findall(r"(/\S+/[^/\s]+\.so[.\d]*)$", maps.read(), re.MULTILINE))
    prefixes = sys.prefix, sys.base_prefix
    return {os.path.dirname(f) if any(_beneath(f, prefix) for prefix in prefixes) else f for f in libraries}
