"""The variables of a program, shared by its subgraphs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from compiler.ir.expr import RelayExpr

__all__ = ["Variables"]


class Variables:
    """The values of variables by number; they are assigned during initialisation only, while it is open."""

    def __init__(self) -> None:
        self.values: dict[int, RelayExpr] = {}
        self.is_open = False
        self._numbers: dict[str, int] = {}

    def number(self, name: str) -> int:
        """Return the number of a variable with a name."""
        return self._numbers.setdefault(name, len(self._numbers))

    @contextmanager
    def initialized(self) -> Iterator[None]:
        """Allow assignments within the context."""
        was_open, self.is_open = self.is_open, True
        try:
            yield
        finally:
            self.is_open = was_open
