"""The IR builder and its frames."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from compiler.ir.context_stack import ContextStack
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import IterVar, Var
from compiler.ir.module import IRModule
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Stmt

__all__ = ["IRBuilder", "IRBuilderFrame"]

Definition = TypeVar("Definition", Var, Buffer, IterVar)
Frame = TypeVar("Frame", bound="IRBuilderFrame")
Result = Stmt | PrimFunc | IRModule


class IRBuilder:
    """Collects what is built while its ``with`` block runs.

    Examples
    --------
    >>> with IRBuilder() as builder:
    ...     with T.serial(8) as i:
    ...         T.evaluate(i)
    >>> builder.get()
    """

    def __init__(self) -> None:
        self.frames: list[IRBuilderFrame] = []
        self._result: Result | None = None

    def __enter__(self) -> IRBuilder:
        _BUILDERS.push(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _BUILDERS.pop()

    @staticmethod
    def current() -> IRBuilder:
        """Return the builder whose ``with`` block runs.

        Raises ArgumentError if none does.
        """
        builder = _BUILDERS.current()
        if builder is None:
            raise ArgumentError("IRBuilder.current: no builder in the current scope; use `with IRBuilder():`")
        return builder

    @staticmethod
    def is_in_scope() -> bool:
        """Return whether the ``with`` block of a builder runs."""
        return _BUILDERS.current() is not None

    def get(self) -> Any:
        """Return what was built.

        Raises IndexError if nothing was.
        """
        if self._result is None:
            raise IndexError("IRBuilder.get: nothing was built")
        return self._result

    @staticmethod
    def name(s: str, v: Definition) -> Definition:
        """Give a variable or a buffer, this very object, a name."""
        named = v.var if isinstance(v, IterVar) else v
        named.name = s  # type: ignore[misc]
        if isinstance(v, Buffer):
            v.data.name = s  # type: ignore[misc]
        return v

    @staticmethod
    def name_many(s: Sequence[str], vs: Sequence[Definition]) -> list[Definition]:
        """Give each of some variables or buffers a name."""
        return [IRBuilder.name(name, v) for name, v in zip(s, vs, strict=True)]

    def innermost(self, kind: type[Frame]) -> Frame | None:
        """Return the innermost open frame if it is of a kind."""
        last = self.frames[-1] if self.frames else None
        return last if isinstance(last, kind) else None

    def enclosing(self, kind: type[Frame]) -> Frame | None:
        """Return the innermost open frame of a kind."""
        return next((frame for frame in reversed(self.frames) if isinstance(frame, kind)), None)

    def emit(self, built: Result) -> None:
        """Add something to the innermost frame; outside of any it is the result.

        Raises ArgumentError if there is a result already, or the frame does not take it.
        """
        if self.frames:
            self.frames[-1].take(built)
        elif self._result is not None:
            raise ArgumentError("IRBuilder: the result has already been set; a builder builds one module or function")
        else:
            self._result = built


_BUILDERS: ContextStack[IRBuilder] = ContextStack("ir_builders")


class IRBuilderFrame(ABC):
    """What a ``with`` opens: it takes what is emitted inside, and makes one thing of it."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[[], None]] = []

    def add_callback(self, callback: Callable[[], None]) -> None:
        """Let a function be called when the frame is left; those that were added last are called first."""
        self._callbacks.append(callback)

    def __enter__(self) -> Any:
        IRBuilder.current().frames.append(self)
        return self.entered()

    def __exit__(self, exc_type: type[BaseException] | None, *exc: object) -> None:
        if exc_type is None:
            while self._callbacks:
                self._callbacks.pop()()
        builder = IRBuilder.current()
        builder.frames.pop()
        if exc_type is None:
            self.finish(builder)

    def entered(self) -> Any:
        """Return what the ``with`` gives: the frame itself, or what a subclass defines.

        Raises ArgumentError if the frame has no place here.
        """
        return self

    @abstractmethod
    def take(self, built: Result) -> None:
        """Take what is emitted inside.

        Raises ArgumentError if it has no place here.
        """

    @abstractmethod
    def finish(self, builder: IRBuilder) -> None:
        """Emit what was made of it.

        Raises ArgumentError if what it took is not complete.
        """

    def misplaced(self, built: object) -> ArgumentError:
        """Return the error about something that has no place here."""
        return ArgumentError(f"{type(self).__name__}: takes no {type(built).__name__}, got {show(built)}")
