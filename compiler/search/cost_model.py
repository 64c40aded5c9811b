"""What a search expects of candidates before it measures them.

A row is the features of a program, the group its workload: seconds are compared within a group only, so that rows of
other workloads teach which features make a program fast, whatever it computes.  Boosted trees that learn the order
(LambdaRank) need some dozen rows, and LightGBM; with fewer, or without it, the model is a line through the features
that begins at the estimate that they contain and is bent by what was measured.

References
----------
C. Burges, "From RankNet to LambdaRank to LambdaMART: An Overview", Microsoft Research MSR-TR-2010-82, 2010.
G. Ke et al., "LightGBM: A Highly Efficient Gradient Boosting Decision Tree", NeurIPS 2017.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from compiler.ir.error import ArgumentError
from compiler.runtime.numpy_types import NumPyArray
from compiler.search.features import NAMES

Row = Sequence[float]
_ESTIMATE = NAMES.index("estimate")
_ROWS_FOR_TREES = 32
_GRADES = 31
_PARAMETERS = {
    "objective": "lambdarank", "lambdarank_truncation_level": 1000, "label_gain": list(range(_GRADES + 1)),
    "learning_rate": 0.1, "num_leaves": 15, "min_data_in_leaf": 4, "feature_fraction": 0.8, "num_threads": 1,
    "deterministic": True, "seed": 0, "verbosity": -1,
}  # fmt: skip
_ROUNDS = 80
_STIFFNESS = 256.0
"""How much the estimate is trusted by the line: so much measured, in doublings squared, weighs as much."""


class CostModel(Protocol):
    """Predicts which candidates are slow."""

    def update(self, group: str, rows: Sequence[Row], seconds: Sequence[float]) -> None:
        """Take notice of measured candidates; infinite seconds are those of one that failed."""

    def predict(self, rows: Sequence[Row]) -> list[float]:
        """Return a number for each candidate, the smaller the faster."""


@dataclass
class LearnedModel:
    """Boosted trees over features, a line until there is enough to grow them."""

    rows: dict[str, list[tuple[Row, float]]] = field(default_factory=dict)
    """What was measured, by groups."""
    _fitted: Any = None

    def update(self, group: str, rows: Sequence[Row], seconds: Sequence[float]) -> None:
        """Take notice of measured candidates."""
        self.rows.setdefault(group, []).extend(zip(rows, seconds, strict=True))
        self._fitted = None

    def predict(self, rows: Sequence[Row]) -> list[float]:
        """Return a number for each candidate, the smaller the faster."""
        if not rows:
            return []
        self._fitted = self._fitted or self._fit()
        predicted: list[float] = self._fitted.predict(np.array(rows)).tolist()
        return predicted

    def save(self, path: str) -> None:
        """Write what was measured to a file."""
        Path(path).write_text(json.dumps(self.rows), encoding="utf-8")

    def load(self, path: str) -> None:
        """Learn from what :meth:`save` wrote, instead of what was measured.

        Raises ArgumentError if a file is not one, or has rows of other features.
        """
        try:
            rows: dict[str, list[tuple[Row, float]]] = {
                group: [([float(x) for x in row], float(seconds)) for row, seconds in of]
                for group, of in json.loads(Path(path).read_text(encoding="utf-8")).items()
            }
            if any(len(row) != len(NAMES) for of in rows.values() for row, _ in of):
                raise ValueError(f"its rows have not the {len(NAMES)} features of this search")
        except (OSError, ValueError, TypeError, AttributeError) as failed:
            raise ArgumentError(f"the cost model {path!r} cannot be read: {failed}") from None
        self.rows, self._fitted = rows, None

    def _fit(self) -> Any:
        groups = [group for group in self.rows.values() if len(group) > 1]
        trees = _lightgbm()
        if trees is None or sum(map(len, groups)) < _ROWS_FOR_TREES:
            return _Line(groups)
        features = np.array([row for group in groups for row, _ in group])
        labels = np.concatenate([_grades(np.array([seconds for _, seconds in group])) for group in groups])
        data = trees.Dataset(features, labels, group=[len(group) for group in groups])
        return _Trees(trees.train(_PARAMETERS, data, _ROUNDS), _Line(groups))


class _Line:
    """A linear model of the logarithms of seconds: the estimate, corrected by least squares with a penalty.

    Features are logarithms, and are taken as they are: in terms of how they varied in a few rows, others are far away.
    """

    def __init__(self, groups: Sequence[Sequence[tuple[Row, float]]]) -> None:
        self._weights = np.zeros(len(NAMES))
        self._weights[_ESTIMATE] = 1.0
        features, targets = [], []
        for group in groups:
            known = [(row, seconds) for row, seconds in group if np.isfinite(seconds)]
            if len(known) > 1:
                rows, logs = np.array([row for row, _ in known]), np.log2([seconds for _, seconds in known])
                features.append(rows - rows.mean(0))
                targets.append(logs - logs.mean())
        if features:
            x, y = np.concatenate(features), np.concatenate(targets)
            normal = x.T @ x + _STIFFNESS * np.eye(len(NAMES))
            self._weights += np.linalg.solve(normal, x.T @ (y - x @ self._weights))

    def predict(self, rows: NumPyArray) -> NumPyArray:
        made: NumPyArray = rows @ self._weights
        return made


@dataclass
class _Trees:
    """Boosted trees and a line, which errs less far from what was measured, in equal shares."""

    booster: Any
    line: _Line

    def predict(self, rows: NumPyArray) -> NumPyArray:
        return _standard(self.line.predict(rows)) - _standard(self.booster.predict(rows))


def _standard(values: NumPyArray) -> NumPyArray:
    made: NumPyArray = (values - values.mean()) / (values.std() + 1e-9)
    return made


def _grades(seconds: NumPyArray) -> NumPyArray:
    """Return whole numbers: 31 for the fastest, 4 less with each doubling of the time, 0 for those that failed."""
    finite = np.isfinite(seconds)
    if not finite.any():
        return np.zeros(len(seconds))
    doublings = np.log2(np.where(finite, seconds, seconds[finite].min()) / seconds[finite].min())
    grades: NumPyArray = np.where(finite, np.maximum(np.floor(_GRADES - 4 * doublings), 1), 0)
    return grades


@cache
def _lightgbm() -> Any:
    """Return LightGBM; None where it is not installed."""
    try:
        return importlib.import_module("lightgbm")
    except (ImportError, OSError):  # OSError: it needs libgomp
        return None


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Spearman's rank correlation of two lists, ties by their order; NaN of fewer than two values."""
    if len(first) < 2:
        return float("nan")
    a, b = (np.argsort(np.argsort(values, kind="stable"), kind="stable") for values in (first, second))
    count = len(first)
    return 1 - 6 * int(((a - b) ** 2).sum()) / (count * (count**2 - 1))
