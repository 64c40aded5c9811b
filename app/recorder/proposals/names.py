"""Names for the loops that primitives create."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

SHORT = 4
"""Letters of a name that one letter is added to: ``io``; longer ones get a word: ``rows_outer``."""

IsFree = Callable[[str], bool]


def stem_of(name: str) -> str:
    """Return what the names of parts of a loop begin with: ``i.outer`` abbreviated to ``io``."""
    first, *parts = name.split(".")
    plain = re.sub(r"\W", "_", first)
    return "".join([plain, *(part[:1] for part in parts)]) if len(plain) <= SHORT else "_".join([plain, *parts])


def halves_names(stem: str, is_free: IsFree) -> tuple[str, str]:
    """Return names for the loops that a split makes, e.g. ``io`` and ``ii``."""
    outer, inner = ("o", "i") if len(stem) <= SHORT else ("_outer", "_inner")
    pairs = ((stem + outer + suffix, stem + inner + suffix) for suffix in _suffixes())
    return next(pair for pair in pairs if all(map(is_free, pair)))


def fused_name(stems: Sequence[str], is_free: IsFree) -> str:
    """Return a name for the loop that several are fused into, e.g. ``ij``."""
    name = "".join(stems) if max(map(len, stems)) <= 2 else "_".join((*stems, "fused"))
    return next(name + suffix for suffix in _suffixes() if is_free(name + suffix))


def _suffixes() -> Sequence[str]:
    """Return what is tried after a name until it is free."""
    return ["", *(str(number) for number in range(2, 1000))]
