"""Which instruments are active in this thread or task, or in the whole process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

from compiler.ir.context_stack import setting
from compiler.ir.instrument.interface import Instrument

if TYPE_CHECKING:
    from compiler.ir.node import Node

__all__ = ["active_instruments", "chosen_way", "first_answer", "instrumented", "report_rewrite", "uninstrumented"]

T = TypeVar("T")


class _Listeners:
    """Active instruments; those that override ``node_rewritten`` are listed apart, as rewrites are many."""

    __slots__ = ("instruments", "rewrites")

    def __init__(self, instruments: tuple[Instrument, ...]) -> None:
        self.instruments = instruments
        ignore = Instrument.node_rewritten
        self.rewrites = tuple([i for i in instruments if type(i).node_rewritten is not ignore])


_process = _Listeners(())
_scoped: ContextVar[_Listeners | None] = ContextVar("instruments", default=None)
"""The instruments of this thread or task, those of the process included; None if it has none of its own."""


def active_instruments() -> tuple[Instrument, ...]:
    """Return the instruments that are active in this thread or task."""
    return (_scoped.get() or _process).instruments


def report_rewrite(before: Node, after: object) -> None:
    """Call ``node_rewritten`` of the active instruments."""
    for instrument in (_scoped.get() or _process).rewrites:
        instrument.node_rewritten(before, after)


def first_answer(answers: Iterable[T | None]) -> T | None:
    """Return the first answer that is not None; none of the instruments after it is called."""
    return next((answer for answer in answers if answer is not None), None)


def chosen_way(operator: str, usual: str, ways: Sequence[str]) -> str:
    """Return in which of several ways an operator is computed: the usual one, unless an instrument decides."""
    return first_answer(each.way_chosen(operator, usual, ways) for each in active_instruments()) or usual


@contextmanager
def instrumented(*instruments: Instrument, process_wide: bool = False) -> Iterator[None]:
    """Activate instruments inside the block, in this thread or task, or in all of them (``process_wide``)."""
    global _process
    scope = _scoped.get()
    token = None
    if scope is not None or not process_wide:
        token = _scoped.set(_Listeners((*active_instruments(), *instruments)))
    if process_wide:
        _process = _Listeners((*_process.instruments, *instruments))
    try:
        yield
    finally:
        if token is not None:
            _scoped.reset(token)
        if process_wide:
            _process = _Listeners(tuple([i for i in _process.instruments if i not in instruments]))


def uninstrumented() -> AbstractContextManager[None]:
    """Deactivate all instruments of this thread or task inside the block, except those of a ``PassContext``."""
    return setting(_scoped, _Listeners(()))
