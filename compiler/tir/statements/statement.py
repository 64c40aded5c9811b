"""The base class of statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from compiler.ir.error import DTypeError, show
from compiler.ir.node import Node, node
from compiler.ir.printing.format import text_of

Annotations: TypeAlias = Mapping[str, Any]
"""Hints for passes and back ends, by their names; values are expressions, or what Python has for numbers and lists."""


@node
class Stmt(Node):
    """Base of all statements; its text is TVMScript."""

    def __str__(self) -> str:
        return text_of(self)

    __repr__ = __str__


def check_statements(owner: str, statements: object) -> None:
    """Raise an error if what a node is made of is not a sequence of statements."""
    if not isinstance(statements, Sequence) or not all(isinstance(stmt, Stmt) for stmt in statements):
        raise DTypeError(f"{owner}: expected a sequence of statements, got {show(statements)}")
