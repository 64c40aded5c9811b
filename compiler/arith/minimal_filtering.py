"""Winograd's minimal filtering: the matrices by which tiles, windows and results are transformed.

A tile of ``m`` outputs of a window of ``r`` elements needs ``m + r - 1`` multiplications: those of the values that the
data's tile and the window, as polynomials, take at as many points.

References
----------
A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016, section 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from compiler.ir.dtype import is_float
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import PrimExpr, Select, const

_POINTS = (0.0, -1.0, 1.0, 0.5, -0.5, 2.0, -2.0, 0.25, -0.25, 4.0, -4.0)
"""Where the polynomials are evaluated, besides infinity; small powers of two lose few digits."""
_POINTS_OF_SIX = (0.0, -1.0, 1.0, 0.5, -2.0)

Matrix = npt.NDArray[np.float64]


def _points(count: int) -> Sequence[float]:
    points = _POINTS_OF_SIX if count == len(_POINTS_OF_SIX) else _POINTS
    if count > len(points):
        raise ArgumentError(f"winograd: tile_size + kernel_size must be at most {len(points) + 2}, got {count + 2}")
    return points[:count]


def transform_arrays(
    tile_size: int, kernel_size: int, points: Sequence[float] | None = None
) -> tuple[Matrix, Matrix, Matrix]:
    """Return the matrices A, B and G of ``y = A^T ((G g) * (B^T d))``, for the usual or the given points.

    A and G have a row for each of the ``tile_size + kernel_size - 1`` points. Raises ArgumentError if there are not as
    many points.
    """
    alpha = tile_size + kernel_size - 1
    points = points or _points(alpha - 1)
    outputs, data, weights = np.zeros((alpha, tile_size)), np.zeros((alpha, alpha)), np.zeros((alpha, kernel_size))
    for i, point in enumerate(points):
        others = [p for j, p in enumerate(points) if j != i]
        norm = float(np.prod([point - p for p in others]))
        sign = -1.0 if point == 0 and norm < 0 else 1.0
        outputs[i] = point ** np.arange(tile_size)
        weights[i] = sign * point ** np.arange(kernel_size) / norm
        data[: alpha - 1, i] = sign * np.poly(others)[::-1]
    data[:, -1] = np.poly(points)[::-1]
    outputs[-1, -1] = weights[-1, -1] = 1
    return outputs, data, weights


def combination(terms: Sequence[PrimExpr], factors: npt.NDArray[np.float64]) -> PrimExpr:
    """Return the sum of products with constants, of those that are not zero."""
    parts = [
        term if factor == 1 else term * const(factor.item() if is_float(term.dtype) else int(factor), term.dtype)
        for term, factor in zip(terms, factors, strict=True)
        if factor
    ]
    result = parts[0]
    for part in parts[1:]:
        result = result + part
    return result


def select(place: PrimExpr, values: Sequence[PrimExpr]) -> PrimExpr:
    """Return the value at a place, of which an unrolled loop leaves the one."""
    result = values[-1]
    for number, value in reversed([*enumerate(values[:-1])]):
        result = Select(place.equal(number), value, result)
    return result
