"""What variables are called in a text: by their own names, made unique and plain enough to be read back."""

from __future__ import annotations

import re
from typing import Any

from compiler.ir.names import free_name
from compiler.ir.types import TypeVar
from compiler.relay.expr import Var

_ODD = re.compile(r"[^A-Za-z0-9_./]|[./](?![A-Za-z0-9_])")
_ODD_IN_SHAPES = re.compile(r"[^A-Za-z0-9_.]|\.(?![A-Za-z0-9_])")
_FIELD = re.compile(r"\.\d+$")


class Names:
    """The names of a text.

    Variables keep theirs for the whole text; those of types are open only inside of the function that binds them.
    """

    def __init__(self) -> None:
        self._names: dict[object, str] = {}
        self._taken: set[str] = set()
        self._count: dict[str, int] = {}
        self._type_names: dict[TypeVar, str] = {}
        self._dims: dict[object, str] = {}

    def variable(self, var: Var) -> str:
        """Return the name of a variable, and give it one if it has none yet."""
        name = self._names.get(var)
        if name is None:
            name = self._names[var] = self._unique(var.name_hint)
        return name

    def _unique(self, hint: str) -> str:
        hint = _ODD.sub("_", hint) or "v"
        if not (hint[0].isalpha() or hint[0] == "_"):
            hint = "v" + hint
        name = self._plain(hint)
        while name in self._taken:
            self._count[hint] = self._count.get(hint, 0) + 1
            name = self._plain(f"{hint}{self._count[hint]}")
        self._taken.add(name)
        base = _FIELD.sub("", name)
        if base != name:
            self._taken.add(base)  # a tuple of that name would have elements of this name
        return name

    def _plain(self, name: str) -> str:
        """``%x.1`` is element 1 of ``%x`` unless a variable has that name, so there must not be both."""
        return name.replace(".", "_") if _FIELD.sub("", name) in self._taken else name

    def open_types(self, variables: tuple[TypeVar, ...]) -> None:
        """Let type variables have names from here on."""
        for v in variables:
            self.type_variable(v)

    def close_types(self, variables: tuple[TypeVar, ...]) -> None:
        """Take the names of type variables back."""
        for v in variables:
            self._type_names.pop(v, None)

    def type_variable(self, v: TypeVar) -> str:
        """Return the name of a type variable."""
        name = self._type_names.get(v)
        if name is None:
            name = free_name(v.name_hint, self._type_names.values(), "")
            self._type_names[v] = name
        return name

    def dimension(self, var: Any) -> tuple[str, bool]:
        """Return the name of a variable in shapes, and whether it is new."""
        if var in self._dims:
            return self._dims[var], False
        name = self._dims[var] = free_name(_ODD_IN_SHAPES.sub("_", var.name), self._dims.values(), "")
        return name, True
