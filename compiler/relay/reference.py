"""Mutable references: what makes, reads and writes them."""

from __future__ import annotations

from typing import ClassVar

from compiler.ir.expr import RelayExpr
from compiler.ir.node import node
from compiler.relay.expr import Expr


@node
class RefCreate(Expr):
    """A new mutable reference."""

    children: ClassVar[tuple[str, ...]] = ("value",)

    value: RelayExpr


@node
class RefRead(Expr):
    """The value that a reference holds."""

    children: ClassVar[tuple[str, ...]] = ("ref",)

    ref: RelayExpr


@node
class RefWrite(Expr):
    """Lets a reference hold another value, of the type that it was created with; the expression is the empty tuple."""

    children: ClassVar[tuple[str, ...]] = ("ref", "value")

    ref: RelayExpr
    value: RelayExpr
