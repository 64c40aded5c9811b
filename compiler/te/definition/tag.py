"""``te.tag_scope``: tags for all operations declared in a block of code."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import ParamSpec, TypeVar

from compiler.ir.error import ArgumentError

__all__ = ["TagScope", "current_tag", "tag_scope"]

P = ParamSpec("P")
R = TypeVar("R")

_OF_OPERATORS = frozenset(("elemwise", "broadcast", "injective", "comm_reduce", "comm_reduce_idx"))
"""Tags that operators such as ``A + B`` and ``topi.sum`` give to what they compute, in any scope."""
_CURRENT: ContextVar[TagScope | None] = ContextVar("tag", default=None)


class TagScope:
    """Gives a tag to the operations that are declared inside; a context manager and a decorator."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self._outer: Token[TagScope | None] | None = None

    @classmethod
    def get_current(cls) -> TagScope | None:
        """Return the scope that operations are declared in; None outside of all."""
        return _CURRENT.get()

    def __enter__(self) -> TagScope:
        around = _CURRENT.get()
        if around is not None:
            raise ArgumentError(f"tag_scope: {self.tag!r} cannot be nested in tag scope {around.tag!r}")
        self._outer = _CURRENT.set(self)
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._outer is not None
        _CURRENT.reset(self._outer)

    def __call__(self, fdecl: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(fdecl)
        def tagged(*args: P.args, **kwargs: P.kwargs) -> R:
            with TagScope(self.tag):
                return fdecl(*args, **kwargs)

        return tagged


def tag_scope(tag: str) -> TagScope:
    """Give a tag, for schedules to know them by, to all operations that are declared in a block or a function.

    Raises ArgumentError where such a scope is entered inside of another one.

    Examples
    --------
    >>> with te.tag_scope(tag="matmul"):
    ...     C = te.compute((n, l), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k))
    """
    if not isinstance(tag, str):
        raise ArgumentError(f"tag_scope: tag must be a string, got {tag!r}")
    return TagScope(tag)


def current_tag(operation: str, tag: str) -> str:
    """Return the tag of an operation that is declared now: its own, or that of the scope around.

    Raises ArgumentError if both have one.
    """
    current = _CURRENT.get()
    scope = "" if current is None else current.tag
    if scope and tag and tag not in _OF_OPERATORS:
        raise ArgumentError(f"{operation}: tag {tag!r} is given inside of tag_scope({scope!r})")
    return tag or scope
