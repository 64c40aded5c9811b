"""Sets spans to the lines of the printed loop IR."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.ir.node import Node, duplicate
from compiler.ir.origin import derived_from
from compiler.ir.source_span import SourceName, Span
from compiler.tir.printing.printer import script
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import SeqStmt, Stmt
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.pass_base import FunctionRewrite


class InstallDebugSpans(FunctionRewrite):
    """Let statements and expressions come from the lines of the function's text, in place of the program's.

    For the function ``main``, the source is called ``main.tir``, and its lines are those of ``mod["main"].script()``::

        3  @T.prim_func
        4  def main(A: T.Buffer((8,), "float32")):
        5      for i in range(8):                           the loop: main.tir:5
        6          A[i] = A[i] + T.float32(1.0)             the store, the sum and the number: main.tir:6

    Variables keep their spans: a variable is one object wherever it is used.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        name = func.attrs.get("global_symbol") or "main"
        positions = script(func).positions
        return func.with_body(_Install(SourceName(f"{name}.tir"), positions).visit(func.body))


class _Install(StmtExprMutator):
    def __init__(self, source: SourceName, positions: Mapping[Node, tuple[int, int]]) -> None:
        self._source = source
        self._positions = positions
        self._spans: dict[int, Span] = {}
        self._line: int | None = None

    def visit_Node(self, n: Node) -> Any:
        around = self._line
        line = self._line = self._line_of(n)
        new = super().visit_Node(n)
        self._line = around
        if line is None or not isinstance(n, (PrimExpr, Stmt)):
            return new
        with derived_from(self._span(line)):
            return duplicate(new, {})

    def visit_Var(self, n: Var) -> PrimExpr:
        return n

    def _line_of(self, n: Node) -> int | None:
        """Return the line where a node was first written; what has no text of its own is on the line around it."""
        if isinstance(n, SeqStmt):
            return self._line_of(n.seq[0])
        position = self._positions.get(n)
        return self._line if position is None else position[0]

    def _span(self, line: int) -> Span:
        if line not in self._spans:
            self._spans[line] = Span(self._source, line, line, 0, 0)
        return self._spans[line]
