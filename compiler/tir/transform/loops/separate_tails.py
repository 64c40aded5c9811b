"""Separation of the iterations in which guards hold, before code is generated for a CPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from compiler.arith.analyzer import Analyzer
from compiler.arith.deep_equal import deep_equal
from compiler.arith.linear.deduce_bound import deduce_bound
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import PrimExpr, Var, binary, const
from compiler.ir.expr.substitute import free_vars, substitute, uses_var
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.origin import inheriting
from compiler.ir.transform import PassContext
from compiler.tir.analysis.features import features
from compiler.tir.analysis.side_effect import is_pure
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.renewal import RenewDefs
from compiler.tir.statements.stmt import BufferStore, Evaluate, For, ForKind, IfThenElse, LetStmt, Stmt, seq
from compiler.tir.statements.stmt_functor import (
    StmtExprMutator,
    StmtMutator,
    StmtVisitor,
    pre_order_visit,
    statements_of,
)
from compiler.tir.transform.loops.vectorizer import Vectorizer
from compiler.tir.transform.pass_base import PrimFuncPass
from compiler.tir.transform.remove_no_op import RemoveNoOp
from compiler.tir.transform.simplify import Simplify

MAX_UNROLLED = 32
"""Iterations of a loop that LLVM writes out, with its guards, so that arrays of that size stay in registers."""
MAX_STATEMENTS = 512
"""Stores and calls that a loop may have after its iterations without guards were separated."""


class SeparateTails(PrimFuncPass):
    """Let the iterations in which no guard fails run without guards, as vectors where the schedule asks for them.

    A loop that VectorizeLoop left serial because of a guard is vectorised after all where the guard holds in every
    lane.  Loops around it are cut where that changes, or branch on it where they run in parallel::

        for i in range(4):                          for i in range(3):
            for lane in range(16):             →        C[i * 16:i * 16 + 16] = A[i * 16:i * 16 + 16]
                if i * 16 + lane < 56:              C[48:56] = A[48:56]
                    C[i * 16 + lane] = …

    What guards remain become bounds of the serial loops that they are in::

        for j in range(32):                         for j in range(min(32, n - i * 32)):
            if i * 32 + j < n:                 →        C[i * 32 + j] = 0.0
                C[i * 32 + j] = 0.0
    """

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        nodes = features(func).nodes
        if IfThenElse not in nodes or For not in nodes:
            return func
        plain = Simplify().transform_function(func, mod, ctx)  # writes out the common subexpressions of conditions
        sizes = {v for b in func.buffer_map.values() for v in free_vars(b.shape)}
        cut = plain.with_body(_Cut(set(sizes)).visit(plain.body))
        if cut.body is not plain.body:
            cut = RemoveNoOp().transform_function(Simplify().transform_function(cut, mod, ctx), mod, ctx)
        body = _VectorizeLanes(sizes).visit(cut.body)
        return func if body is plain.body else cut.with_body(body)


def separate_tails(module: IRModule) -> IRModule:
    """Run the pass in a build: no instrument of passes hears of it."""
    return SeparateTails().apply(module, PassContext.current())


class _Guard(NamedTuple):
    """``lead < limit``: where it holds, a guard does in all iterations of the loops inside."""

    lead: PrimExpr
    limit: int


class _Loops:
    """Knows what loops and branches around tell, for guards that are made of loop variables and sizes alone."""

    def __init__(self, known: set[Var]) -> None:
        self.analyzer = Analyzer()
        self.known = known

    def bind(self, n: For) -> None:
        """Note the range of a loop variable."""
        self.known.add(n.loop_var)
        self.analyzer.bind(n.loop_var, expr.Range.from_min_extent(n.min, n.extent), override=True)

    def comparisons(self, n: IfThenElse) -> list[expr.LT | expr.LE]:
        """Return the comparisons of indices that all have to hold for a branch without an alternative."""
        if n.else_case is not None or not is_pure(n.condition) or not self.known.issuperset(free_vars(n.condition)):
            return []
        return [
            e for e in _conjuncts(n.condition) if isinstance(e, (expr.LT, expr.LE)) and e.a.dtype in ("int32", "int64")
        ]

    def upper_bound(self, var: Var, comparison: expr.LT | expr.LE) -> PrimExpr | None:
        """Return the largest value of a variable for which a comparison holds; None if there are others."""
        holds = deduce_bound(var, comparison, {}, {})
        if holds.is_nothing() or holds.has_lower_bound() or not holds.has_upper_bound():
            return None
        return None if uses_var(holds.max_value, var) else holds.max_value


class _Cut(StmtMutator):
    """Cuts loops around lanes, and bounds serial loops."""

    def __init__(self, sizes: set[Var]) -> None:
        self._loops = _Loops(sizes)
        self._copies = 1
        self._decided: list[_Guard] = []

    def visit_For(self, n: For) -> Stmt:
        self._loops.bind(n)
        if n.is_lanes or n.kind not in (ForKind.SERIAL, ForKind.PARALLEL):
            return self._bounded(rebuild(n, body=self.visit(n.body)))
        with inheriting(n.span):
            return self._separated(n)

    def visit_IfThenElse(self, n: IfThenElse) -> Stmt:
        with self._loops.analyzer.constraint(n.condition):
            then = self.visit(n.then_case)
        return rebuild(n, then_case=then, else_case=self._visit_optional(n.else_case))

    def _separated(self, n: For) -> Stmt:
        """Visit a loop, in pieces if some of its iterations need no guards and others do."""
        guard = self._guard(n)
        if guard is None:
            return self._bounded(rebuild(n, body=self.visit(n.body)))
        limit = const(guard.limit, guard.lead.dtype)
        self._copies *= 2
        if guard.lead is n.loop_var and n.kind == ForKind.SERIAL and isinstance(n.min, expr.IntImm):
            first = rebuild(n, extent=const(guard.limit - n.min.value, n.extent.dtype))
            result = seq([self.visit(first), self._rest(n, limit)])
        else:
            result = rebuild(n, body=self._branch(n, guard))
        self._copies //= 2
        return result

    def _rest(self, n: For, begin: PrimExpr) -> Stmt:
        """Visit the last iterations of a loop; a single one needs no loop."""
        body: Stmt = RenewDefs().visit(n.body)
        extent = self._loops.analyzer.simplify(n.min + n.extent - begin)
        if isinstance(extent, expr.IntImm) and extent.value == 1:
            return self.visit(substitute(body, {n.loop_var: begin}))
        var = Var(n.loop_var.name, n.loop_var.dtype)
        body = substitute(body, {n.loop_var: var})
        return self.visit(rebuild(n, loop_var=var, min=begin, extent=extent, body=body))

    def _branch(self, n: For, guard: _Guard) -> Stmt:
        """Visit the body of a loop on either side of a condition."""
        analyzer = self._loops.analyzer
        condition = expr.LT(guard.lead, const(guard.limit, guard.lead.dtype))
        self._decided.append(guard)
        with analyzer.constraint(condition):
            free = self._body(n)
        tail: Stmt = RenewDefs().visit(n.body)
        if analyzer.const_int_bound(guard.lead).max_value == guard.limit:
            tail = _Replace(guard.lead, condition.b).visit(tail)
        with analyzer.constraint(analyzer.simplify(expr.Not(condition))):
            other = self._body(rebuild(n, body=tail))
        self._decided.pop()
        return IfThenElse(condition, free, other)

    def _body(self, n: For) -> Stmt:
        """Visit the body of a loop, on either side of a further condition where there is one."""
        guard = self._guard(n)
        if guard is None:
            return self.visit(n.body)
        self._copies *= 2
        result = self._branch(n, guard)
        self._copies //= 2
        return result

    def _guard(self, n: For) -> _Guard | None:
        """Return what separates the iterations of a loop; None where there is nothing to gain."""
        has_lanes = any(loop.is_lanes for loop in statements_of(n.body, For))
        size = sum(1 for _ in statements_of(n.body, BufferStore, Evaluate))
        if not has_lanes or 2 * self._copies * size > MAX_STATEMENTS:
            return None
        guards = _Guards(n.loop_var, self._loops)
        guards.visit(n.body)
        return min(filter(self._is_open, guards.found), key=lambda guard: guard.limit, default=None)

    def _is_open(self, guard: _Guard) -> bool:
        """Return whether no branch around decides a guard."""
        return not any(guard.limit == d.limit and deep_equal(guard.lead, d.lead) for d in self._decided)

    def _bounded(self, n: For) -> Stmt:
        """Return a serial loop that ends where the guard of its body no longer holds."""
        guard = n.body
        if not isinstance(guard, IfThenElse) or n.kind != ForKind.SERIAL:
            return n
        analyzer, extent, kept = self._loops.analyzer, n.extent, list(_conjuncts(guard.condition))
        for comparison in self._loops.comparisons(guard):
            last = self._loops.upper_bound(n.loop_var, comparison)
            if last is None:
                continue
            count = analyzer.simplify(
                expr.Max(expr.Add(expr.Sub(last, n.min), const(1, last.dtype)), const(0, last.dtype))
            )
            shorter = analyzer.simplify(binary(expr.Min, extent, count.astype(extent.dtype)))
            if not isinstance(shorter, expr.IntImm) and (n.is_lanes or _is_short(n) or _has_loop(guard)):
                continue  # LLVM unrolls a short loop; were one inside, it would make vectors of what lies apart
            extent = shorter
            kept = [e for e in kept if e is not comparison]
        if extent is n.extent:
            return n
        body = guard.then_case
        for condition in reversed(kept):
            body = IfThenElse(condition, body)
        return rebuild(n, extent=extent, body=body)


class _Guards(StmtVisitor):
    """Collects what separates the iterations of one loop: those in which guards hold whatever loops inside do."""

    def __init__(self, var: Var, loops: _Loops) -> None:
        self._var = var
        self._loops = loops
        self._inside: set[Var] = set()
        self.found: list[_Guard] = []

    def visit_For(self, n: For) -> None:
        self._loops.bind(n)
        self._inside.add(n.loop_var)
        self.visit(n.body)

    def visit_IfThenElse(self, n: IfThenElse) -> None:
        for comparison in self._loops.comparisons(n):
            self._note(comparison)
        self.visit_Node(n)

    def _note(self, comparison: expr.LT | expr.LE) -> None:
        """Note ``lead < limit`` for ``lead * c + inner < d``, if the loop's variable is in ``lead`` alone."""
        analyzer = self._loops.analyzer
        terms = list(_terms(comparison.a, 1)) + list(_terms(comparison.b, -1))
        outer = [(e, c) for e, c in terms if uses_var(e, self._var)]
        inner = [(e, c) for e, c in terms if not uses_var(e, self._var)]
        if len(outer) != 1 or outer[0][1] <= 0 or uses_var(outer[0][0], self._inside.__contains__):
            return
        lead, factor = outer[0]
        most = 1 if isinstance(comparison, expr.LT) else 0
        for e, c in inner:
            low, high = analyzer.const_int_bound(e)[:2]
            most += max(low * c, high * c)
        limit = -most // factor + 1  # lead * factor + most <= 0
        low, high = analyzer.const_int_bound(lead)[:2]
        if low < limit <= high:
            self.found.append(_Guard(lead, limit))


