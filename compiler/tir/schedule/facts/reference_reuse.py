"""Reuse of block and loop references when statements are replaced."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.ir.expr.primexpr import Var
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.statements.block import Block
from compiler.tir.statements.stmt import For, Stmt


class ReferenceReuse:
    """Which references the loops and blocks of a replacement keep."""

    def __init__(self, old: list[StmtSRef], blocks: Mapping[Block, Block]) -> None:
        self._by_stmt: dict[Stmt, StmtSRef] = {sref.stmt: sref for sref in old if sref.stmt is not None}
        self._by_var: dict[Var, StmtSRef] = {sref.loop.loop_var: sref for sref in old if isinstance(sref.stmt, For)}
        self._by_stmt.update({new: self._by_stmt[former] for former, new in blocks.items() if former in self._by_stmt})
        self._left = dict.fromkeys(old)

    def insist(self, node: Stmt, sref: StmtSRef) -> None:
        """Let a reference refer to ``node`` whatever it is: that of a function's root block."""
        self._by_stmt[node] = sref

    def take(self, node: Block | For) -> StmtSRef:
        """Return the reference that ``node`` keeps, or a new one; each is taken once."""
        sref = self._by_stmt.get(node)
        if sref is None and isinstance(node, For):
            sref = self._by_var.get(node.loop_var)
        if sref is None or sref not in self._left:
            return StmtSRef(node)
        del self._left[sref]
        return sref

    def abandoned(self) -> list[StmtSRef]:
        """Return the references that refer to nothing any more."""
        return list(self._left)
