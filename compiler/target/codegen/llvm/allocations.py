"""The choice between stack and heap for allocations."""

from __future__ import annotations

from compiler.ir import dtype as dt
from compiler.tir.statements.allocations import constant_count
from compiler.tir.statements.stmt import Allocate

MAX_STACK_ALLOCATION = 64 << 10
"""Size in bytes of the largest allocation on the stack, where LLVM can promote it to registers."""

STACK_BUDGET = 512 << 10
"""Total size in bytes of a function's allocations on the stack; the stacks of threads are small."""


def stack_elements(n: Allocate) -> int | None:
    """Return the number of elements of an allocation on the stack; None for a large or symbolic one, on the heap."""
    count = constant_count(n.extents)
    return count if count is not None and count * dt.storage_bytes(n.dtype) <= MAX_STACK_ALLOCATION else None


def stack_bytes(n: Allocate) -> int:
    """Return the size in bytes of an allocation on the stack."""
    return (stack_elements(n) or 0) * dt.storage_bytes(n.dtype)
