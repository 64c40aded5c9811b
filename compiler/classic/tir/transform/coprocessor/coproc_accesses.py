"""Accesses to the memory that the host shares with a coprocessor."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from compiler.arith.int_set import IntervalSet, IntSet
from compiler.arith.interval_arithmetic import eval_set
from compiler.ir.expr.primexpr import Call, IntImm, IterVar, Range, Var
from compiler.ir.functor import Visitor
from compiler.tir.expressions.builtin import ACCESS_PTR
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.stmt import (
    Allocate,
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    Stmt,
    While,
)

COPROC_SCOPE = "coproc_scope"
"""Attribute whose body a coprocessor carries out: its subject is the coprocessor, its value the unit of it."""


@dataclass(frozen=True, slots=True)
class Access:
    """An access to memory."""

    data: Var
    dtype: str
    writes: bool
    by_coproc: bool  # whether the coprocessor does it, not the host
    box: tuple[IntervalSet, ...]  # the elements, for each dimension


@dataclass(frozen=True, slots=True)
class Step:
    """A statement of a sequence, and what it accesses; None stands for a wait for the coprocessor."""

    stmt: Stmt
    accesses: tuple[Access | None, ...]


class AccessPlanner(Visitor):
    """Walks a function, and lets a subclass plan what is inserted into each sequence of statements."""

    def __init__(self, shared: set[Var] | None = None) -> None:
        self._shared = shared
        self.coprocs: list[IterVar] = []  # the coprocessors that carry out parts of the function
        self._steps: list[Step] = []
        self._accesses: list[Access | None] = []
        self._in_coproc = False

    @abstractmethod
    def plan(self, steps: Sequence[Step], loop: For | While | None) -> list[Access | None]:
        """Plan what is inserted between the statements of a sequence, the body of ``loop`` if that is given.

        Return what the statements around must know of its accesses.
        """

    def run(self, body: Stmt) -> list[Access | None]:
        """Plan for a whole function; return the accesses that are left at its end."""
        steps = self._sequence(body)
        return self.plan(steps, None)

    def _sequence(self, body: Stmt) -> list[Step]:
        outer, self._steps = self._steps, []
        self.visit(body)
        steps, self._steps = self._steps, outer
        return steps

    def _leaf(self, stmt: Stmt) -> None:
        accesses, self._accesses = self._accesses, []
        self._steps.append(Step(stmt, tuple(accesses)))

    def _loop(self, stmt: For | While, accesses: Iterable[Access | None]) -> None:
        """Add a loop, unless what it accesses is of no interest."""
        step = Step(stmt, tuple(accesses))
        if step.accesses:
            self._steps.append(step)

    def _access(self, data: Var, dtype: str, writes: bool, box: Iterable[IntervalSet]) -> None:
        if self._shared is None or data in self._shared:
            self._accesses.append(Access(data, dtype, writes, self._in_coproc, tuple(box)))

    def _taken(self) -> list[Access | None]:
        accesses, self._accesses = self._accesses, []
        return accesses

    def visit_BufferStore(self, n: BufferStore) -> None:
        self._access(n.buffer.data, n.buffer.dtype, True, map(IntSet.vector, n.indices))
        self.visit_Node(n)
        self._leaf(n)

    def visit_Evaluate(self, n: Evaluate) -> None:
        self.visit_Node(n)
        self._leaf(n)

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        self._access(n.buffer.data, n.buffer.dtype, False, map(IntSet.vector, n.indices))
        self.visit_Node(n)

    def visit_Call(self, n: Call) -> None:
        if n.op is not ACCESS_PTR:
            self.visit_Node(n)
            return
        kind, data, offset, extent, mask = n.args
        self.visit(offset)
        self.visit(extent)
        if isinstance(data, Var) and isinstance(mask, IntImm):
            box = (IntSet.from_range(Range.from_min_extent(offset, extent)),)
            for writes in (False, True):
                if mask.value & (2 if writes else 1):
                    self._access(data, kind.dtype, writes, box)

    def visit_LetStmt(self, n: LetStmt) -> None:
        self.visit(n.value)
        self._leaf(n)
        self.visit(n.body)

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        if n.attr_key != COPROC_SCOPE or not isinstance(n.node, IterVar):
            self.visit_Node(n)
            return
        if n.node not in self.coprocs:
            self.coprocs.append(n.node)
        outer, self._in_coproc = self._in_coproc, True
        self.visit(n.body)
        self._in_coproc = outer

    def visit_Allocate(self, n: Allocate) -> None:
        self.visit(n.body)

    def visit_For(self, n: For) -> None:
        domain = {n.loop_var: IntSet.from_range(Range.from_min_extent(n.min, n.extent))}
        accesses = self.plan(self._sequence(n.body), n)
        self._loop(n, [None if a is None else _over(a, domain) for a in accesses])

    def visit_While(self, n: While) -> None:
        self.visit(n.condition)
        condition = self._taken()
        self._loop(n, [*condition, *self.plan(self._sequence(n.body), n)])

    def visit_IfThenElse(self, n: IfThenElse) -> None:
        self.visit(n.condition)
        accesses = self._taken()
        for case in (n.then_case, n.else_case):
            if case is not None:
                accesses += self.plan(self._sequence(case), None)
        self._steps.append(Step(n, tuple(accesses)))


def _over(access: Access, domain: dict[Var, IntervalSet]) -> Access:
    """Return what all iterations of a loop access together."""
    return replace(access, box=tuple(eval_set(s, domain) for s in access.box))


class SharedMemory(AccessPlanner):
    """Finds the memory that both the host and a coprocessor access."""

    def plan(self, steps: Sequence[Step], loop: For | While | None) -> list[Access | None]:
        return [access for step in steps for access in step.accesses]

    def of(self, body: Stmt) -> set[Var]:
        """Return the pointers to the memory that both access in a function."""
        accesses = [a for a in self.run(body) if a is not None]
        host = {a.data for a in accesses if not a.by_coproc}
        return {a.data for a in accesses if a.by_coproc and a.data in host}
