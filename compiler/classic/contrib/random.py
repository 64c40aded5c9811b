"""``tvm.contrib.random``: random tensors drawn by NumPy at run time."""

from __future__ import annotations

from collections.abc import Sequence
from threading import local

import numpy as np

from compiler import te, tir
from compiler.ir.error import ArgumentError
from compiler.runtime.arrays.ndarray import NDArray, numpy_dtype
from compiler.runtime.modules.packed_func import register_func
from compiler.te.definition.tensor import Tensor

_PREFIX = "tvm.contrib.random."


def randint(low: int, high: int, size: Sequence[int], dtype: str = "int32") -> Tensor:
    """Declare a tensor of random integers."""
    if "int" not in dtype:
        raise ArgumentError(f"random.randint: dtype must be one of integers, got {dtype!r}")
    return _drawn("randint", (int(low), int(high)), size, dtype)


def uniform(low: float, high: float, size: Sequence[int]) -> Tensor:
    """Declare a tensor of random numbers that are equally likely."""
    return _drawn("uniform", (float(low), float(high)), size, "float32")


def normal(loc: float, scale: float, size: Sequence[int]) -> Tensor:
    """Declare a tensor of random numbers with a normal distribution."""
    return _drawn("normal", (float(loc), float(scale)), size, "float32")


def _drawn(kind: str, parameters: tuple[float, float], size: Sequence[int], dtype: str) -> Tensor:
    numbers = [tir.const(p, "int32" if kind == "randint" else "float32") for p in parameters]
    result = te.extern(
        tuple(size), [], lambda ins, outs: tir.call_packed(_PREFIX + kind, *numbers, outs[0]), dtype=dtype
    )
    assert isinstance(result, Tensor)
    return result


_PER_THREAD = local()


def _generator() -> np.random.Generator:
    """Return this thread's generator."""
    if not hasattr(_PER_THREAD, "generator"):
        _PER_THREAD.generator = np.random.default_rng()
    generator: np.random.Generator = _PER_THREAD.generator
    return generator


def _seed(seed: int) -> None:
    """Begin the sequence of this thread's random numbers anew."""
    _PER_THREAD.generator = np.random.default_rng(int(seed))


def _register(kind: str) -> None:
    def draw(first: float, second: float, out: NDArray) -> None:
        method = "integers" if kind == "randint" else kind
        out.copyfrom(getattr(_generator(), method)(first, second, out.shape).astype(out.dtype))

    register_func(_PREFIX + kind, draw, override=True)


def _random_fill(out: NDArray) -> None:
    """Fill an array with numbers that no operator makes infinite or undefined: 1 to 10, or any small integers."""
    generator = _generator()
    if out.dtype.startswith(("float", "bfloat")):
        out.copyfrom(generator.uniform(1.0, 10.0, out.shape).astype(numpy_dtype(out.dtype)))
    else:
        integers = generator.integers(0, 2 if out.dtype == "bool" else 100, out.shape)
        out.copyfrom(integers.astype(numpy_dtype(out.dtype)))


register_func(_PREFIX + "seed", _seed, override=True)
for _name in ("random_fill", "random_fill_for_measure"):
    register_func(_PREFIX + _name, _random_fill, override=True)
for _kind in ("randint", "uniform", "normal"):
    _register(_kind)