class _Replace(StmtExprMutator):
    """Replaces an expression wherever it occurs."""

    def __init__(self, old: PrimExpr, new: PrimExpr) -> None:
        self._old = old
        self._new = new

    def visit_BinaryOp(self, n: expr.BinaryOp) -> PrimExpr:
        if deep_equal(n, self._old):
            return self._new
        a, b = self.visit(n.a), self.visit(n.b)
        return n if a is n.a and b is n.b else type(n)(a, b)

    def visit_Var(self, n: Var) -> PrimExpr:
        return self._new if n is self._old else n


class _VectorizeLanes(StmtMutator):
    """Makes vectors of the loops over lanes that have no guard, or where it holds in all of them."""

    def __init__(self, sizes: set[Var]) -> None:
        self._loops = _Loops(sizes)

    def visit_For(self, n: For) -> Stmt:
        self._loops.bind(n)
        if not n.is_lanes or not isinstance(n.extent, expr.IntImm) or _has_shared_memory(n):
            return rebuild(n, body=self.visit(n.body))
        with inheriting(n.span):
            return self._vectorized(n, n.extent.value)

    def _vectorized(self, n: For, lanes: int) -> Stmt:
        last = n.min + const(lanes - 1, n.min.dtype)
        if lanes == 1:
            return substitute(n.body, {n.loop_var: n.min})
        guard = n.body
        if not isinstance(guard, IfThenElse):
            vector: Stmt = Vectorizer(n.loop_var, n.min, lanes).visit(n.body)
            return vector
        comparisons = self._loops.comparisons(guard)
        from_below = all(self._loops.upper_bound(n.loop_var, comparison) is not None for comparison in comparisons)
        if len(comparisons) < len(list(_conjuncts(guard.condition))) or not from_below:
            return n
        whole = substitute(guard.condition, {n.loop_var: last})
        return IfThenElse(whole, self._vectorized(rebuild(n, body=guard.then_case), lanes), n)


