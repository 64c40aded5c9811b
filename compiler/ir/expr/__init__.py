"""Base classes of Relay expressions and of functions at all levels."""

from __future__ import annotations

import typing
from dataclasses import field
from typing import Any

from compiler.ir.error import ArgumentError
from compiler.ir.extension import public_module
from compiler.ir.node import Node, node
from compiler.ir.types import Type


def set_checked_type(expr: RelayExpr, t: Type | None) -> None:
    """Fill in the one field of an expression that is filled in later."""
    unfrozen: Any = expr
    unfrozen.checked_type_ = t


@node
class BaseExpr(Node):
    """Base of the expressions of all levels: of scalars in loops, and of graphs."""


@node
class RelayExpr(BaseExpr):
    """An expression that has a type, once inference has found it.

    ``checked_type_`` is the one thing about a node that is filled in later: it follows from the node and is not part of
    its structure, so a rebuilt node begins without it.
    """

    checked_type_: Type | None = field(default=None, kw_only=True)

    @property
    def checked_type(self) -> Any:
        """The inferred type."""
        if self.checked_type_ is None:
            raise ArgumentError(
                f"checked_type: the type of this {type(self).__name__} has not been inferred; "
                "run relay.transform.InferType() on the module first"
            )
        return self.checked_type_


if not typing.TYPE_CHECKING:  # a type checker knows all names, and refuses others
    __getattr__, __dir__ = public_module("tvm.ir.expr", ["BaseExpr", "RelayExpr"])
