"""Unique names of variables in source code, by scope."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from compiler.ir.error import BuildError
from compiler.ir.expr.primexpr import Var
from compiler.ir.names import take_name


def identifier(name: str, reserved: frozenset[str]) -> str:
    """Convert a name to a valid identifier."""
    clean = re.sub(r"^_+", "_", re.sub(r"[^A-Za-z0-9_]", "_", name))  # names with two leading underscores are reserved
    clean = "v_" if clean in ("", "_") else clean
    clean = clean if clean[0].isalpha() or clean[0] == "_" else f"_{clean}"
    return f"{clean}_" if clean in reserved else clean


class Names:
    """The variables of one function."""

    def __init__(self, reserved: frozenset[str]) -> None:
        self._reserved = reserved
        self._taken: set[str] = set(reserved)
        self._names: dict[Var, str] = {}

    def define(self, var: Var) -> str:
        """Define a name for a variable that is declared here."""
        name = self.fresh(var.name)
        self.bind(var, name)
        return name

    def bind(self, var: Var, name: str) -> None:
        """Bind a variable to a name."""
        self._names[var] = name

    def fresh(self, wish: str) -> str:
        """Return a name that is not used in this scope."""
        return take_name(identifier(wish, self._reserved), self._taken)

    def __getitem__(self, var: Var) -> str:
        name = self._names.get(var)
        if name is None:
            raise BuildError(f"code generation: variable {var.name!r} is used where it has no value")
        return name

    @contextmanager
    def braces(self) -> Iterator[None]:
        """Open a scope for the names that are defined within the context."""
        taken = set(self._taken)
        try:
            yield
        finally:
            self._taken = taken
