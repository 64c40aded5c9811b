"""Compiles an expression to a sequence of NumPy calls, which can be run repeatedly.

What an expression means in NumPy is found by walking it (:mod:`compiler.te.definition.numpy_reference`), which takes
longer than small arrays are worked on.  So the walk records each call that depends on the inputs, in order, and what is
timed is the calls alone: what a person would have written down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from compiler.runtime.numpy_types import NumPyArray

__all__ = ["NumPyArray", "NumPyProgram", "Tape"]

MAX_SOURCE = 160
"""Characters of an expression that are worth reading."""

_OPERATORS: dict[object, str] = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.true_divide: "/", np.floor_divide: "//", np.remainder: "%",
    np.matmul: "@", np.equal: "==", np.not_equal: "!=", np.less: "<", np.less_equal: "<=",
}  # fmt: skip
"""The operator that a person writes for a function of two arrays."""


@dataclass(frozen=True, slots=True)
class _Slot:
    """Stands for the value of a step, or for an input, among the arguments of a call."""

    index: int


@dataclass(frozen=True, slots=True)
class _Step:
    """One call; ``slot`` is where its result goes."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    keywords: dict[str, object]
    slot: int


class NumPyProgram:
    """Calls of NumPy, ready to be made again.

    ``values`` has for each slot what it holds before the first step: an input, a view of one, or None.
    """

    def __init__(self, steps: Sequence[_Step], values: list[Any], outputs: Sequence[int], source: str) -> None:
        self._steps = steps
        self._values = values
        self._outputs = outputs
        self.source = source

    def __call__(self) -> list[NumPyArray]:
        """Compute the outputs from the inputs that the program was recorded with."""
        values = list(self._values)
        with np.errstate(all="ignore"):
            for step in self._steps:
                args = [values[a.index] if type(a) is _Slot else a for a in step.args]
                values[step.slot] = step.function(*args, **step.keywords)
        return [values[index] for index in self._outputs]


class Tape:
    """Makes calls of NumPy at once, and remembers those that depend on the inputs.

    A value is recognised by its identity, so every value that was recorded stays alive as long as the tape.
    """

    def __init__(self, inputs: Mapping[Any, NumPyArray]) -> None:
        self._values: list[object] = []
        self._sources: list[str] = []
        self._slots: dict[int, int] = {}
        self._steps: list[_Step] = []
        self._views: dict[int, str] = {}
        """Inputs and views of them, with the name of the input."""
        for key, value in inputs.items():
            self._views[self._hold(value, str(key.name))] = str(key.name)

    def call(self, function: Callable[..., object], *args: object, **keywords: object) -> Any:
        """Call ``function`` now, and record the call where an argument depends on an input; keywords are constants."""
        with np.errstate(all="ignore"):
            value = function(*args, **keywords)
        return self._record(value, function, args, keywords)

    def array(self, value: object) -> NumPyArray:
        """Return a value as an array, a recorded call where it is none yet."""
        array: NumPyArray = value if isinstance(value, np.ndarray) else self.call(np.asarray, value)
        return array

    def view(self, function: Callable[..., NumPyArray], array: NumPyArray, *args: object) -> NumPyArray:
        """Make a view of an array; a view of an input is made once, before the program runs."""
        value = function(array, *args)
        name = self._views.get(self._slots.get(id(array), -1))
        if name is not None:
            self._views[self._hold(value, _view_source(name, value, array.size))] = name
            return value
        recorded: NumPyArray = self._record(value, function, (array, *args), {})
        return recorded

    def program(self, outputs: Sequence[NumPyArray]) -> NumPyProgram:
        """Return the calls recorded so far as a program that computes ``outputs``."""
        slots = [self._slot_of(value) for value in outputs]
        needed = self._needed(slots)
        steps = [step for step in self._steps if step.slot in needed]
        made = {step.slot for step in self._steps}
        values = [None if index in made else value for index, value in enumerate(self._values)]
        text = ", ".join(self._sources[slot] for slot in slots)
        return NumPyProgram(steps, values, slots, text if len(text) <= MAX_SOURCE else f"{len(steps)} calls of NumPy")

    def _needed(self, slots: Sequence[int]) -> set[int]:
        """Return the slots that the value of any of ``slots`` depends on, and ``slots``."""
        needed = set(slots)
        for step in reversed(self._steps):
            if step.slot in needed:
                needed |= {a.index for a in step.args if type(a) is _Slot}
        return needed

    def _slot_of(self, value: NumPyArray) -> int:
        """Return the slot of a value; one that depends on no input gets its own."""
        slot = self._slots.get(id(value))
        return self._hold(value, "constant") if slot is None else slot

    def _record(
        self, value: object, function: Callable[..., object], args: tuple[object, ...], keywords: dict[str, object]
    ) -> Any:
        slots = tuple(_Slot(self._slots[id(a)]) if id(a) in self._slots else a for a in args)
        if not any(type(a) is _Slot for a in slots) or id(value) in self._slots:
            return value
        slot = self._hold(value, self._source(function, slots, keywords))
        self._steps.append(_Step(function, slots, keywords | _destination(function, value), slot))
        return value

    def _hold(self, value: object, source: str) -> int:
        slot = len(self._values)
        self._values.append(value)
        self._sources.append(source)
        self._slots[id(value)] = slot
        return slot

    def _source(self, function: Callable[..., object], args: Sequence[object], keywords: Mapping[str, object]) -> str:
        """Return a call as Python writes it, cut where it is too long to be read anyway."""
        texts = [self._sources[a.index] if type(a) is _Slot else _constant(a) for a in args]
        operator = _OPERATORS.get(function) if len(texts) == 2 else None
        if operator:
            return f"({texts[0]} {operator} {texts[1]})"[: 2 * MAX_SOURCE]
        name = getattr(function, "__name__", "call").lstrip("_")
        owner = getattr(function, "__self__", None)
        if isinstance(owner, np.ufunc):
            name = f"{owner.__name__}.{name}"
        if "axis" in keywords:
            texts.append(f"axis={keywords['axis']}")
        return f"np.{name}({', '.join(texts)})"[: 2 * MAX_SOURCE]


def _destination(function: Callable[..., object], value: object) -> dict[str, object]:
    """Return where a call writes its result each time, as a kernel does, where the function lets it be chosen.

    Fresh memory for each result would cost more than the work on it.
    """
    takes_out = isinstance(function, np.ufunc) or isinstance(getattr(function, "__self__", None), np.ufunc)
    if (takes_out or function is np.einsum) and isinstance(value, np.ndarray):
        return {"out": np.empty_like(value)}
    return {}


def _view_source(name: str, view: NumPyArray, size: int) -> str:
    """Return a view of an input of ``size`` elements as Python writes it, subscripts left out."""
    if view.size != size:
        return f"{name}[…]"
    return name if view.flags.c_contiguous else f"{name}.T" if view.T.flags.c_contiguous else f"{name}[…]"


def _constant(value: object) -> str:
    return "…" if isinstance(value, np.ndarray) else repr(value) if isinstance(value, str) else str(value)


def strided_view(array: NumPyArray, offset: int, shape: Sequence[int], strides: Sequence[int]) -> NumPyArray:
    """Return the view of a C-contiguous array that begins at an element, read-only."""
    start = array.reshape(-1)[offset:] if array.size else array
    return as_strided(start, shape, strides, writeable=False)
