"""Modules that scripts import, preloaded before children are forked.

None of them has to find and read the files again, and the weakest sandbox lets them open no file at all.
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


EXTRAS = frozenset({"keras", "tflite", "torch"})
"""Libraries of optional extras that some modules of the compiler import."""


def import_all() -> None:
    """Import them, and every module of the compiler, but for those whose extra is not installed."""
    # Where TensorFlow is installed too, Keras would choose it, and TensorFlow does not load inside the sandbox.
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
