"""A cost model: gradient boosting over decision stumps."""

from __future__ import annotations

import numpy as np

from compiler.runtime.numpy_types import NumPyArray

Numbers = NumPyArray


class BoostedTrees:
    """Predicts a number from features: the sum of many trees, each of which corrects what those before left over.

    References
    ----------
    J. Friedman, "Greedy Function Approximation: A Gradient Boosting Machine", Annals of Statistics 29, 2001.
    """

    def __init__(self, rounds: int = 80, rate: float = 0.2) -> None:
        self._rounds = rounds
        self._rate = rate
        self._mean = 0.0
        self._trees: list[tuple[int, float, float, float]] = []

    def fit(self, features: Numbers, values: Numbers) -> None:
        """Learn from examples, instead of what was learnt before."""
        self._mean = float(values.mean())
        self._trees = []
        left = values - self._mean
        for _ in range(self._rounds):
            tree = _best_decision(features, left)
            if tree is None:
                return
            column, threshold, low, high = tree
            self._trees.append((column, threshold, low * self._rate, high * self._rate))
            left = left - self._rate * np.where(features[:, column] <= threshold, low, high)

    def predict(self, features: Numbers) -> Numbers:
        """Return what is expected."""
        predicted = np.full(len(features), self._mean)
        for column, threshold, low, high in self._trees:
            predicted += np.where(features[:, column] <= threshold, low, high)
        return predicted


def _best_decision(features: Numbers, left: Numbers) -> tuple[int, float, float, float] | None:
    """Return column, threshold and both means of the split after which the squares of what is left sum up to least."""
    best, chosen = float(len(left) * left.mean() ** 2) + 1e-12, None
    for column in range(features.shape[1]):
        order = np.argsort(features[:, column], kind="stable")
        ordered, sums = features[order, column], np.cumsum(left[order])
        ends = np.flatnonzero(ordered[:-1] != ordered[1:])
        if not len(ends):
            continue
        below, total = ends + 1, len(left)
        gains = sums[ends] ** 2 / below + (sums[-1] - sums[ends]) ** 2 / (total - below)
        at = int(gains.argmax())
        if gains[at] > best:
            best, end, count = float(gains[at]), ends[at], int(below[at])
            threshold = float(ordered[end] + ordered[end + 1]) / 2
            chosen = (column, threshold, sums[end] / count, (sums[-1] - sums[end]) / (total - count))
    return chosen
