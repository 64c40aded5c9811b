"""Storage scopes: where a stage is stored, and which threads share it."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.ir.expr.primexpr import IterVar
from compiler.te.scheduling.stage import Stage

_THREAD_RANK = {"blockIdx": 0, "threadIdx": 1, "vthread": 1}
_SCOPE_RANK = {"global": 0, "shared": 1, "warp": 2, "local": 3}
_DEFAULT_SCOPE = ("global", "global", "local")
"""For a stage outside of all thread loops, inside of those of blocks, inside of those of threads."""


def thread_rank(thread: IterVar) -> int:
    """Return 0 for an axis of blocks, 1 for one of threads, real or virtual, -1 for others."""
    return _THREAD_RANK.get(thread.thread_tag.split(".")[0], -1)


def scope_rank(scope: str) -> int:
    """Return how near to a thread a scope is: 0 for memory that all see."""
    return _SCOPE_RANK.get(scope.split(".")[0] or "global", 3)


def storage_scope(stage: Stage, threads: Iterable[IterVar]) -> str:
    """Return the scope of a stage that is computed inside of ``threads``."""
    if stage.scope:
        return stage.scope
    return _DEFAULT_SCOPE[max((thread_rank(t) for t in threads), default=-1) + 1]


def owned_by_thread(scope: str, thread: IterVar) -> bool:
    """Return whether each iteration of ``thread`` has memory of a scope to itself; of one that is not chosen, no.

    Iterations of a virtual thread, which is a loop, have so where the stage is computed inside of it alone.
    """
    rank = thread_rank(thread)
    shared_by_warp = scope.split(".")[0] == "warp" and thread.thread_tag == "threadIdx.x"
    return bool(scope) and rank >= 0 and not shared_by_warp and scope_rank(scope) > rank


def is_virtual(thread: IterVar) -> bool:
    """Return whether the iterations of ``thread`` are interleaved in one thread."""
    return thread.thread_tag.startswith("vthread")


def relaxed_by_scope(stage: Stage, thread: IterVar, inside_attach: bool) -> bool:
    """Return whether a stage must provide what all iterations of ``thread`` need, since they share its memory."""
    if thread_rank(thread) < 0 or not stage.scope or (is_virtual(thread) and not inside_attach):
        return not inside_attach
    return not owned_by_thread(stage.scope, thread)
