"""Identity of variables: what distinguishes variables of the same name or type."""

from __future__ import annotations

from compiler.ir.node import Node


class Id:
    """The identity of a variable: two are the same if the variables are one object, or matched by a comparison."""

    __slots__ = ("var",)

    def __init__(self, var: Node) -> None:
        self.var = var

    @property
    def name_hint(self) -> str:
        """The name of the variable."""
        return str(getattr(self.var, "name_hint", ""))

    def same_as(self, other: object) -> bool:
        """Return whether another identity is that of the same variable."""
        return self == other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Id) and other.var is self.var

    def __hash__(self) -> int:
        return hash(self.var)

    def __repr__(self) -> str:
        return f"Id({self.name_hint})"
