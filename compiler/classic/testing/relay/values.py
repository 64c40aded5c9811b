"""Random arguments of graphs."""

from __future__ import annotations

import numpy as np

from compiler.ir.error import ArgumentError
from compiler.relay.ty import TensorType, Type
from compiler.runtime.arrays.ndarray import NDArray, array


def rand(dtype: str, *shape: int) -> NDArray:
    """Return an array of random numbers: floats from [0, 1), integers are 0."""
    return array(np.random.rand(*shape).astype(dtype))


def _np_randn_from_type(t: Type, scale: float = 1, mean: float = 0) -> np.ndarray:
    """Return normally distributed numbers in an array of a type."""
    if not isinstance(t, TensorType) or any(not isinstance(d, int) for d in t.dims):
        raise ArgumentError(f"an argument needs a tensor type of constant extents, got {t}")
    shape = tuple(int(d) for d in t.dims if isinstance(d, int))
    return (mean + scale * np.random.randn(*shape)).astype(t.dtype)
