"""Helpers for tests of tensor programs, under TVM's names."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from compiler.ir.structural import assert_structural_equal
from compiler.runtime.arrays.ndarray import NDArray

__all__ = ["assert_allclose", "assert_structural_equal"]


def assert_allclose(
    actual: ArrayLike | NDArray,
    desired: ArrayLike | NDArray,
    rtol: float = 1e-7,
    atol: float = 1e-7,
    verbose: bool = True,
) -> None:
    """Check that two arrays have one shape and that ``|actual - desired| <= atol + rtol * |desired|`` everywhere.

    Raises AssertionError if the shapes or some elements differ; it says how many, and how much, and if ``verbose``
    which.

    Examples
    --------
    >>> tvm.testing.assert_allclose(C.numpy(), A.numpy() @ B.numpy(), rtol=1e-5)
    """
    left, right = (np.asarray(a) for a in (actual, desired))
    np.testing.assert_equal(left.shape, right.shape)
    np.testing.assert_allclose(left, right, rtol=rtol, atol=atol, verbose=verbose)
