"""Strassen's algorithm: the quarters of two matrices of which seven products make the quarters of their product.

References
----------
V. Strassen, "Gaussian elimination is not optimal", Numerische Mathematik 13, 1969.
"""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from compiler.arith.minimal_filtering import Matrix

PRODUCTS = 7
"""Those of quarters; of their quarters there are the square of it."""
_LEFT = ((1, 0, 0, 1), (0, 0, 1, 1), (1, 0, 0, 0), (0, 0, 0, 1), (1, 1, 0, 0), (-1, 0, 1, 0), (0, 1, 0, -1))
_RIGHT = ((1, 0, 0, 1), (1, 0, 0, 0), (0, 1, 0, -1), (-1, 0, 1, 0), (0, 0, 0, 1), (1, 1, 0, 0), (0, 0, 1, 1))
_RESULT = ((1, 0, 0, 1), (0, 0, 1, -1), (0, 1, 0, 1), (1, 0, 1, 0), (-1, 1, 0, 0), (0, 0, 0, 1), (1, 0, 0, 0))


def factors(products: int = PRODUCTS) -> tuple[Matrix, Matrix, Matrix]:
    """Return by what the quarters of both matrices are multiplied before, and the products after: ``(products, q, q)``.

    ``products`` is a power of :data:`PRODUCTS`, ``q`` the same power of 2.
    """
    times = round(math.log(products, PRODUCTS))
    own = [np.array(rows, "float64").reshape(PRODUCTS, 2, 2) for rows in (_LEFT, _RIGHT, _RESULT)]
    left, right, result = (reduce(np.kron, [matrix] * times) for matrix in own)
    return left, right, result
