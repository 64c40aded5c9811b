"""Where the memory of an allocation lies."""

from __future__ import annotations

from compiler.ir import dtype as dt
from compiler.ir.primexpr import IntImm
from compiler.tir.stmt import Allocate

MOST_ON_STACK = 64 << 10
"""Bytes of the largest allocation that lies on the stack, where LLVM can turn it into registers."""

STACK_BUDGET = 512 << 10
"""Bytes that all allocations on the stack of one function may take together; threads have small stacks."""


def stack_elements(n: Allocate) -> int | None:
    """Return the number of elements of an allocation that may lie on the stack, None for one that may not."""
    count = 1
    for extent in n.extents:
        if not isinstance(extent, IntImm):
            return None
        count *= extent.value
    return count if count * dt.storage_bytes(n.dtype) <= MOST_ON_STACK else None


def stack_bytes(n: Allocate) -> int:
    """Return what an allocation takes of the stack, 0 for one that lies elsewhere."""
    return (stack_elements(n) or 0) * dt.storage_bytes(n.dtype)
