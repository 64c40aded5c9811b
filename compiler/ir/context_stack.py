"""Values within ``with`` blocks, and stacks of such blocks: each thread and task has its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any, ClassVar, Generic, Self, TypeVar

T = TypeVar("T")


class ContextStack(Generic[T]):
    """Objects whose ``with`` blocks are open, the innermost last; an object may be entered several times.

    Each thread begins with an empty stack, and each asyncio task with that of the task that made it; what one of them
    enters the others do not see.
    """

    def __init__(self, name: str) -> None:
        self._items: ContextVar[tuple[T, ...]] = ContextVar(name, default=())

    def current(self) -> T | None:
        """Return the innermost object, or None."""
        items = self._items.get()
        return items[-1] if items else None

    def push(self, item: T) -> None:
        """Enter ``item``."""
        self._items.set((*self._items.get(), item))

    def pop(self) -> None:
        """Leave the innermost object."""
        self._items.set(self._items.get()[:-1])


class Entered:
    """What is current within its ``with`` block; each class that derives from this one has a stack with its own."""

    _blocks: ClassVar[ContextStack[Any]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if Entered in cls.__bases__:
            cls._blocks = ContextStack(cls.__name__)

    def __enter__(self) -> Self:
        self._blocks.push(self)
        return self

    def __exit__(self, *exc: object) -> None:
        self._blocks.pop()

    @classmethod
    def _innermost(cls) -> Self | None:
        return cls._blocks.current()


@contextmanager
def setting(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Let a variable have a value within the block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def in_this_context(compute: Callable[[], T]) -> Callable[[], T]:
    """Return what computes within the blocks that are open now, whenever and in whatever thread it is called."""
    context = copy_context()
    return lambda: context.copy().run(compute)