def _has_shared_memory(n: For) -> bool:
    """Return whether lanes store to one element, as to memory that was moved out of their loop meanwhile."""
    moving, shared = {n.loop_var}, False

    def visit(part: object) -> bool:
        nonlocal shared
        if isinstance(part, LetStmt) and uses_var(part.value, moving.__contains__):
            moving.add(part.var)
        if isinstance(part, BufferStore):
            shared = shared or not any(uses_var(index, moving.__contains__) for index in part.indices)
        return not shared

    pre_order_visit(n.body, visit)
    return shared


def _conjuncts(e: PrimExpr) -> Iterator[PrimExpr]:
    """Yield the conditions that all have to hold."""
    if isinstance(e, expr.And):
        yield from _conjuncts(e.a)
        yield from _conjuncts(e.b)
    else:
        yield e


def _is_short(n: For) -> bool:
    return isinstance(n.extent, expr.IntImm) and n.extent.value <= MAX_UNROLLED


def _has_loop(n: Stmt) -> bool:
    return next(statements_of(n, For), None) is not None


def _terms(e: PrimExpr, factor: int) -> Iterator[tuple[PrimExpr, int]]:
    """Yield the terms of a sum with their factors; a constant is a factor of 1."""
    if isinstance(e, (expr.Add, expr.Sub)):
        yield from _terms(e.a, factor)
        yield from _terms(e.b, factor if isinstance(e, expr.Add) else -factor)
    elif isinstance(e, expr.Mul) and isinstance(e.b, expr.IntImm):
        yield from _terms(e.a, factor * e.b.value)
    else:
        yield e, factor
