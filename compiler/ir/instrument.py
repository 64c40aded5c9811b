"""Instruments of passes, under TVM's names: ``tvm.instrument`` and ``tvm.ir.instrument``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.ir.error import ArgumentError
from compiler.ir.transform import PassInstrument, PassTimingInstrument

__all__ = ["PassInstrument", "PassPrintingInstrument", "PassTimingInstrument", "pass_instrument"]

_POINTS = ("enter_pass_ctx", "exit_pass_ctx", "should_run", "run_before_pass", "run_after_pass")


class PassPrintingInstrument(PassInstrument):
    """Prints the module before and after the passes of some names.

    Parameters
    ----------
    print_before_pass_names, print_after_pass_names : sequence of str
    """

    def __init__(self, print_before_pass_names: Any = (), print_after_pass_names: Any = ()) -> None:
        self._before = frozenset(print_before_pass_names)
        self._after = frozenset(print_after_pass_names)

    def run_before_pass(self, mod: Any, info: Any) -> None:
        if info.name in self._before:
            print(f"Print IR before: {info.name}\n{mod}\n")

    def run_after_pass(self, mod: Any, info: Any) -> None:
        if info.name in self._after:
            print(f"Print IR after: {info.name}\n{mod}\n")


def pass_instrument(pi_cls: type | None = None) -> Callable[..., Any]:
    """Make an instrument of a class that has some of the methods of :class:`PassInstrument`.

    Raises
    ------
    ArgumentError
        If what is decorated is no class, or has none of the methods.
    """

    def wrap(cls: type) -> Callable[..., Any]:
        if not isinstance(cls, type):
            raise ArgumentError(f"pass_instrument: expected a class, got {type(cls).__name__}")
        if not any(callable(getattr(cls, point, None)) for point in _POINTS):
            raise ArgumentError(f"pass_instrument: class {cls.__name__} needs one of the methods {', '.join(_POINTS)}")
        made = type(cls.__name__, (cls, PassInstrument), {"__doc__": cls.__doc__})
        made.__module__ = cls.__module__
        return made

    return wrap if pi_cls is None else wrap(pi_cls)
