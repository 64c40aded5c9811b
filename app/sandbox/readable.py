"""Paths that scripts may read: Python, shared libraries, this project's code, CPU information."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
"""The folder of this project's packages."""
SEARCHED = str(Path(__file__).resolve().parents[__name__.count(".")])
"""What must be on ``PYTHONPATH`` for this project's modules: it is above their outermost package."""
CODE = ("app", "compiler")

_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")
_FACTS = ("/proc/cpuinfo", "/sys/devices/system/cpu")
NULL = "/dev/null"
RANDOM = "/dev/urandom"
"""PyTorch seeds its generators from it, the first one on import."""
DEVICES = (NULL, RANDOM)

_LOADERS = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")
"""Dynamic loaders, which the kernel needs to execute dynamically linked programs."""


def facts() -> dict[str, str]:
    """Return the variables of this process's environment that say what machine programs find."""
    names = ("STRATA_SIMULATED_MACHINE", "CUDA_HOME", "CUDA_PATH")
    return {name: os.environ[name] for name in names if name in os.environ}


def executables(program: str) -> list[str]:
    """Return the files that must be executable to run a program: the program and its dynamic loader."""
    return [program, *(loader for loader in _LOADERS if os.path.exists(loader))]


def paths(more: Iterable[str] = ()) -> list[str]:
    """Return the existing readable paths and those of ``more``, none below another; symbolic links are not resolved.

    The Python prefix, which may be ``/usr``, is not included as a whole, only its library directories.
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
    """Return the command that runs ``main`` of a module, with this project on ``PYTHONPATH``.

    Neither the current directory nor the user's site-packages are on the search path.
    """
    return [sys.executable, "-P", "-s", "-c", f"from {module} import main; main()"]


def _beneath(path: str, directory: str) -> bool:
    return os.path.realpath(path).startswith(os.path.realpath(directory) + "/")


def _mapped_libraries() -> set[str]:
    """Return the shared libraries that this process mapped, such as libpython in an unusual place.

    For those within Python's prefix, the whole directory is returned, as others may be loaded from there later.
    """
    with open("/proc/self/maps", encoding="utf-8") as maps:
        libraries = set(re.findall(r"(/\S+/[^/\s]+\.so[.\d]*)$", maps.read(), re.MULTILINE))
    prefixes = sys.prefix, sys.base_prefix
    return {os.path.dirname(f) if any(_beneath(f, prefix) for prefix in prefixes) else f for f in libraries}
