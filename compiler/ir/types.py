"""Types of variables that are more than a data type."""

from __future__ import annotations

from compiler.ir.node import Node, node


@node
class Type(Node):
    """Base of all types."""


@node
class PrimType(Type):
    """A scalar or vector of machine data, e.g. ``PrimType("float32")``."""

    dtype: str


@node
class PointerType(Type):
    """A pointer to elements in a storage scope."""

    element_type: PrimType
    storage_scope: str = "global"


@node
class FuncType(Type):
    """The type of a function."""

    arg_types: tuple[Type, ...]
    ret_type: Type
