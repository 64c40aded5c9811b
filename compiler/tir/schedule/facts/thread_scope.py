"""The GPU threads that share a memory scope."""

from __future__ import annotations

from compiler.ir.error import ArgumentError

_STORAGE_RANKS = {"global": 0, "shared": 1, "warp": 2, "local": 3}
"""The more, the fewer threads see one copy; what is none of these belongs to one thread."""
_THREAD_RANKS = {"blockIdx": 0, "threadIdx": 1, "vthread": 1}


def check_thread_axis(operation: str, thread_tag: str) -> None:
    """Reject what is no axis of threads."""
    kind, _, dimension = thread_tag.partition(".")
    if thread_tag != "vthread" and (kind not in _THREAD_RANKS or dimension not in ("x", "y", "z")):
        kinds = ", ".join(f"{name}.x" for name in _THREAD_RANKS)
        raise ArgumentError(f"{operation}: expected an axis of threads ({kinds}, or one in y or z), got {thread_tag!r}")


def thread_rank(thread_tag: str) -> int:
    """Return 0 for an axis of blocks of threads, 1 for one of threads."""
    return _THREAD_RANKS.get(thread_tag.partition(".")[0], 1)


def is_cross_thread(thread_tag: str) -> bool:
    """Return whether threads of an axis can combine their results: those of one block that are real."""
    return thread_tag.startswith("threadIdx.")


def is_shared_among(storage_scope: str, thread_tag: str) -> bool:
    """Return whether all threads of an axis see the same memory."""
    kind = storage_scope.partition(".")[0]
    if kind == "warp":
        return thread_tag == "threadIdx.x"
    return _STORAGE_RANKS.get(kind, 3) <= thread_rank(thread_tag)
