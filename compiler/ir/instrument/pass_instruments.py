"""TVM's pass instruments: timing, printing, and instruments made from a user's class."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compiler.ir.error import ArgumentError
from compiler.ir.instrument.interface import PassInstrument

if TYPE_CHECKING:
    from compiler.ir.module import IRModule
    from compiler.ir.passes.context import PassInfo

__all__ = ["PassPrintingInstrument", "PassTimingInstrument", "PrintAfterAll", "PrintBeforeAll", "pass_instrument"]


class PassTimingInstrument(PassInstrument):
    """Measures how long each pass takes, nested passes included; at the end of its context it forgets all of them."""

    def __init__(self) -> None:
        self._roots: list[_Timing] = []
        self._running: list[_Timing] = []

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        timing = _Timing(info.name, time.perf_counter())
        (self._running[-1].nested if self._running else self._roots).append(timing)
        self._running.append(timing)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        timing = self._running.pop()
        timing.seconds = time.perf_counter() - timing.started

    def pass_failed(self, mod: IRModule, info: PassInfo, error: BaseException) -> None:
        failed = self._running.pop()
        (self._running[-1].nested if self._running else self._roots).remove(failed)

    def exit_pass_ctx(self) -> None:
        self._roots.clear()
        self._running.clear()

    def render(self) -> str:
        """Return a line for each pass, those that it carried out beneath it and indented by a tab.

        A line has the pass's time and, in brackets, what of it is not theirs, in microseconds; its share of all time
        and of that of the pass around it.
        """
        total = sum(timing.seconds for timing in self._roots)
        return "".join(line for timing in self._roots for line in timing.lines(total, total, 0))


@dataclass(slots=True, eq=False)
class _Timing:
    """How long one pass took."""

    name: str
    started: float
    seconds: float = 0.0
    nested: list[_Timing] = field(default_factory=list)

    def lines(self, total: float, around: float, depth: int) -> Iterator[str]:
        """Yield the line of the pass, then those of the passes that it carried out."""
        alone = self.seconds - sum(timing.seconds for timing in self.nested)
        share, part = (100 * self.seconds / whole if whole else 0.0 for whole in (total, around))
        times = f"{self.seconds * 1e6:.0f}us [{alone * 1e6:.0f}us] ({share:.2f}%; {part:.2f}%)"
        yield "\t" * depth + f"{self.name}: {times}\n"
        for timing in self.nested:
            yield from timing.lines(total, self.seconds, depth + 1)


class PassPrintingInstrument(PassInstrument):
    """Prints the module before and after passes with names such as ``tir.VectorizeLoop`` (``PassInfo.name``)."""

    def __init__(self, print_before_pass_names: Iterable[str] = (), print_after_pass_names: Iterable[str] = ()) -> None:
        self._before = frozenset(print_before_pass_names)
        self._after = frozenset(print_after_pass_names)

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if info.name in self._before:
            _print_module("before", mod, info)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        if info.name in self._after:
            _print_module("after", mod, info)


class PrintBeforeAll(PassInstrument):
    """Prints the module before every pass."""

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        print(f"Before Running Pass: {info}\n{mod}")


class PrintAfterAll(PassInstrument):
    """Prints the module after every pass."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        print(f"After Running Pass: {info}\n{mod}")


def _print_module(when: str, mod: IRModule, info: PassInfo) -> None:
    print(f"Print IR {when}: {info.name}\n{mod}\n")


_POINTS = tuple(name for name in vars(PassInstrument) if not name.startswith("_"))


def pass_instrument(pi_cls: type | None = None) -> Callable[..., object]:
    """Make an instrument of a class that has some of the methods of :class:`PassInstrument`.

    Raises ArgumentError if what is decorated is not a class, or has none of the methods.

    Examples
    --------
    >>> @tvm.instrument.pass_instrument
    ... class SkipSimplify:
    ...     def should_run(self, mod, info):
    ...         return info.name != "tir.Simplify"
    """

    def wrap(cls: type) -> type[PassInstrument]:
        if not isinstance(cls, type):
            raise ArgumentError(f"pass_instrument: expected a class, got {type(cls).__name__}")
        if not any(callable(getattr(cls, point, None)) for point in _POINTS):
            raise ArgumentError(f"pass_instrument: class {cls.__name__} needs one of the methods {', '.join(_POINTS)}")
        made = type(cls.__name__, (cls, PassInstrument), {"__doc__": cls.__doc__})
        made.__module__ = cls.__module__
        return made

    return wrap if pi_cls is None else wrap(pi_cls)
