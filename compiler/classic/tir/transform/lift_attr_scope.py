"""Lifts attributes to the largest statement they hold for."""

from __future__ import annotations

from typing import TypeVar

from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.ir.expr.substitute import uses_var
from compiler.ir.node import rebuild
from compiler.ir.structural import structural_equal
from compiler.tir.analysis.features import features
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import (
    Allocate,
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
)
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.pass_base import FunctionRewrite


class LiftAttrScope(FunctionRewrite):
    """Move attributes of one key out of loops and branches, and share one among the statements of a sequence.

    For example::

        for i in range(4):                       with T.attr(cop, "coproc_uop_scope", "x"):
            with T.attr(cop, …):         →           for i in range(4):
                A[i] = A[i] + 1.0                        A[i] = A[i] + 1.0

    Memory is allocated outside of the attribute.

    Parameters
    ----------
    attr_key : str
        Which attributes move.
    """

    attr_key: str

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        if self.attr_key not in features(func).attrs:
            return func
        return func.with_body(_Lift(self.attr_key).marked(func.body))


class _Mark:
    """An attribute on its way outwards."""

    def __init__(self, n: AttrStmt) -> None:
        self.attr = n

    def same(self, other: _Mark | None) -> bool:
        """Return whether another one says the same."""
        return other is not None and self.attr.node is other.attr.node and structural_equal(self.value, other.value)

    @property
    def value(self) -> PrimExpr:
        """What the attribute says."""
        return self.attr.value

    def around(self, body: Stmt) -> Stmt:
        """Return a statement with the attribute."""
        return rebuild(self.attr, body=body)


_Binding = TypeVar("_Binding", For, LetStmt)


class _Lift(StmtMutator):
    """Takes the attributes off; what is returned bears ``mark``, unless that is None."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._mark: _Mark | None = None

    def marked(self, n: Stmt) -> Stmt:
        """Return a statement with the attribute that it bears around it."""
        body = self.visit(n)
        mark, self._mark = self._mark, None
        return body if mark is None else mark.around(body)

    def _taken(self, n: Stmt) -> tuple[Stmt, _Mark | None]:
        self._mark = None
        body = self.visit(n)
        mark, self._mark = self._mark, None
        return body, mark

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if n.attr_key == self._key:
            body = self.marked(n.body)
            self._mark = _Mark(n)
            return body
        return rebuild(n, body=self.visit(n.body))

    def visit_Allocate(self, n: Allocate) -> Stmt:
        return rebuild(n, body=self.marked(n.body))

    def visit_For(self, n: For) -> Stmt:
        return self._binding(n, n.loop_var)

    def visit_LetStmt(self, n: LetStmt) -> Stmt:
        return self._binding(n, n.var)

    def _binding(self, n: _Binding, var: Var) -> _Binding:
        body, mark = self._taken(n.body)
        if mark is not None and uses_var(mark.value, var):
            return rebuild(n, body=mark.around(body))
        self._mark = mark
        return rebuild(n, body=body)

    def visit_IfThenElse(self, n: IfThenElse) -> Stmt:
        then_case, mark = self._taken(n.then_case)
        if n.else_case is None:
            self._mark = mark
            return rebuild(n, then_case=then_case)
        else_case, other = self._taken(n.else_case)
        if mark is not None and mark.same(other):
            self._mark = mark
        else:
            then_case = then_case if mark is None else mark.around(then_case)
            else_case = else_case if other is None else other.around(else_case)
        return rebuild(n, then_case=then_case, else_case=else_case)

    def visit_SeqStmt(self, n: SeqStmt) -> Stmt:
        runs: list[tuple[list[Stmt], _Mark | None]] = []
        for stmt, mark in map(self._taken, n.seq):
            if runs and (mark.same(runs[-1][1]) if mark is not None else runs[-1][1] is None):
                runs[-1][0].append(stmt)
            else:
                runs.append(([stmt], mark))
        if len(runs) == 1:
            self._mark = runs[0][1]
            return rebuild(n, seq=tuple(runs[0][0]))
        parts = [s if mark is None else mark.around(s) for s, mark in ((_sequence(run), mark) for run, mark in runs)]
        return SeqStmt(tuple(parts))

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        return n

    def visit_Evaluate(self, n: Evaluate) -> Stmt:
        return n


def _sequence(stmts: list[Stmt]) -> Stmt:
    return stmts[0] if len(stmts) == 1 else SeqStmt(tuple(stmts))
