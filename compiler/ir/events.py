"""What the compiler tells whoever watches it work.

An :class:`Observer` overrides the methods it cares about.  With no observer an event costs the truth test of an empty
list.  Passes are watched through ``ir.transform.PassInstrument``, as in TVM; these are the events that TVM has no
instrument for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Observer:
    """Receives events; every method does nothing unless overridden."""

    def schedule_created(self, schedule: Any) -> None:
        """A user's call of ``te.create_schedule`` returned ``schedule``."""

    def primitive_applied(self, schedule: Any, primitive: Any) -> None:
        """A schedule primitive was applied and recorded."""

    def lower_begin(self, name: str, source: Any, args: Any) -> None:
        """``lower`` starts on a schedule, a function or a module; ``args`` are the user's."""

    def phase_end(self, phase: int, module: Any) -> None:
        """A lowering phase is done, its user passes included."""

    def lower_end(self, module: Any) -> None:
        """``lower`` is about to return ``module``."""

    def build_begin(self, name: str, module: Any, target: Any) -> None:
        """Code generation starts on a lowered module."""

    def stage_text(self, stage: str, language: str, text: str, milliseconds: float) -> None:
        """A text of code generation is ready: ``emitted`` and ``optimised`` LLVM IR, ``assembly``."""

    def build_end(self, built: Any) -> None:
        """``build`` is about to return the runtime module ``built``."""

    def module_created(self, module: Any) -> None:
        """A user's call made a module: from an expression, a text, or a model's file."""

    def graph_build_begin(self, module: Any, target: Any) -> None:
        """``relay.build`` starts on a module of graphs."""

    def kernel_lowered(self, name: str, function: Any, outputs: Any, prim_func: Any) -> None:
        """A fused ``function`` became the tensors ``outputs`` and, scheduled and lowered, ``prim_func``."""

    def graph_build_end(self, built: Any) -> None:
        """``relay.build`` is about to return ``built``."""

    def code_later(self) -> bool | None:
        """Return True to have each kernel of a graph compiled when it is first called, not when the graph is built."""
        return None

    def leave_graph(self, executor: Any) -> bool | None:
        """A graph's next kernel is about to be called; return True to leave the rest of the graph out."""
        return None

    def before_call(self, built: Any, name: str, args: Any) -> None:
        """Native code is about to run, arguments already checked; raise to forbid it."""

    def after_call(self, built: Any, name: str, seconds: float) -> None:
        """Native code returned, or failed, after ``seconds``."""

    def measure(self, built: Any, name: str, number: int, repeat: int, args: Any) -> list[float] | None:
        """``time_evaluator`` was called; return seconds a call, one for each repeat, to answer it without measuring."""
        return None

    def measured(self, built: Any, name: str, number: int, seconds: list[float]) -> None:
        """``time_evaluator`` measured: seconds a call, one for each repeat."""


observers: list[Observer] = []
"""Who watches now."""


def notify(event: str, *args: Any) -> None:
    """Tell every observer."""
    for observer in observers:
        getattr(observer, event)(*args)


def ask(event: str, *args: Any) -> Any:
    """Return the first answer that is not None, or None."""
    for observer in observers:
        answer = getattr(observer, event)(*args)
        if answer is not None:
            return answer
    return None


@contextmanager
def watching(*watchers: Observer) -> Iterator[None]:
    """Let ``watchers`` watch inside the block."""
    observers.extend(watchers)
    try:
        yield
    finally:
        for observer in watchers:
            observers.remove(observer)


@contextmanager
def unwatched() -> Iterator[None]:
    """Let nobody watch inside the block: for work that the explorer itself causes."""
    saved = observers[:]
    observers.clear()
    try:
        yield
    finally:
        observers[:] = saved
