"""Formats the results of a run."""

from __future__ import annotations

import numpy as np

from compiler.classic.tvmc.model import TVMCResult
from compiler.runtime.numpy_types import NumPyArray


def get_top_results(result: TVMCResult, max_results: int) -> NumPyArray:
    """Return the largest numbers of the first output."""
    values = np.asarray(result.outputs["output_0"])
    order = np.argsort(values, axis=None)[::-1][:max_results]
    return np.vstack([order, values.ravel()[order]])
