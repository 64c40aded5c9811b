"""Statistics of a model's weights: range, zeros, histogram."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from app.artifacts import HEIGHTS, Weight
from app.recorder.printing import Memo
from compiler.runtime.arrays.ndarray import NDArray

BARS = 32
"""Of a histogram."""
MAX_SAMPLE = 1 << 16
"""Values of a weight that shares and histogram are made of; of larger ones every so many-th is taken."""


class Weights:
    """Sums up weights, each once: passes hand them on unchanged."""

    def __init__(self) -> None:
        self._made: Memo[Weight | None] = Memo()

    def of(self, data: NDArray, name: str, kind: str) -> Weight | None:
        """Return the figures of a constant's data; None for one without several numbers.

        Parameters
        ----------
        name : str
            Of the input that it is.
        kind : str
            Its type, in words.
        """
        made = self._made.make(data, lambda: summarised(data.view(), kind))
        return made if made is None or made.name == name else msgspec.structs.replace(made, name=name)


def summarised(values: npt.NDArray[Any], kind: str) -> Weight | None:
    """Return the figures of an array; None if it has less than two numbers.

    Parameters
    ----------
    values : numpy.ndarray
        Of any shape and data type.
    kind : str
        Its type, in words.
    """
    if values.size < 2 or (values.dtype.kind not in "biuf" and not values.dtype.name.startswith(("bfloat", "float8"))):
        return None
    flat = values.reshape(-1)
    sample = flat[:: -(-flat.size // MAX_SAMPLE)].astype("float64")
    finite = sample[np.isfinite(sample)]
    if not finite.size:
        return Weight(name="", type=kind, minimum=0.0, maximum=0.0, unusual=1.0)
    low, high = float(flat.min()), float(flat.max())
    if not np.isfinite([low, high]).all():
        low, high = float(finite.min()), float(finite.max())
    bars, _ = np.histogram(finite, bins=BARS, range=(low, high) if low < high else (low - 0.5, high + 0.5))
    heights = -(-bars * (len(HEIGHTS) - 1) // bars.max())
    return Weight(
        name="",
        type=kind,
        minimum=low,
        maximum=high,
        mean=float(finite.mean()),
        zeros=float(np.mean(sample == 0)),
        unusual=1 - finite.size / sample.size,
        histogram="".join(HEIGHTS[height] for height in heights),
        sampled=sample.size < flat.size,
    )
