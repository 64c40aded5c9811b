"""Modules that scripts import, preloaded before children are forked.

Children need not import them again; in the weakest sandbox they could not, as it lets them open no file.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
from collections.abc import Iterator

import compiler

BESIDE_THE_COMPILER = ("numpy.fft", "numpy.linalg", "numpy.random", "numpy.testing", "random", "statistics", "timeit")


EXTRAS = frozenset({"keras", "pytest", "tflite", "torch"})
"""Libraries of optional extras that some compiler modules import."""
NOT_BY_CHILDREN = ("keras", "torch")
"""Those of them that need an environment, folders or memory that children do not have."""


def import_first() -> None:
    """Import what many scripts need, and what children could not import, if it is installed."""
    # Keras would prefer TensorFlow if it is installed, which does not load inside the sandbox.
    os.environ["KERAS_BACKEND"] = "torch"
    installed = (name for name in NOT_BY_CHILDREN if importlib.util.find_spec(name) is not None)
    for name in (*BESIDE_THE_COMPILER, *installed):
        _import(name)


def import_others() -> Iterator[None]:
    """Import ONNX and all modules of the compiler, one by one, except those whose extra is not installed."""
    inside = pkgutil.walk_packages(compiler.__path__, f"{compiler.__name__}.")
    for name in ("onnx", *(module.name for module in inside)):
        if not name.endswith("__main__"):
            _import(name)
            yield


def _import(name: str) -> None:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
