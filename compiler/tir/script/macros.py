"""``T.macro``: program fragments that are expanded where they are called."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from compiler.ir.error import ArgumentError
from compiler.tir.script.operators import Value
from compiler.tir.script.source import Source


@dataclass(frozen=True)
class MetaVariable:
    """``T.meta_var(value)``: a Python value that a name stands for while a program is read."""

    value: Value


def meta_var(value: object) -> MetaVariable:
    """Give a name to a Python value, instead of binding a variable of the program: ``n = T.meta_var(4 * k)``."""
    return MetaVariable(value)


@dataclass(frozen=True)
class Macro:
    """Statements with parameters; used as a statement, they stand there with arguments in place of the parameters."""

    source: Source
    definition: ast.FunctionDef  # its statements, which are never run as Python
    signature: inspect.Signature
    environment: Mapping[str, Value]  # what the names of the file meant where it was defined
    # whether names that are not parameters mean what they do where it is defined, instead of where it is used
    hygienic: bool = True
    receiver: tuple[object, ...] = ()  # the object whose method it is, if any

    def __get__(self, instance: object, owner: type | None = None) -> Macro:
        """Return the macro with the object that it is a method of as its first argument."""
        return self if instance is None else replace(self, receiver=(instance,))

    def __call__(self, *args: object, **options: object) -> Value:
        """Refuse to run as Python."""
        raise ArgumentError(f"T.macro: {self.definition.name!r} may only be used as a statement in TVMScript")

    def bound(self, args: Sequence[object], options: Mapping[str, object]) -> dict[str, Value]:
        """Return what each parameter stands for."""
        arguments = self.signature.bind(*self.receiver, *args, **options)
        arguments.apply_defaults()
        return dict(arguments.arguments)
