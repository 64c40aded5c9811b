"""The names of a script's values at the point where it lowers a schedule."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from app.artifacts import SCRIPT_NAME
from app.recorder.units.schedules import Source
from compiler.ir.instrument import Instrument

MAX_ELEMENTS = 64
"""Elements of a list or tuple that are named by their index."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """An expression of the script for a value.

    Attributes
    ----------
    text : str
        The expression.
    variable : str
        The variable that it begins with.
    """

    text: str
    variable: str

    @property
    def is_name(self) -> bool:
        """Whether it is the variable itself."""
        return self.text == self.variable


class Scope:
    """The variables that are visible at a line of the script."""

    def __init__(self, variables: Mapping[str, object]) -> None:
        self._variables = dict(variables)
        self._spellings: dict[int, Spelling] = {}
        for name, value in self._variables.items():
            if isinstance(value, (list, tuple)):
                for index, element in enumerate(value[:MAX_ELEMENTS]):
                    self._spellings.setdefault(id(element), Spelling(f"{name}[{index}]", name))
        # A name of its own is shorter than an element of a list, and the newest is the one in use.
        self._spellings.update({id(value): Spelling(name, name) for name, value in self._variables.items()})

    def spelling(self, *values: object) -> Spelling | None:
        """Return an expression for the first of some values that the script has one for."""
        return next((self._spellings[id(value)] for value in values if id(value) in self._spellings), None)

    def variables(self) -> Iterator[tuple[object, Spelling]]:
        """Yield the values that the script has expressions for; those with names of their own, the newest, first."""
        values = reversed(self._variables.items())
        yield from ((value, Spelling(name, name)) for name, value in values)
        for name, value in self._variables.items():
            if isinstance(value, (list, tuple)):
                elements = enumerate(value[:MAX_ELEMENTS])
                yield from ((element, Spelling(f"{name}[{index}]", name)) for index, element in elements)


class Scopes(Instrument):
    """Keeps the variables that were visible where each function was lowered."""

    def __init__(self) -> None:
        self._scopes: dict[int, Scope] = {}

    def lower_begin(self, name: str, source: Source, args: Sequence[Any] | None) -> None:
        scope = _visible(sys._getframe(1))
        if scope is not None:
            self._scopes[id(source)] = Scope(scope)

    def of(self, source: Source) -> Scope:
        """Return what was visible where ``source`` was lowered, else at the end of the script."""
        return self._scopes.get(id(source)) or Scope(vars(sys.modules["__main__"]))


def _visible(frame: FrameType | None) -> dict[str, object] | None:
    """Return the variables of the script's innermost function that is running; None outside of the script."""
    while frame is not None:
        if frame.f_code.co_filename == SCRIPT_NAME:
            return {**frame.f_globals, **frame.f_locals}
        frame = frame.f_back
    return None
