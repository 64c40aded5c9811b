"""Instructions of traces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import FloatImm, IntImm, PrimExpr, StringImm

if TYPE_CHECKING:
    from compiler.tir.schedule.schedule import Schedule

Spelling = Callable[[Sequence[object], Sequence[object], Callable[[object], str], object], str]
"""Writes the arguments of a call: from its inputs, its attributes, what writes one of them, and its decision."""
Application = Callable[["Schedule", Sequence[object], Sequence[object], object], Sequence[Any]]
"""Applies a step to a schedule: to its inputs, its attributes and its decision; returns its outputs."""

_KINDS: dict[str, InstructionKind] = {}


@dataclass(frozen=True, slots=True, eq=False)
class InstructionKind:
    """A kind of steps; each primitive of schedules has one.

    Attributes
    ----------
    is_pure : bool
        Whether the step leaves the program as it is: it may be dropped where nobody uses what it gives.
    primitive : str
        The method of a schedule that does it.
    gives_list : bool
        Whether it gives a list, even of one block or loop.
    """

    name: str
    is_pure: bool
    primitive: str
    gives_list: bool
    spelling: Spelling = field(repr=False)
    application: Application = field(repr=False)

    @staticmethod
    def get(name: str) -> InstructionKind:
        """Return a kind by its name, e.g. ``GetBlock``.

        Raises ArgumentError if there is no such kind.
        """
        kind = _KINDS.get(name)
        if kind is None:
            raise ArgumentError(f"InstructionKind.get: there is no instruction kind {show(name)}")
        return kind

    def register(self) -> InstructionKind:
        """Let :meth:`get` know this kind.

        Raises TypeError if there is a kind of that name.
        """
        if self.name in _KINDS:
            raise TypeError(f"instruction kind {self.name!r} is already registered")
        _KINDS[self.name] = self
        return self

    def same_as(self, other: object) -> bool:
        """Return whether ``other`` is this very kind."""
        return self is other


class Instruction:
    """A step of a schedule."""

    __slots__ = ("attrs", "inputs", "kind", "outputs")

    def __init__(
        self, kind: InstructionKind, inputs: Sequence[object], attrs: Sequence[object], outputs: Sequence[object]
    ) -> None:
        self.kind = kind
        self.inputs = list(inputs)
        self.attrs = list(attrs)
        self.outputs = list(outputs)

    def same_as(self, other: object) -> bool:
        """Return whether ``other`` is this very step."""
        return self is other

    def python(self, names: Mapping[object, str], decision: object = None) -> str:
        """Return the step as a line of Python; inputs and outputs without a name are called ``_``."""
        arguments = self.kind.spelling(self.inputs, self.attrs, lambda value: value_text(value, names), decision)
        call = f"sch.{self.kind.primitive}({arguments})"
        outputs = ", ".join(names.get(rv, "_") for rv in self.outputs)
        if self.kind.gives_list and len(self.outputs) == 1:
            outputs += ","
        return f"{outputs} = {call}" if outputs else call

    def __str__(self) -> str:
        return self.python({})

    __repr__ = __str__


def value_text(value: object, names: Mapping[object, str]) -> str:
    """Return an input, an attribute or a decision as Python."""
    if isinstance(value, tuple):
        return f"({', '.join(value_text(item, names) for item in value)})"
    if isinstance(value, list):
        return f"[{', '.join(value_text(item, names) for item in value)}]"
    if isinstance(value, Mapping):
        items = (f"{value_text(key, names)}: {value_text(item, names)}" for key, item in value.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(value, (IntImm, FloatImm, StringImm)):
        return value_text(value.value, names)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if value in names:
        return names[value]
    return str(value) if isinstance(value, PrimExpr) and names else getattr(value, "python_text", "_")
