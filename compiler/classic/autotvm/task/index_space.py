"""The indices of configuration spaces."""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from compiler.ir.error import ArgumentError

MAX_STEPS = 100
"""How many random changes :meth:`IndexSpace.random_walk` tries before it gives up."""


class IndexSpace(ABC):
    """Indices of configurations: mixed-radix numbers whose digits select the values of the knobs.

    A filter may exclude some of the configurations; their indices are then invalid.
    """

    def __init__(self) -> None:
        self._filter: Callable[[Any], bool] | None = None
        self._valid: list[int] | None = None

    @property
    @abstractmethod
    def dims(self) -> list[int]:
        """The number of values of each knob."""

    @abstractmethod
    def _entity(self, index: int) -> object:
        """Return the configuration with an index, which the filter takes."""

    @property
    def range_length(self) -> int:
        """The number of configurations, including those that the filter excludes."""
        return math.prod(self.dims)

    def __len__(self) -> int:
        return self.range_length if self._filter is None else len(self._indices())

    def clear_cache(self) -> None:
        """Forget the filter's results, for a filter whose criterion has changed."""
        self._valid = None

    def _indices(self) -> list[int]:
        """Return the valid indices in ascending order."""
        if self._filter is None:
            return list(range(self.range_length))
        if self._valid is None:
            self._valid = [i for i in range(self.range_length) if self._filter(self._entity(i))]
        return self._valid

    def is_index_valid(self, index: int) -> bool:
        """Return whether an index is in range and passes the filter."""
        if not 0 <= index < self.range_length:
            return False
        return self._filter is None or _position(self._indices(), index) is not None

    def subrange_length(self, start: int, end: int) -> int:
        """Return the number of valid indices in a range."""
        if not 0 <= start <= end <= self.range_length:
            raise ArgumentError(
                f"subrange_length: {start} to {end} is outside of the {self.range_length} configurations"
            )
        if self._filter is None:
            return end - start
        return bisect_left(self._indices(), end) - bisect_left(self._indices(), start)

    def get_next_index(self, index: int, n: int = 1, start: int | None = None, end: int | None = None) -> int | None:
        """Step through the valid indices, backwards for negative ``n``; None if the result is outside of the range."""
        indices = self._indices()
        first = bisect_left(indices, index) + (0 if self.is_index_valid(index) or n < 0 else -1)
        place = first + n
        low, high = start or 0, self.range_length if end is None else end
        return indices[place] if 0 <= place < len(indices) and low <= indices[place] < high else None

    def get_rand_index(
        self, start: int | None = None, end: int | None = None, to_exclude: Sequence[int] | None = None
    ) -> int:
        """Return a random valid index."""
        low, high = start or 0, self.range_length if end is None else end
        excluded = set(to_exclude or ())
        if self._filter is None and not excluded:
            return random.randrange(low, high)
        return random.choice([i for i in self._indices() if low <= i < high and i not in excluded])

    def sample_ints(self, m: int) -> npt.NDArray[np.int64]:
        """Sample distinct valid indices."""
        if m > len(self):
            raise ArgumentError(f"sample_ints: the space has {len(self)} configurations, not {m}")
        return np.array(random.sample(self._indices(), m), "int64")

    def random_walk(self, point: int) -> int:
        """Return a valid index that differs in one knob, chosen at random."""
        for _ in range(MAX_STEPS if len(self) > 1 else 0):
            knob = self.point2knob(point)
            changed = random.randrange(len(knob))
            knob[changed] = random.randrange(self.dims[changed])
            walked = self.knob2point(knob)
            if walked != point and self.is_index_valid(walked):
                return walked
        return point

    def point2knob(self, point: int) -> list[int]:
        """Split an index into the positions of the knobs' values; the first knob varies fastest."""
        values = []
        for size in self.dims:
            point, value = divmod(point, size)
            values.append(value)
        return values

    def knob2point(self, knob: Sequence[int]) -> int:
        """Combine the positions of the knobs' values into an index."""
        point = 0
        for value, size in zip(reversed(knob), reversed(self.dims), strict=True):
            point = point * size + value
        return point


def _position(indices: Sequence[int], index: int) -> int | None:
    place = bisect_left(indices, index)
    return place if place < len(indices) and indices[place] == index else None
