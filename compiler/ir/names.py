"""Names that nothing has yet."""

from __future__ import annotations

from collections.abc import Container
from itertools import chain, count


def free_name(hint: str, taken: Container[str], separator: str = "_") -> str:
    """Return a name that is not taken: the one wished for, or the first of ``hint_1``, ``hint_2`` … that is free."""
    numbered = (f"{hint}{separator}{number}" for number in count(1))
    return next(name for name in chain((hint,), numbered) if name not in taken)


def take_name(hint: str, taken: set[str], separator: str = "_") -> str:
    """Return a name as :func:`free_name` does, and take it."""
    name = free_name(hint, taken, separator)
    taken.add(name)
    return name
