"""Chooses small extents that keep the divisibility of the original ones."""

from __future__ import annotations

from collections.abc import Iterable


def small_sizes(values: Iterable[int], ratio: int) -> dict[int, int]:
    """Return a small number for each of the positive extent and factors of one axis.

    A number is at most ``ratio`` times, 2 or more, as large as the next smaller one, and what was a multiple of that
    stays one; a number that was none keeps a remainder.

    Examples
    --------
    >>> small_sizes([1024, 32], 4)
    {32: 4, 1024: 16}
    >>> small_sizes([1000, 32], 4)
    {32: 4, 1000: 17}
    """
    ordered = sorted(set(values))
    several = sum(value > 1 for value in ordered) > 1
    small: dict[int, int] = {}
    before, size = 1, 1
    for value in ordered:
        quotient, remainder = divmod(value, before)
        largest = ratio if several else 2 * ratio
        made = size * min(quotient, largest)
        if remainder:
            made += min(max(1, round(size * remainder / before)), size - 1) if size > 1 else 1
        before, size = value, made
        small[value] = size
    return small
