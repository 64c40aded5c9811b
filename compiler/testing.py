"""Helpers for tests of tensor programs, under TVM's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ir.structural import assert_structural_equal

__all__ = ["assert_allclose", "assert_structural_equal"]


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7, verbose: bool = True) -> None:
    """Check that two arrays have one shape and that ``|actual - desired| <= atol + rtol * |desired|`` everywhere.

    Parameters
    ----------
    actual, desired : numpy.ndarray, NDArray or array_like

    Raises
    ------
    AssertionError
        Saying how many elements differ, and how much.
    """
    left, right = (np.asarray(a.numpy() if hasattr(a, "numpy") else a) for a in (actual, desired))
    np.testing.assert_equal(left.shape, right.shape)
    np.testing.assert_allclose(left, right, rtol=rtol, atol=atol, verbose=verbose)
