"""Dependence tokens between the units of a coprocessor, pushed by one unit and popped by another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from compiler.classic.tir.transform.coprocessor.coproc_accesses import COPROC_SCOPE
from compiler.ir.error import LoweringError, show
from compiler.ir.expr.primexpr import IntImm, IterVar
from compiler.tir.statements.stmt import AttrStmt, For, IfThenElse, Stmt, While
from compiler.tir.statements.stmt_functor import StmtVisitor

Token = tuple[int, int]
"""From which unit to which one."""


@dataclass
class _Work:
    """A statement that units of the coprocessor carry out."""

    stmt: Stmt
    # the units that may begin, and those that may end, those of a later branch before those of an earlier one
    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    # the tokens that the statement pops although none within it has pushed them before
    pops: list[Token] = field(default_factory=list)
    pushes: list[Token] = field(default_factory=list)  # the tokens that it pushes and leaves behind


class Dependences(StmtVisitor):
    """Plans the tokens of a function: a unit waits for the one that worked before it, also around loops."""

    def __init__(self, coproc: IterVar, push: Callable[..., Stmt], pop: Callable[..., Stmt]) -> None:
        self._coproc = coproc
        self._push = push
        self._pop = pop
        self._works: list[_Work] = []
        # what is inserted before and after a statement
        self.before: dict[Stmt, list[Stmt]] = {}
        self.after: dict[Stmt, list[Stmt]] = {}

    def run(self, body: Stmt) -> None:
        """Plan for a whole function."""
        self._closed(self._within(body))

    def _within(self, body: Stmt) -> list[_Work]:
        """Return what is carried out one after the other in a statement, with the tokens between it planned."""
        outer, self._works = self._works, []
        self.visit(body)
        works, self._works = self._works, outer
        return works

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        if n.attr_key != COPROC_SCOPE or n.node is not self._coproc:
            self.visit_Node(n)
            return
        if not isinstance(n.value, IntImm):
            raise LoweringError(f"CoProcSync: {COPROC_SCOPE} must name a unit by a constant, got {show(n.value)}")
        self._add(_Work(n.body, [n.value.value], [n.value.value]))

    def visit_For(self, n: For) -> None:
        self._loop(n)

    def visit_While(self, n: While) -> None:
        self._loop(n)

    def _loop(self, n: For | While) -> None:
        works = self._within(n.body)
        if works:
            pushes, pops = self._order(works[-1], works[0])
            self._add(_Work(n, works[0].first, works[-1].last, pops, pushes))

    def visit_IfThenElse(self, n: IfThenElse) -> None:
        work = _Work(n)
        for case in (n.then_case, n.else_case):
            works = [] if case is None else self._within(case)
            if works:
                self._closed(works)
                work.first = _with_later(work.first, works[0].first)
                work.last = _with_later(work.last, works[-1].last)
        if work.first:
            self._add(work)

    def _add(self, work: _Work) -> None:
        if self._works:
            self._order(self._works[-1], work)
        self._works.append(work)

    def _closed(self, works: Sequence[_Work]) -> None:
        """Push what the first statement pops, and pop what the last one leaves behind."""
        if works:
            self._insert(self.before, works[0], [self._push(*token) for token in works[0].pops])
            self._insert(self.after, works[-1], [self._pop(*token) for token in works[-1].pushes])

    def _order(self, work: _Work, following: _Work) -> tuple[list[Token], list[Token]]:
        """Let a statement's units wait for those of another one; return the tokens between them."""
        needed = [(a, b) for a in work.last for b in following.first if a != b]
        pushed = [token for token in needed if token not in work.pushes]
        popped = [token for token in needed if token not in following.pops]
        pushes, pops = work.pushes + pushed, following.pops + popped
        after = [self._push(*token) for token in pushed]
        after += [self._pop(*token) for token in pushes if token not in pops]
        before = [self._pop(*token) for token in popped]
        before += [self._push(*token) for token in pops if token not in pushes]
        self._insert(self.after, work, after)
        self._insert(self.before, following, before)
        return [token for token in pushes if token in pops], [token for token in pops if token in pushes]

    def _insert(self, place: dict[Stmt, list[Stmt]], work: _Work, stmts: list[Stmt]) -> None:
        if stmts:
            place.setdefault(work.stmt, []).extend(stmts)


def _with_later(units: list[int], later: list[int]) -> list[int]:
    return [*(unit for unit in reversed(later) if unit not in units), *units]
