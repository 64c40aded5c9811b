"""The format of serialised schedules: version, limits, errors and numbering, shared by writer and reader."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import IterVar
from compiler.ir.node import Node
from compiler.te.definition.tensor import Operation, Tensor

VERSION = 1
"""Of the text; it grows when a reader of the version before would misunderstand what is written."""
MAX_BYTES = 1 << 20
"""Length of a text."""


class ProgramError(TVMError, ValueError):
    """A text that is not a program."""


class NotExpressible(TVMError):
    """A program that a text cannot hold, such as one that calls a function of another language."""


class Values:
    """The axes, tensors and operations of a schedule by number, in the order in which they are made.

    Writer and reader count the same things in the same order: the operations as they were defined, then what each
    primitive returned and the operations that it made.  Declared axes, of reductions and of threads, have own numbers.
    """

    def __init__(self, declared: Iterable[IterVar]) -> None:
        self._declared = set(declared)
        self._numbers: dict[Node, int] = {}
        self._values: list[Node] = []

    def __len__(self) -> int:
        return len(self._values)

    def add(self, made: object) -> None:
        """Give numbers to the axes, tensors and operations that were made and have none yet.

        An operation comes with its axes and outputs.
        """
        if isinstance(made, (list, tuple)):
            for item in made:
                self.add(item)
        elif isinstance(made, Tensor):
            self.add(made.op)
        elif isinstance(made, Operation):
            if self._number(made):
                for part in (*made.root_iter_vars, *made.outputs):
                    self._number(part)
        elif isinstance(made, IterVar):
            self._number(made)

    def _number(self, value: Node) -> bool:
        """Give a number to a value; return whether it had none."""
        if value in self._numbers or value in self._declared:
            return False
        self._numbers[value] = len(self._values)
        self._values.append(value)
        return True

    def number_of(self, value: Node) -> int | None:
        """Return the number of a value, or None if it has none."""
        return self._numbers.get(value)

    def at(self, number: int) -> Node:
        """Return the value of a number."""
        return self._values[number]
