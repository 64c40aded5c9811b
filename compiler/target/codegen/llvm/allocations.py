"""Where the memory of an allocation lies."""

from __future__ import annotations

from compiler.ir import dtype as dt
from compiler.ir.primexpr import IntImm
from compiler.tir.stmt import Allocate

MOST_ON_STACK = 64 << 10
"""Bytes of the largest allocation that lies on the stack, where LLVM can turn it into registers."""


def stack_elements(n: Allocate) -> int | None:
    """Return the number of elements of an allocation that lies on the stack, None for one that does not."""
    count = 1
    for extent in n.extents:
        if not isinstance(extent, IntImm):
            return None
        count *= extent.value
    return count if count * dt.storage_bytes(n.dtype) <= MOST_ON_STACK else None
