"""The scale that minimises the Kullback-Leibler divergence."""

from __future__ import annotations

import numpy as np

from compiler.runtime.numpy_types import NumPyArray

Values = NumPyArray


def find_scale_by_kl(values: Values, num_bins: int = 8001, num_quantized_bins: int = 255) -> float:
    """Return the magnitude at which values are clipped best.

    References
    ----------
    S. Migacz, "8-bit Inference with TensorRT", GTC 2017.
    """
    largest = float(np.abs(values).max(initial=0))
    if largest == 0:
        return 1.0
    histogram, edges = np.histogram(values, bins=num_bins, range=(-largest, largest))
    zero, half = num_bins // 2, num_quantized_bins // 2
    best, threshold = np.inf, largest
    for reach in range(half, zero + 1):
        start, stop = zero - reach, zero + reach + 1
        divergence = _divergence(histogram, start, stop, num_quantized_bins)
        if divergence < best:
            best, threshold = divergence, float(edges[stop])
    return threshold


def _divergence(histogram: Values, start: int, stop: int, levels: int) -> float:
    """Return how much a clipped distribution loses when it is quantized."""
    inside = histogram[start:stop].astype("float64")
    clipped = inside.copy()
    clipped[0] += histogram[:start].sum()
    clipped[-1] += histogram[stop:].sum()
    inside[0] = 0  # the lowest value counts as clipped, as in TVM
    filled = clipped != 0
    width = len(inside) // levels
    starts = np.arange(levels) * width
    sums = np.add.reduceat(inside, starts)
    counts = np.add.reduceat((inside != 0).astype("int64"), starts)
    level = np.minimum(np.arange(len(inside)) // width, levels - 1)
    # A bin that holds nothing but what was clipped takes part in the spreading, but does not count as one of its level.
    spread = np.where(filled, sums[level] / np.maximum(counts[level], 1), 0.0)
    p, q = _smoothed(clipped), _smoothed(spread)
    if p is None or q is None:
        return float("inf")
    p, q = p / p.sum(), q / q.sum()
    return float(np.sum(p * np.log(p / q)))


def _smoothed(distribution: Values, epsilon: float = 1e-4) -> Values | None:
    """Return a distribution without zeros, of the same sum; None if that takes more than there is."""
    zeros = distribution == 0
    others = len(distribution) - int(zeros.sum())
    if not others:
        return None
    taken = epsilon * int(zeros.sum()) / others
    return None if taken >= 1 else np.where(zeros, epsilon, distribution - taken)
