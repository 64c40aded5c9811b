"""Base of functions at all levels: names, attributes and calls."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.node import node
from compiler.ir.printing.format import Annotation, format_of

__all__ = ["BaseFunc", "CallingConv", "DefinedName", "GlobalVar", "as_function", "register_call_maker"]


@node
class GlobalVar(RelayExpr):
    """The name of a function of a module; calling it makes a call of that function."""

    name_hint: str

    def __call__(self, *args: object) -> Any:
        """Return the call of the function with these arguments."""
        kind = type(args[0]) if args else RelayExpr
        make = next((_CALL_MAKERS[base] for base in kind.__mro__ if base in _CALL_MAKERS), _CALL_MAKERS[RelayExpr])
        return make(self, args)

    def astext(self, show_meta_data: bool = True, annotate: Annotation | None = None) -> str:
        """Return the name as a whole text, with the version of the format."""
        return format_of(self).astext(self, show_meta_data, annotate)

    def __repr__(self) -> str:
        return f"@{self.name_hint}"

    __str__ = __repr__


CallMaker = Callable[[GlobalVar, Sequence[Any]], Any]
_CALL_MAKERS: dict[type, CallMaker] = {}


def register_call_maker(kind: type, make: CallMaker) -> None:
    """Let ``make(function, args)`` make the calls of global functions whose first argument is of a class.

    A call without arguments, or whose first one is of no registered class, belongs to ``RelayExpr``.
    """
    _CALL_MAKERS[kind] = make


@node
class BaseFunc(RelayExpr):
    """Base of the functions of all levels."""

    def with_attrs(self, attr_map: Mapping[str, object]) -> object:
        """Return the function with more attributes."""
        return self.with_attr(attr_map)  # type: ignore[attr-defined]


class CallingConv(IntEnum):
    """How a function is called: as the machine does, with rows of values and kinds, or by a device's driver."""

    DEFAULT = 0
    C_PACKED_FUNC = 1
    DEVICE_KERNEL_LAUNCH = 2


class DefinedName(str):
    """The global symbol of a function that is called so where it is defined, but whose program states none.

    Two such functions have the same structure whatever they are called: a program before a pass and the one that is
    expected after it have different names in the file that defines both.
    """

    __slots__ = ()


@functools.singledispatch
def as_function(expr: object) -> BaseFunc:
    """Return a function whose body is an expression and whose parameters are the free variables of the expression.

    Each level that has expressions registers how, by their class.
    """
    raise ArgumentError(f"as_function: expected an expression or a function, got {show(expr)}")


@as_function.register
def _(func: BaseFunc) -> BaseFunc:
    return func
