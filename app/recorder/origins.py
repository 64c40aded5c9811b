"""Conversion of the compiler's origin table to the rows of an answer.

The table of :mod:`compiler.ir.origin` has the origins of the user's lines.  The final loop IR listing adds a row per
printed node, so that LLVM IR and assembly can refer to it.
"""

from __future__ import annotations

from app.artifacts import SCRIPT_NAME, Origin
from compiler.ir.origin import OriginTable


class OriginRows:
    """The origin rows of an answer: those of the compiler's table, followed by those of listings."""

    def __init__(self, table: OriginTable) -> None:
        self._table = table
        self._minted: list[tuple[str, str, int, int, list[int]]] = []

    def mint(self, level: str, label: str, line: int, column: int, parents: list[int]) -> int:
        """Add a row for a position of a listing and return its id."""
        self._minted.append((level, label, line, column, parents))
        return _MINTED_FROM + len(self._minted) - 1

    def rows(self) -> list[Origin]:
        """Return all rows, those of the table first."""
        rows = []
        for row in self._table.rows:
            # Frames of the explorer itself have no user line.
            at = row.location if row.location and row.location.file == SCRIPT_NAME else None
            line, column = (at.line, at.column) if at else (None, None)
            rows.append(Origin(row.id, row.level, row.label, line, column, sorted(row.parents)))  # type: ignore[arg-type]
        for index, (level, label, line, column, parents) in enumerate(self._minted):
            rows.append(Origin(_MINTED_FROM + index, level, label, line, column, parents))  # type: ignore[arg-type]
        return rows


_MINTED_FROM = 1_000_000
"""The first id of rows of listings, beyond those of the compiler's growing table."""
