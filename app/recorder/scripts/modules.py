"""Modules that scripts import, preloaded before children are forked.

Children need not import them again; in the weakest sandbox they could not, as it lets them open no file.
"""

from __future__ import annotations

import importlib
import os
import pkgutil

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


EXTRAS = frozenset({"keras", "pytest", "tflite", "torch"})
"""Libraries of optional extras that some compiler modules import."""


def import_all() -> None:
    """Import these and all compiler modules, except those whose extra is not installed."""
    # Keras would prefer TensorFlow if it is installed, which does not load inside the sandbox.
    os.environ["KERAS_BACKEND"] = "torch"
    inside = pkgutil.walk_packages(compiler.__path__, f"{compiler.__name__}.")
    for name in (*BESIDE_THE_COMPILER, *(module.name for module in inside)):
        if not name.endswith("__main__"):
            _import(name)


def _import(name: str) -> None:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
