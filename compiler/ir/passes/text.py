"""Parses passes written as text: ``Simplify(), VectorizeLoop(enable_vectorize=False)``.

The text is that of Python calls: ``repr`` of a pass writes it, :func:`compiler.ir.transform.parse_pass` reads it.  Here
is the syntax only; which passes there are is the registry's business.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from compiler.ir.error import ArgumentError, show

P = TypeVar("P")
Make = Callable[[str, Sequence[object], Mapping[str, object]], P]


def read_calls(text: str, make: Make[P]) -> list[P]:
    """Read a list of calls, separated by commas; an option is a Python literal, or again a pass or a list of them."""
    try:
        tree = ast.parse(f"[{text}\n]", mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise ArgumentError(f"parse_pass: cannot read {show(text)}: {getattr(error, 'msg', error)}") from None
    if not isinstance(tree, ast.List) or not tree.elts:
        raise ArgumentError(f"parse_pass: expected the text of a pass, got {show(text)}")
    return [_Reader(text, make).call(element) for element in tree.elts]


class _Reader(Generic[P]):
    """Reads one expression at a time; the text stands in its errors."""

    def __init__(self, text: str, make: Make[P]) -> None:
        self._text = text
        self._make = make

    def call(self, n: ast.expr) -> P:
        if not isinstance(n, ast.Call):
            return self._make(self._name(n), (), {})
        named = {}
        for keyword in n.keywords:
            if keyword.arg is None:
                raise self._error(n)
            named[keyword.arg] = self._value(keyword.value)
        return self._make(self._name(n.func), [self._value(arg) for arg in n.args], named)

    def _name(self, n: ast.expr) -> str:
        if isinstance(n, ast.Attribute):
            return f"{self._name(n.value)}.{n.attr}"
        if not isinstance(n, ast.Name):
            raise self._error(n)
        return n.id

    def _value(self, n: ast.expr) -> object:
        match n:
            case ast.Call() | ast.Name() | ast.Attribute():
                return self.call(n)
            case ast.List(elts):
                return [self._value(e) for e in elts]
            case ast.Tuple(elts):
                return tuple(self._value(e) for e in elts)
        try:
            return ast.literal_eval(n)
        except ValueError:
            raise self._error(n) from None

    def _error(self, n: ast.expr) -> ArgumentError:
        part = show(ast.unparse(n))
        return ArgumentError(f"parse_pass: expected a pass or a literal, got {part} in {show(self._text)}")
