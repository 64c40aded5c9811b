"""Signatures of compiled functions, as data stored beside exported machine code.

Dynamic sizes are expressions over named variables: an int, the name of a variable, or
``[operator, a, b]`` with the operators of loop IR.
"""

from __future__ import annotations

from typing import Any

import msgspec

from compiler.ir.error import ArgumentError, BuildError
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import PrimExpr, Var

Size = int | str | list[Any]
_OPERATORS = {
    kind.__name__: kind
    for kind in (expr.Add, expr.Sub, expr.Mul, expr.Div, expr.Mod, expr.FloorDiv, expr.FloorMod, expr.Min, expr.Max)
}


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One argument of a function."""

    name: str
    dtype: str
    shape: list[Size] | None = None
    """None for a scalar."""
    strides: list[Size] = []
    """In elements; empty for rows without gaps."""
    alignment: int = 1
    """Bytes that the address must be a multiple of."""
    written: bool = False
    """Whether the function writes to the array."""
    broadcast: bool = False
    """Whether the stride of a dimension of one element is 0, so that all indices mean this element."""


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of a function, in order, and how it is called."""

    name: str
    symbol: str
    """Name of the machine code, which returns 0, or ``n`` for failed assertion ``messages[n - 1]``."""
    parameters: list[Parameter]
    sizes: dict[str, str] = {}
    """Variables of the shapes, passed after the arguments, with their data types."""
    noalias: bool = True
    """Whether arrays that are written must not share memory with others."""
    threads: bool = False
    """Whether the number of threads is passed after the sizes."""
    returns: str = ""
    """Type of the value that is returned, as 64 bits at an address that is passed last; empty without one."""
    messages: list[str] = []


class SizeNames:
    """Gives variables that may share a name different ones."""

    def __init__(self) -> None:
        self._names: dict[Var, str] = {}

    def name(self, var: Var) -> str:
        """Return the unique name of a variable."""
        name = self._names.get(var)
        if name is None:
            name, taken = var.name, set(self._names.values())
            while name in taken:
                name += "_"
            self._names[var] = name
        return name

    def size(self, e: PrimExpr) -> Size:
        """Return an expression of a shape as data."""
        if isinstance(e, expr.IntImm):
            return e.value
        if isinstance(e, Var):
            return self.name(e)
        if isinstance(e, expr.Cast):
            return self.size(e.value)
        if isinstance(e, expr.BinaryOp) and type(e).__name__ in _OPERATORS:
            return [type(e).__name__, self.size(e.a), self.size(e.b)]
        raise BuildError(f"build: a shape may only use sums, products, quotients, min and max, got {e}")

    def variables(self) -> dict[Var, str]:
        """Return all variables that were named."""
        return dict(self._names)


def evaluate(size: Size, values: dict[str, int]) -> int | None:
    """Return the value of a size, or None if a variable has no value yet."""
    if isinstance(size, int):
        return size
    if isinstance(size, str):
        return values.get(size)
    a, b = evaluate(size[1], values), evaluate(size[2], values)
    if a is None or b is None:
        return None
    try:
        return int(_OPERATORS[size[0]].evaluate(a, b))
    except ZeroDivisionError:
        raise ArgumentError(f"the size {show_size(size)} divides by zero") from None


def show_size(size: Size) -> str:
    """Return a size as text."""
    if not isinstance(size, list):
        return str(size)
    symbol = _OPERATORS[size[0]].symbol
    a, b = show_size(size[1]), show_size(size[2])
    return f"({a} {symbol} {b})" if not symbol.isalpha() else f"{symbol}({a}, {b})"
