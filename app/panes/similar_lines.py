"""Pairing of similar lines within a replaced block, by their common words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

MAX_COMPARED = 1_500
"""Pairs of lines that are compared; in larger blocks the first lines belong together, then the second."""
MIN_SHARED = 0.5
"""Fraction of common words below which two lines are unrelated."""

_WORD = re.compile(r"[^\W\d_][^\W_]*")


def paired(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return which lines belong together, by their positions, in ascending order on both sides.

    The lines are aligned as Needleman and Wunsch (1970) align sequences, without a cost of gaps.  The likeness of two
    lines is the share of words in common, where what stands before the first parenthesis, the name of what is called,
    counts as much as the whole line.

    Examples
    --------
    >>> paired(["a = load x", "b = add a"], ["z = 0", "a = load x.0", "b = mul a"])
    [(0, 1), (1, 2)]
    """
    if len(old) * len(new) > MAX_COMPARED:
        return list(zip(range(len(old)), range(len(new)), strict=False))
    likeness = _likeness(old, new)
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], likeness[i][j] + best[i + 1][j + 1])
    pairs = []
    i = j = 0
    while i < len(old) and j < len(new):
        if likeness[i][j] and best[i][j] == likeness[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _likeness(old: Sequence[str], new: Sequence[str]) -> list[list[float]]:
    lines, others = ([(_words(text.partition("(")[0]), _words(text)) for text in side] for side in (old, new))
    return [[_likeness_of(a, b) for b in others] for a in lines]


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text))


def _likeness_of(a: tuple[Counter[str], Counter[str]], b: tuple[Counter[str], Counter[str]]) -> float:
    likeness = (_shared(a[0], b[0]) + _shared(a[1], b[1])) / 2
    return likeness if likeness >= MIN_SHARED else 0.0


def _shared(a: Counter[str], b: Counter[str]) -> float:
    total = a.total() + b.total()
    return 2 * (a & b).total() / total if total else 0.0
