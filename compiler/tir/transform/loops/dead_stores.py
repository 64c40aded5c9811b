"""Dead store elimination: stores that are overwritten, or whose memory dies, before any read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from compiler.arith.facts import is_stable
from compiler.arith.integer_region import Conjunction, Region, certain_region, possible_region
from compiler.ir.expr.primexpr import GT, LT, NE, Not, PrimExpr, Var
from compiler.ir.functor import nodes_of
from compiler.ir.node import rebuild
from compiler.tir.analysis.buffer_writes import Access, AxesOf, access_of, equations, iterations, reads_of
from compiler.tir.analysis.side_effect import has_effect
from compiler.tir.expressions.op import all as all_of
from compiler.tir.statements import stmt as tir
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.stmt import THREAD_KEYS, Stmt, seq
from compiler.tir.statements.stmt_functor import StmtExprMutator

Dead = dict[Buffer, Region]
"""The elements of each buffer whose value nobody reads from here on, in terms of its axes."""


def without_dead_stores(stmt: Stmt) -> Stmt:
    """Return a statement without stores to elements that are overwritten before they are read.

    The walk goes backwards, from the statements that overwrite to those that are overwritten. ::

        for i in range(16):            for i in range(16):
            A[i] = 1             →         A[i] = 2
        for i in range(16):
            A[i] = 2
    """
    return DeadStores().visit(stmt)


class DeadStores(StmtExprMutator):
    """Walks backwards, knowing which elements nobody reads from there on."""

    def __init__(self, removes: bool = True) -> None:
        self.removes = removes
        self._axes = AxesOf()
        self.dead: Dead = {}
        self.context = Region.everything()

    def visit_PrimExpr(self, n: PrimExpr) -> PrimExpr:
        self._read(reads_of(n))
        return n

    def visit_SeqStmt(self, n: tir.SeqStmt) -> Stmt:
        new = [self.visit(stmt) for stmt in reversed(n.seq)][::-1]
        return n if all(a is b for a, b in zip(new, n.seq, strict=True)) else seq(new)

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        access = access_of(n)
        if self.removes and self._is_dead(access):
            effects = [tir.Evaluate(e) for e in (n.value, *n.indices) if has_effect(e)]
            for effect in effects:
                self.visit(effect)
            return seq(effects)
        if (
            n.predicate is None
            and access.buffer is not None
            and not access.variables
            and all(map(is_stable, access.indices))
        ):
            overwritten = equations(self._axes[n.buffer], access.indices)
            self.dead[n.buffer] = self.dead.get(n.buffer, Region()) | overwritten
        self._read(reads_of(n))
        return n

    def _is_dead(self, access: Access) -> bool:
        if access.buffer is None or not all(map(is_stable, access.indices)):
            return False
        places = dict(zip(self._axes[access.buffer], access.indices, strict=True))
        region = self.dead.get(access.buffer, Region()).substitute(places, unknown=False)
        return region.covers(self.context & access.region)

    def visit_IfThenElse(self, n: tir.IfThenElse) -> Stmt:
        after, opposite = self.dead, Not(n.condition)
        with self.where(n.condition):
            self.dead = dict(after)
            then, dead_then = self.visit(n.then_case), self.dead
        with self.where(opposite):
            self.dead = dict(after)
            other, dead_else = None if n.else_case is None else self.visit(n.else_case), self.dead
        holds, fails = certain_region(n.condition), certain_region(opposite)
        self.dead = {}
        for buffer in {**dead_then, **dead_else}:
            a, b = dead_then.get(buffer, Region()), dead_else.get(buffer, Region())
            self.dead[buffer] = a if a == b else (a & holds) | (b & fails) | (a & b)
        self.visit(n.condition)
        return rebuild(n, then_case=then, else_case=other)

    def visit_For(self, n: tir.For) -> Stmt:
        other = Var(n.loop_var.name, n.loop_var.dtype)
        reads = reads_of(n.body)
        elsewhere = [access.renamed(n.loop_var, other) for access in reads]
        serial = n.kind in (tir.ForKind.SERIAL, tir.ForKind.UNROLLED, tir.ForKind.VECTORIZED)
        after, within, others = self.dead, iterations(n, n.loop_var), iterations(n, other)
        later = others & possible_region((LT if serial else NE)(n.loop_var, other))
        earlier = others & possible_region((GT if serial else NE)(n.loop_var, other))
        self.dead = dict(after)
        self._read(elsewhere, later, (other,))
        with self.where(all_of(n.loop_var >= n.min, n.loop_var < n.min + n.extent)):
            body = self.visit(n.body)
        self._read(elsewhere, earlier, (other,))
        inside, self.dead = self.dead, dict(after)
        self._read(reads, within, (n.loop_var,))
        for buffer, region in inside.items():
            before = _before_the_loop(region & within, n)
            self.dead[buffer] = self.dead.get(buffer, Region()) | before
        self.visit(n.min)
        self.visit(n.extent)
        return rebuild(n, body=body)

    def visit_LetStmt(self, n: tir.LetStmt) -> Stmt:
        body = self.visit(n.body)
        self.dead = {b: Region(p for p in r.parts if not p.uses(n.var)) for b, r in self.dead.items()}
        self.visit(n.value)
        return rebuild(n, body=body)

    def visit_AssertStmt(self, n: tir.AssertStmt) -> Stmt:
        body = self.visit(n.body)
        self.dead = {}  # the function may end here
        return rebuild(n, body=body)

    def visit_Allocate(self, n: tir.Allocate) -> Stmt:
        views = _views(n.body, n.buffer_var)
        if len(views) == 1:
            self.dead.update(dict.fromkeys(views, Region.everything()))
        body = self.visit(n.body)
        for view in views:
            self.dead.pop(view, None)
        return rebuild(n, body=body)

    def visit_AttrStmt(self, n: tir.AttrStmt) -> Stmt:
        if n.attr_key in THREAD_KEYS:
            return self._opaque(n)
        body = self.visit(n.body)
        self.visit(n.value)
        return rebuild(n, body=body)

    def _opaque(self, n: Stmt) -> Stmt:
        """Leave a statement as it is; it may read everything."""
        self.dead = {}
        return n

    visit_While = visit_BlockRealize = _opaque

    # The state

    @contextmanager
    def where(self, condition: PrimExpr) -> Iterator[None]:
        outside = self.context
        self.context = outside & possible_region(condition)
        try:
            yield
        finally:
            self.context = outside

    def _read(self, reads: list[Access], where: Region | None = None, variables: tuple[Var, ...] = ()) -> None:
        """Let elements be read, for all values of the variables in a region."""
        for buffer, region in self.dead.items():
            for access in reads:
                if access.is_to(buffer):
                    elements = access.elements(buffer, self._axes[buffer])
                    elements = elements if where is None else elements & where
                    region = region.minus(elements.without([*access.variables, *variables]))
            self.dead[buffer] = region


def _before_the_loop(region: Region, loop: tir.For) -> Region:
    """Return what is dead before a loop, from what is dead at the beginning of each iteration."""
    parts: list[Conjunction] = []
    for part in region.parts:
        value = part.solution(loop.loop_var)
        if value is None and is_stable(loop.min):
            value = loop.min
        if value is not None:
            parts += Region([part]).substitute({loop.loop_var: value}, unknown=False).parts
    return Region(part for part in parts if not part.uses(loop.loop_var))


def _views(stmt: Stmt, data: Var) -> list[Buffer]:
    """Return the buffers that are views of some memory."""
    return list(dict.fromkeys(n.buffer for n in nodes_of(stmt, BufferLoad, BufferStore) if n.buffer.data is data))
