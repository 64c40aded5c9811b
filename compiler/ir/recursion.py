"""Recursion over arbitrarily deep programs.

A sum of three thousand terms nests three thousand deep, and a rule that is an ordinary recursive method needs a few
Python frames for each level.  The interpreter allows a thread about a thousand frames, a limit that belongs to the
user's program and that a library leaves alone.  So where the frames of a thread are nearly used up, recursion goes on
in a new thread, with a stack of its own, while the old one waits: a deep traversal becomes a chain of segments.

Each segment runs in a copy of the context of the one below it, so that context variables say the same everywhere; it
costs about as much as a hundred levels of recursion within it.
"""

from __future__ import annotations

import _thread
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context
from types import FrameType
from typing import TypeVar, TypeVarTuple

Args = TypeVarTuple("Args")
T = TypeVar("T")

CHECK_INTERVAL = 16
"""Levels of a traversal between two looks at the stack."""

MAX_SEGMENTS = 128
"""Threads of one recursion; one that needs more does not end."""

_RESERVED_FRAMES = 320
"""What rules may use between two checks, and what they call without visiting."""

_MAX_FRAMES = 4_000
"""Frames of one segment where the user raised the interpreter's limit: its native stack has to hold them as well."""


class _Segment(threading.local):
    """What a thread knows about the recursion that it is a part of."""

    waiting: tuple[FrameType, ...] = ()
    """The frames that wait for this thread, the outermost first; one for each segment below."""


_segment = _Segment()


def call_deeper(function: Callable[[*Args], T], *args: *Args) -> T:
    """Return ``function(*args)``, computed in a new thread if this one has few frames left."""
    return call_in_new_thread(function, *args) if stack_is_low() else function(*args)


def stack_is_low() -> bool:
    """Return whether this thread has so few frames left that recursion should go on in another one."""
    limit = min(sys.getrecursionlimit(), _MAX_FRAMES)
    try:
        sys._getframe(max(limit - _RESERVED_FRAMES, limit // 4))
    except ValueError:  # the stack is not that deep
        return False
    return True


def deep(function: Callable[[*Args], T]) -> Callable[[*Args], T]:
    """Let a recursive function of positional arguments call itself as often as its arguments nest.

    A decorator for recursion outside of visitors, which do this themselves.
    """
    depth = 0

    @functools.wraps(function)
    def call(*args: *Args) -> T:
        nonlocal depth
        depth = level = depth + 1  # of all threads together: it only says when to look at the stack
        try:
            return function(*args) if level % CHECK_INTERVAL else call_deeper(function, *args)
        finally:
            depth = level - 1

    return call


def call_in_new_thread(function: Callable[[*Args], T], *args: *Args) -> T:
    """Return ``function(*args)``, computed in a new thread while this one waits."""
    if len(_segment.waiting) == MAX_SEGMENTS:
        raise RecursionError(f"a program is nested too deeply: its traversal needs more than {MAX_SEGMENTS} threads")
    waiting = (*_segment.waiting, sys._getframe(1))
    context = copy_context()
    results: list[T] = []
    failures: list[BaseException] = []
    done = _thread.allocate_lock()
    done.acquire()

    def run() -> None:
        _segment.waiting = waiting
        try:
            results.append(context.run(function, *args))
        except BaseException as failure:
            failures.append(failure)
        finally:
            _segment.waiting = ()
            done.release()

    try:
        _thread.start_new_thread(run, ())
    except RuntimeError as refusal:
        raise RecursionError(f"a program is nested too deeply: no thread for its traversal ({refusal})") from None
    done.acquire()
    if failures:
        raise failures.pop()
    return results[0]


def calling_frames(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield a frame of this thread and those that called it, innermost first, through all segments of a recursion."""
    waiting = list(_segment.waiting)
    while frame is not None:
        yield frame
        frame = frame.f_back or (waiting.pop() if waiting else None)
