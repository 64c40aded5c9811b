"""How often objects are used."""

from __future__ import annotations

import gc
from collections.abc import Iterable

from compiler.ir.node import Node


def object_use_count(obj: object) -> int:
    """Return by how many an object is held: the nodes that have it as a part, and the program, which counts as one.

    Examples
    --------
    >>> x = tir.Var("x", "int32")
    >>> y = x + 1
    >>> object_use_count(x), object_use_count(y)
    (2, 1)
    """
    return 1 + sum(_holders(obj, gc.get_referrers(obj)))


def _holders(obj: object, referrers: Iterable[object]) -> Iterable[int]:
    """Count each node once for each field that holds the object, itself or in a list."""
    for holder in referrers:
        if isinstance(holder, Node):
            yield sum(part is obj for part in gc.get_referents(holder))
        elif isinstance(holder, (tuple, list, dict)):
            yield sum(isinstance(owner, Node) for owner in gc.get_referrers(holder))
