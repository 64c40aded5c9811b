"""Counterexamples to uniformity: two threads of a block with different values, for messages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product

from compiler.arith.analyzer import Analyzer
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Var
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.tir.analysis.thread_axes import ThreadAxis, is_thread

MAX_THREADS = 1024
"""Of a block."""


def disagreeing_threads(
    value: PrimExpr, axes: Mapping[str, ThreadAxis]
) -> tuple[dict[str, int], dict[str, int]] | None:
    """Return the positions of the first thread of a block, and of the first one for which a value is another.

    The axes are those that the kernel launches, by tag; the example is from the first block. Positions are by axis;
    None if the value depends on anything else, or the extents are not constant.
    """
    by_var = {var: axis for axis in axes.values() for var in axis.variables}
    used = [by_var.get(var) for var in free_vars(value)]
    threads = {axis.tag: axis.extent for axis in used if axis is not None and is_thread(axis.tag)}
    sizes = [extent.value for _, extent in sorted(threads.items()) if isinstance(extent, IntImm)]
    if None in used or len(sizes) < len(threads) or math.prod(sizes) > MAX_THREADS:
        return None
    seen: dict[int, dict[str, int]] = {}
    for place in product(*(range(size) for size in reversed(sizes))):
        position = dict(zip(sorted(threads), reversed(place), strict=True))
        own = _constant(value, {var: position.get(axis.tag, 0) for var, axis in by_var.items()})
        if own is None:
            return None
        seen.setdefault(own, position)
        if len(seen) > 1:
            first, second = seen.values()
            return first, second
    return None


def _constant(value: PrimExpr, position: Mapping[Var, int]) -> int | None:
    """Return the value for one thread; None if that is not a constant."""
    result = Analyzer().simplify(substitute(value, {var: IntImm(var.dtype, at) for var, at in position.items()}))
    return int(result.value) if isinstance(result, IntImm) else None
