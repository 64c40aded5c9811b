"""The functions of hybrid script when a script runs as plain Python on NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from compiler.classic.te.hybrid.words import max_num_threads
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import PrimExpr
from compiler.runtime.numpy_types import NumPyArray
from compiler.te.definition.tensor import Tensor


def _loop(low: int, high: int | None = None) -> range:
    """Return the values of a loop's variable, however the loop is carried out."""
    return range(low) if high is None else range(low, high)


def bind(tag: str, extent: int) -> range:
    """Return the values of a loop whose iterations are threads."""
    return range(extent)


def allocate(shape: tuple[int, ...], dtype: str = "float32", scope: str = "global") -> NumPyArray:
    """Return a new array of zeros."""
    return np.zeros(shape, dtype)


def _popcount(x: int | np.integer[Any]) -> int:
    """Return how many bits of an integer are set, those of its data type for a negative one."""
    bits = np.asarray(x).dtype.itemsize * 8
    return (int(x) & ((1 << bits) - 1)).bit_count()


def _ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def _sigmoid(x: np.floating[Any]) -> object:
    return 1 / (1 + np.exp(-x))


HYBRID_GLOBALS: dict[str, object] = {
    **dict.fromkeys(("unroll", "vectorize", "parallel", "const_range"), _loop),
    "bind": bind,
    "allocate": allocate,
    "output_tensor": allocate,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "log": np.log,
    "tanh": np.tanh,
    "power": np.power,
    "exp": np.exp,
    "sigmoid": _sigmoid,
    "popcount": _popcount,
    "round": np.round,
    "likely": lambda condition: condition,
    **{f"{kind}{bits}": getattr(np, f"{kind}{bits}") for kind in ("uint", "int") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": getattr(np, f"float{bits}") for bits in (16, 32, 64)},
    "ceil_div": _ceil_div,
    "max_num_threads": max_num_threads,
    "inf": math.inf,
    "ninf": -math.inf,
}
"""What the words of hybrid scripts stand for in Python."""


def run_as_python(function: Callable[..., object], *args: object) -> object:
    """Run a hybrid script as it is written."""
    assert isinstance(function, FunctionType)
    names = {**function.__globals__, **HYBRID_GLOBALS}
    runnable = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    return runnable(*args)


def describes_operation(args: Sequence[object]) -> bool:
    """Return whether a script that is called so is read, and not run."""
    symbolic = any(_is_symbolic(a) for a in args)
    arrays = [a for a in args if isinstance(a, np.ndarray)]
    if symbolic and arrays:
        raise ArgumentError("hybrid script: the arguments must be tensors or NumPy arrays, got both")
    return symbolic


def _is_symbolic(value: object) -> bool:
    if isinstance(value, (tuple, list)):
        return any(_is_symbolic(v) for v in value)
    return isinstance(value, (Tensor, PrimExpr))
