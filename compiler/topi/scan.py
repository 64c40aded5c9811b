"""Cumulative sums and products."""

from __future__ import annotations

import operator

from compiler.te.definition.tensor import Tensor
from compiler.topi.running import scanop

__all__ = ["cumprod", "cumsum"]


def cumsum(data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool = False) -> Tensor:
    """Return the sum of all elements up to each one along an axis, or along all axes as one.

    ``dtype`` is that of ``data`` by default; where ``exclusive``, an element is left out of its own sum.
    """
    return scanop(data, operator.add, 0, "cumsum", axis, dtype, exclusive)


def cumprod(data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool = False) -> Tensor:
    """Return the product of all elements up to each one along an axis, or along all axes as one.

    ``dtype`` is that of ``data`` by default; where ``exclusive``, an element is left out of its own product.
    """
    return scanop(data, operator.mul, 1, "cumprod", axis, dtype, exclusive)
