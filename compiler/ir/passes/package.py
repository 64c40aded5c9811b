"""Pass packages: one file per pass, with exports derived from the files."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from compiler.ir.transform import Pass


def load_passes(package: dict[str, Any]) -> list[str]:
    """Import every module of a package and of its folders, and export the passes that they define.

    ``package`` is its globals.
    """
    passes: dict[str, Any] = {}
    for info in pkgutil.walk_packages(package["__path__"], f"{package['__name__']}."):
        module = importlib.import_module(info.name)
        passes |= {name: value for name, value in vars(module).items() if _is_own_pass(name, value, module.__name__)}
    package.update(passes)
    return sorted(passes)


def _is_own_pass(name: str, value: object, module: str) -> bool:
    if not (isinstance(value, type) and issubclass(value, Pass)) or value.__module__ != module:
        return False
    return "facts" in vars(value) and not name.startswith("_")  # a kind of pass has no facts of its own
