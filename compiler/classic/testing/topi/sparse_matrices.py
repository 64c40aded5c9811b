"""Sparse matrices of random blocks: ``tvm.topi.sparse.utils``."""

from __future__ import annotations

from typing import Any

import numpy as np


def random_bsr_matrix(m: int, n: int, bs_r: int, bs_c: int, density: float, dtype: str) -> Any:
    """Return a matrix some of whose blocks have random elements, at least one; ``density`` is their share."""
    from scipy.sparse import bsr_matrix  # type: ignore[import-untyped]  # used by nothing else, and slow to import

    rows, columns = m // bs_r, n // bs_c
    count = int(density * m * n) // (bs_r * bs_c) + 1
    filled = np.zeros(rows * columns, bool)
    filled[np.random.choice(rows * columns, size=count, replace=False)] = True
    blocks = np.random.randn(count, bs_r, bs_c).astype(dtype)
    indptr = np.concatenate([[0], np.cumsum(filled.reshape(rows, columns).sum(axis=1))])
    columns_of_blocks = np.flatnonzero(filled) % columns
    return bsr_matrix((blocks, columns_of_blocks, indptr), shape=(m, n))
