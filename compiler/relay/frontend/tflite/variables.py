"""The variables of a program, which its graphs share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from compiler.ir.expr import RelayExpr

__all__ = ["Variables"]


class Variables:
    """Values by the numbers of variables.

    Attributes
    ----------
    values : dict of int to Expr
    is_open : bool
        Whether values are assigned: while the program is initialized.
    """

    def __init__(self) -> None:
        self.values: dict[int, RelayExpr] = {}
        self.is_open = False
        self._numbers: dict[str, int] = {}

    def number(self, name: str) -> int:
        """Return the number of a variable, the same for the same name."""
        return self._numbers.setdefault(name, len(self._numbers))

    @contextmanager
    def initialized(self) -> Iterator[None]:
        """Within it values are assigned."""
        was_open, self.is_open = self.is_open, True
        try:
            yield
        finally:
            self.is_open = was_open
