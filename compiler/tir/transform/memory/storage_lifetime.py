"""Lifetimes of allocations: from the first use of a buffer to the last."""

from __future__ import annotations

from compiler.ir.expr.primexpr import IntImm, IterVar, PrimExpr, Var
from compiler.ir.expr.substitute import free_vars
from compiler.ir.functor import Visitor, nodes_of
from compiler.ir.node import Node
from compiler.tir.statements import stmt as tir
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.stmt import THREAD_KEYS, Stmt


class Lifetime:
    """When a buffer is alive, at the level of the statements beside its allocation.

    It is alive between the times ``first`` and ``last``, both included; ``last`` is -1 if nothing touches it.
    """

    __slots__ = ("alloc", "depth", "first", "first_stmt", "last", "last_stmt", "movable", "region")

    def __init__(self, alloc: tir.Allocate, region: Stmt | None, depth: int, movable: bool) -> None:
        self.alloc = alloc
        # the parallel loop or thread that the memory belongs to, where it can be allocated; None for the function
        self.region = region
        self.depth = depth
        self.movable = movable  # whether it can be allocated there at all: its size must be known there
        self.first = self.last = -1
        # the statements beside the allocation that touch it first and last
        self.first_stmt: Stmt | None = None
        self.last_stmt: Stmt | None = None

    def extend(self, first: int, last: int, stmt: Stmt) -> None:
        """Let the buffer be alive during a statement that runs from ``first`` to ``last``."""
        if self.first < 0:
            self.first, self.first_stmt = first, stmt
        if last > self.last:
            self.last, self.last_stmt = last, stmt


class _Scope:
    """A loop or a branch that is being walked."""

    __slots__ = ("enter", "stmt", "touched")

    def __init__(self, stmt: Stmt, enter: int) -> None:
        self.stmt = stmt
        self.enter = enter
        self.touched: dict[Lifetime, None] = {}


class Lifetimes(Visitor):
    """Walks a function body in the order of execution and notes when each allocation is touched.

    A buffer that is allocated beside a loop and touched within it is alive during the whole loop; one that is
    allocated within the loop is alive only between the statements of the loop's body that touch it, for what it
    holds does not outlive an iteration.
    """

    def __init__(self, body: Stmt) -> None:
        self.lifetimes: dict[Var, Lifetime] = {}
        self._time = 0
        self._scopes: list[_Scope] = []
        self._regions: list[tuple[Stmt | None, set[Var]]] = [(None, set())]
        self._leaf: Stmt = body
        self.visit(body)

    def _touch(self, data: Var) -> None:
        life = self.lifetimes.get(data)
        if life is None:
            return
        if len(self._scopes) > life.depth:
            self._scopes[life.depth].touched[life] = None
        else:
            life.extend(self._time, self._time, self._leaf)

    def _leaf_stmt(self, n: Stmt, *parts: Node) -> None:
        self._time += 1
        self._leaf = n
        self._uses(parts)

    def _uses(self, e: object) -> None:
        for part in nodes_of(e, Var, BufferLoad):
            self._touch(part.buffer.data if isinstance(part, BufferLoad) else part)

    def _scope(self, n: Stmt, values: tuple[PrimExpr, ...], *bodies: Stmt | None) -> None:
        """Walk a loop or a branch: what it touches of the outside is alive from its beginning to its end."""
        self._time += 1
        scope = _Scope(n, self._time)
        self._scopes.append(scope)
        self._leaf_stmt(n, *values)
        for body in bodies:
            if body is not None:
                self.visit(body)
        self._time += 1
        self._scopes.pop()
        for life in scope.touched:
            life.extend(scope.enter, self._time, n)

    def visit_PrimExpr(self, n: PrimExpr) -> None:
        self._uses(n)

    def visit_BufferStore(self, n: tir.BufferStore) -> None:
        self._leaf_stmt(n, n.value, *n.indices)
        self._touch(n.buffer.data)

    def visit_Evaluate(self, n: tir.Evaluate) -> None:
        self._leaf_stmt(n, n.value)

    def visit_LetStmt(self, n: tir.LetStmt) -> None:
        self._leaf_stmt(n, n.value)
        self._regions[-1][1].add(n.var)
        self.visit(n.body)

    def visit_For(self, n: tir.For) -> None:
        own = n.kind in (tir.ForKind.PARALLEL, tir.ForKind.THREAD_BINDING)
        if own:
            self._regions.append((n, set()))
        else:
            self._regions[-1][1].add(n.loop_var)
        self._scope(n, (n.min, n.extent), n.body)
        if own:
            self._regions.pop()

    def visit_While(self, n: tir.While) -> None:
        self._scope(n, (n.condition,), n.body)

    def visit_IfThenElse(self, n: tir.IfThenElse) -> None:
        self._scope(n, (n.condition,), n.then_case, n.else_case)

    def visit_AttrStmt(self, n: tir.AttrStmt) -> None:
        self._leaf_stmt(n, n.value)
        if isinstance(n.node, Var):
            self._touch(n.node)
        if n.attr_key not in THREAD_KEYS or not isinstance(n.node, IterVar):
            self.visit(n.body)
        elif any(isinstance(region, tir.AttrStmt) for region, _ in self._regions):
            self._regions[-1][1].add(n.node.var)
            self._scope(n, (), n.body)
        else:
            self._regions.append((n, set()))
            self._scope(n, (), n.body)
            self._regions.pop()

    def visit_Allocate(self, n: tir.Allocate) -> None:
        region, bound = self._regions[-1]
        plain = isinstance(n.condition, IntImm) and n.condition.value != 0
        movable = plain and not any(v in bound for e in n.extents for v in free_vars(e))
        self._leaf_stmt(n, *n.extents)
        self.lifetimes[n.buffer_var] = Lifetime(n, region, len(self._scopes), movable)
        self.visit(n.body)
