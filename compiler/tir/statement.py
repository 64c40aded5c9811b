"""The base of all statements."""

from __future__ import annotations

from compiler.ir.node import Node, node
from compiler.ir.text_format import text_of

__all__ = ["Stmt"]


@node
class Stmt(Node):
    """Base of all statements; its text is TVMScript."""

    def __str__(self) -> str:
        return text_of(self)

    __repr__ = __str__
