"""Shared by GPU schedules: block sizes, and binding elements to threads."""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler.ir.expr.primexpr import IterVar
from compiler.target.target import Target
from compiler.te import Stage
from compiler.te.definition.axis import thread_axis
from compiler.topi.schedules.kit import extent

_MAX_THREADS = 256
"""Threads of a block that every device has, WebGPU's by default as well."""
_MAX_BLOCKS = 65535
"""Blocks along an axis that every device launches."""


def block_threads(target: Target) -> int:
    """Return how many threads a block has at most."""
    return min(target.max_num_threads, _MAX_THREADS)


def power_of_two(limit: int) -> int:
    """Return the largest power of two up to a limit, 1 at least."""
    return 1 << (limit.bit_length() - 1)


def size(axes: Sequence[IterVar]) -> int | None:
    """Return how many iterations nested axes have, None if an extent is symbolic."""
    extents = [extent(axis) for axis in axes]
    return None if None in extents else math.prod(e for e in extents if e is not None)


def bind(stage: Stage, axis: IterVar, tag: str) -> IterVar:
    """Bind a loop to a new thread axis, and return that axis."""
    thread = thread_axis(tag)
    stage.bind(axis, thread)
    return thread


def bind_elements(stage: Stage, target: Target) -> IterVar:
    """Let each thread compute an element; or several, where there are more than blocks can be launched.

    Neighbours in memory are computed by neighbouring threads.
    """
    threads, count = block_threads(target), size(stage.op.axis)
    element = stage.fuse(*stage.op.axis)
    if count is not None and count > threads * _MAX_BLOCKS:
        turn, element = stage.split(element, factor=threads * _MAX_BLOCKS)
        block, thread = stage.split(element, factor=threads)
        stage.reorder(block, thread, turn)
        innermost = turn
    else:
        block, thread = stage.split(element, factor=threads if count is None else min(threads, max(count, 1)))
        innermost = thread
    bind(stage, block, "blockIdx.x")
    bind(stage, thread, "threadIdx.x")
    return innermost


def fetch(staged: Stage, threads: Sequence[IterVar]) -> None:
    """Let all threads of a block copy what is staged: neighbours in memory by neighbouring threads."""
    rest = staged.fuse(*staged.op.axis)
    for axis in threads:
        assert axis.dom is not None, "the axis was made with its extent"
        rest, own = staged.split(rest, factor=extent(axis))
        staged.bind(own, axis)
