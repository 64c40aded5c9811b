"""The modules that scripts import, imported before children are forked.

None of them has to find and read the files again, and the weakest sandbox lets them open no file at all.
"""

from __future__ import annotations

import importlib
import pkgutil
from importlib.util import find_spec

import compiler

BESIDE_THE_COMPILER = (
    "numpy.fft",
    "numpy.linalg",
    "numpy.random",
    "numpy.testing",
    "onnx",
    "random",
    "statistics",
    "timeit",
)


EXTRAS = {"compiler.relay.frontend.pytorch.": "torch"}
"""The library of an optional extra that modules import, by the beginning of their names."""


def import_all() -> None:
    """Import them, and every module of the compiler whose libraries are installed."""
    inside = pkgutil.walk_packages(compiler.__path__, f"{compiler.__name__}.")
    for name in (*BESIDE_THE_COMPILER, *(module.name for module in inside)):
        if not name.endswith("__main__") and _is_installed(name):
            importlib.import_module(name)


def _is_installed(name: str) -> bool:
    """Whether the libraries are there that a module imports."""
    return all(find_spec(library) for prefix, library in EXTRAS.items() if name.startswith(prefix))
