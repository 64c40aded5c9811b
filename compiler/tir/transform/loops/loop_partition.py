"""Loop partitioning: separates the iterations for which a guard always holds."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from compiler.arith.analyzer import Analyzer
from compiler.arith.int_set import IntervalSet, to_set
from compiler.arith.linear.deduce_bound import deduce_bound
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Range, Var, binary, const
from compiler.ir.expr.substitute import free_vars, substitute, uses_var
from compiler.ir.functor import Mutator, Visitor
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.origin import inheriting
from compiler.ir.structural import structural_equal
from compiler.ir.transform import PassContext
from compiler.tir.analysis.features import features
from compiler.tir.analysis.side_effect import is_pure
from compiler.tir.expressions.builtin import IF_THEN_ELSE, LIKELY
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AttrStmt, For, ForKind, IfThenElse, LetStmt, Stmt, no_op, seq
from compiler.tir.statements.stmt_functor import StmtExprMutator, StmtMutator
from compiler.tir.transform.pass_base import PrimFuncPass
from compiler.tir.transform.remove_no_op import without_empty_parts

_WRITTEN_OUT = (ForKind.UNROLLED, ForKind.VECTORIZED)
"""Kinds of loops whose extent has to stay constant."""

HINT = "pragma_loop_partition_hint"
LAUNCH = "thread_extent"


class LoopPartition(PrimFuncPass, configurable=True):
    """Split loops where the value of a guard that nearly always holds changes, so that most iterations run without it.

    A guard marked ``likely`` comes from a loop that was split although its extent may not be divisible.  The
    iterations for which it certainly holds, whatever the loops inside do, become a loop of their own without it::

        for io in range((n + 31) // 32):               for io in range(n // 32):
            for ii in range(32):                           for ii in range(32):
                if T.likely(io * 32 + ii < n):     →           C[io * 32 + ii] = 0.0
                    C[io * 32 + ii] = 0.0              for io in range((n + 31) // 32 - n // 32):
                                                           …  # with the guard

    Blocks of threads are told apart by a branch instead: ``if blockIdx_x < n // 32: …  else: …  # with the guard``.
    The marks ``likely`` are removed at the end, as nothing asks for them any more.
    ``PassContext(config={"tir.LoopPartition": {"partition_const_loop": True}})`` sets the options for a whole build.

    Parameters
    ----------
    partition_const_loop : bool
        Also split loops of constant extent.  Their guards cost little, and code twice, so that otherwise only those
        with the pragma ``loop_partition_hint`` are split.
    no_unroll_loop_with_extent_one : bool
        Keep a loop that is left with one iteration as a loop.
    unroll_loop_with_partition_hint_no_interval : bool
        Accepted for compatibility with TVM.
    """

    partition_const_loop: bool = False
    no_unroll_loop_with_extent_one: bool = False
    unroll_loop_with_partition_hint_no_interval: bool = False

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        if "tir.likely" not in features(func).ops and HINT not in features(func).attrs:
            return func
        body = _Partition(func, self.configured(ctx)).visit(func.body)
        return func.with_body(_RemoveLikely().visit(body))


class _Guard(NamedTuple):
    """A condition within a loop, with the expression that bears its mark and the domains of the loops between them."""

    marked: PrimExpr
    condition: PrimExpr
    inner: dict[Var, IntervalSet]


class _Guards(Visitor):
    """Collects the marked conditions of a loop body that depend on its variable.

    ``threads`` are the axes of threads around the loop: what holds in a piece of it must hold for all of them.  Where
    a program asks for the partition, by a hint, the conditions of branches need no mark.
    """

    def __init__(self, var: Var, threads: dict[Var, IntervalSet], hinted: bool) -> None:
        self._var = var
        self._hinted = hinted
        self._inner = dict(threads)
        self._unknown: set[Var] = set()
        self.guards: list[_Guard] = []

    def visit_For(self, n: For) -> None:
        if uses_var(n.min, self._var) or uses_var(n.extent, self._var):
            self._unknown.add(n.loop_var)
        else:
            self._inner[n.loop_var] = to_set(Range.from_min_extent(n.min, n.extent))
        self.visit(n.body)
        self._inner.pop(n.loop_var, None)

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        if n.attr_key == LAUNCH and isinstance(n.node, expr.IterVar):
            self._inner[n.node.var] = to_set(Range.from_min_extent(const(0, n.value.dtype), n.value))
        self.visit_Node(n)

    def visit_LetStmt(self, n: LetStmt) -> None:
        self._unknown.add(n.var)
        self.visit_Node(n)

    def visit_Call(self, n: expr.Call) -> None:
        if n.op is LIKELY:
            self._note(n, n.args[0])
        elif n.op is IF_THEN_ELSE and self._hinted:
            self._note(n.args[0], n.args[0])
        self.visit_Node(n)

    def visit_Select(self, n: expr.Select | IfThenElse) -> None:
        if self._hinted:
            self._note(n.condition, n.condition)
        self.visit_Node(n)

    visit_IfThenElse = visit_Select

    def _note(self, marked: PrimExpr, condition: PrimExpr) -> None:
        used = free_vars(condition)
        if self._var in used and not self._unknown.intersection(used) and is_pure(condition):
            inner = {var: self._inner[var] for var in used if var in self._inner}
            self.guards.append(_Guard(marked, condition, inner))


class _Cut(NamedTuple):
    """Where the iterations from ``begin`` up to ``end`` lie, in which the guards of ``decided`` hold."""

    begin: PrimExpr
    end: PrimExpr
    high: PrimExpr
    below: _Limit
    above: _Limit
    decided: dict[PrimExpr, bool]


class _Piece(NamedTuple):
    """A part of a loop: where it begins, how many iterations, and which guards hold throughout, or never."""

    begin: PrimExpr
    extent: PrimExpr
    free: bool
    decided: dict[PrimExpr, bool]


class _Limit:
    """The guards that bound a loop variable from one side, and the tightest of their bounds."""

    def __init__(self) -> None:
        self.guards: list[_Guard] = []
        self.bounds: list[PrimExpr] = []

    def add(self, guard: _Guard, bound: PrimExpr) -> None:
        """Note a bound."""
        self.guards.append(guard)
        self.bounds.append(bound)

    def beyond(self) -> dict[PrimExpr, bool]:
        """Return the guards that never hold beyond the bound: all of one bound, not relaxed over inner loops."""
        exact = not any(g.inner for g in self.guards) and all(
            structural_equal([b], self.bounds[:1]) for b in self.bounds
        )
        return {g.marked: False for g in self.guards} if exact else {}


class _Partition(StmtMutator):
    def __init__(self, func: PrimFunc, options: LoopPartition) -> None:
        self._constant_loops = options.partition_const_loop
        self._keep_single = options.no_unroll_loop_with_extent_one
        self._outer: dict[Var, IntervalSet] = {}
        self._threads: dict[Var, IntervalSet] = {}
        self._analyzer = Analyzer()
        self._hinted = False
        for buffer in func.buffer_map.values():
            for dim in buffer.shape:
                if isinstance(dim, Var):
                    self._analyzer.mark_global_non_neg(dim)

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if n.attr_key == HINT:
            self._hinted = True
            return self.visit(n.body)
        if n.attr_key == LAUNCH and isinstance(n.node, expr.IterVar):
            return self._launch(n, n.node)
        body = self.visit(n.body)
        return rebuild(n, body=body)

    def _launch(self, n: AttrStmt, axis: expr.IterVar) -> Stmt:
        """Visit what runs on a thread axis; blocks of threads may be told apart by where a guard certainly holds."""
        domain = Range.from_min_extent(const(0, n.value.dtype), n.value)
        self._analyzer.bind(axis.var, domain, override=True)
        body = n.body
        if axis.thread_tag.startswith("blockIdx"):
            around = self._outer
            if self._constant_loops or not isinstance(n.value, IntImm):
                body = self._blocks_apart(axis.var, domain, n.body)
        else:
            around = self._threads
        around[axis.var] = to_set(domain)
        body = self.visit(body)
        del around[axis.var]
        return rebuild(n, body=body)

    def _blocks_apart(self, var: Var, domain: Range, body: Stmt) -> Stmt:
        """Return the body of a launch with a branch for the blocks in which the guards certainly hold."""
        cut = self._cut(var, domain, body)
        conditions = [] if self._proved(cut.begin <= domain.min) else [var >= cut.begin]
        conditions += [] if self._proved(cut.end >= cut.high) else [var < cut.end]
        if not cut.decided:
            return body
        free = _Decide(cut.decided).visit(body)
        return _branch(functools.reduce(expr.And, conditions), free, body) if conditions else free

    def visit_For(self, n: For) -> Stmt:
        hinted, self._hinted = self._hinted, False
        constant = isinstance(n.min, IntImm) and isinstance(n.extent, IntImm)
        if n.kind != ForKind.THREAD_BINDING and (hinted or self._constant_loops or not constant):
            pieces = self._pieces(n, hinted)
            if pieces:
                recurse = self._constant_loops or constant
                return seq([self._piece_loop(n, piece, recurse) for piece in pieces])
        return self._whole(n)

    def _whole(self, n: For) -> Stmt:
        domain = Range.from_min_extent(n.min, n.extent)
        self._outer[n.loop_var] = to_set(domain)
        self._analyzer.bind(n.loop_var, domain, override=True)
        body = self.visit(n.body)
        del self._outer[n.loop_var]
        return rebuild(n, body=body)

    def _cut(self, var: Var, domain: Range, body: Stmt, hinted: bool = False) -> _Cut:
        """Find out where the guards of a loop's body certainly hold."""
        collector = _Guards(var, self._threads, hinted)
        collector.visit(body)
        below, above, decided = _Limit(), _Limit(), dict[PrimExpr, bool]()
        for guard in collector.guards:
            holds = deduce_bound(var, guard.condition, self._outer, guard.inner)
            ends = (holds.min_value, holds.max_value)
            if holds.is_nothing() or any(uses_var(end, guard.inner.__contains__) for end in ends):
                continue
            if holds.has_lower_bound():
                below.add(guard, holds.min_value)
            if holds.has_upper_bound():
                above.add(guard, holds.max_value + 1)
            decided[guard.marked] = True
        begin, end = domain.min, self._analyzer.simplify(domain.min + domain.extent)
        high = end
        for bound in below.bounds:
            begin = self._larger(begin, bound)
        for bound in above.bounds:
            end = self._smaller(end, bound)
        simplify = self._analyzer.simplify
        return _Cut(simplify(begin), simplify(end), high, below, above, decided)

    def _pieces(self, n: For, hinted: bool) -> list[_Piece]:
        """Decide where to cut a loop; no pieces where there is nothing to gain."""
        cut = self._cut(n.loop_var, Range.from_min_extent(n.min, n.extent), n.body, hinted)
        low, begin, end, high, decided = n.min, cut.begin, cut.end, cut.high, cut.decided
        begin = self._smaller(begin, high)
        end = self._larger(self._smaller(end, high), begin)
        cuts = [(low, begin, cut.below.beyond()), (begin, end, decided), (end, high, cut.above.beyond())]
        pieces = [_Piece(a, self._analyzer.simplify(b - a), facts is decided, facts) for a, b, facts in cuts]
        pieces = [p for p in pieces if not self._proved(p.extent <= 0)]
        if n.kind in _WRITTEN_OUT and not all(isinstance(p.extent, IntImm) for p in pieces):
            return []
        return pieces if decided and any(p.free for p in pieces) else []

    def _proved(self, e: PrimExpr) -> bool:
        return self._analyzer.can_prove(e)

    def _larger(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        if self._proved(a >= b):
            return a
        return b if self._proved(b >= a) else self._analyzer.simplify(binary(expr.Max, a, b))

    def _smaller(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        if self._proved(a <= b):
            return a
        return b if self._proved(b <= a) else self._analyzer.simplify(binary(expr.Min, a, b))

    def _piece_loop(self, n: For, piece: _Piece, recurse: bool) -> Stmt:
        """Return the loop over one piece; a single iteration needs none, unless something is stated of the loop."""
        body = _Decide(piece.decided).visit(n.body)
        var = Var(n.loop_var.name, n.loop_var.dtype, span=n.loop_var.span)
        kept = self._keep_single or n.annotations
        single = isinstance(piece.extent, IntImm) and piece.extent.value == 1 and not kept
        value = piece.begin if single else _shifted(piece.begin, var)
        with inheriting(n.span):
            body = substitute(body, {n.loop_var: value})
        loop: Stmt = rebuild(n, loop_var=var, min=const(0, var.dtype), extent=piece.extent, body=body)
        if not piece.free:
            loop = without_empty_parts(_Prune(self._analyzer).visit(loop))
        if not isinstance(loop, For):
            return loop
        recurse = recurse or piece.free
        if single:
            return self.visit(loop.body) if recurse else loop.body
        return self._whole(loop) if recurse else loop


def _branch(condition: PrimExpr, free: Stmt, guarded: Stmt) -> Stmt:
    """Return a branch within the launches of further thread axes: these must be the same on both sides."""
    if isinstance(free, AttrStmt) and isinstance(guarded, AttrStmt) and guarded.attr_key == LAUNCH:
        return rebuild(guarded, body=_branch(condition, free.body, guarded.body))
    return IfThenElse(condition, free, guarded)


def _shifted(begin: PrimExpr, var: Var) -> PrimExpr:
    return var if isinstance(begin, IntImm) and begin.value == 0 else var + begin


class _Decide(StmtExprMutator):
    """Replaces conditions by what is known about them."""

    def __init__(self, decided: dict[PrimExpr, bool]) -> None:
        self._decided = decided

    def visit(self, n: Any, *args: object) -> Any:
        """Return what is known about ``n``, if it is one of the conditions."""
        return const(self._decided[n]) if n in self._decided else Mutator.visit(self, n, *args)

    def visit_Call(self, n: expr.Call) -> PrimExpr:
        new = self.visit_Node(n)
        if n.op is IF_THEN_ELSE and isinstance(new.args[0], IntImm):
            return new.args[1] if new.args[0].value else new.args[2]
        return new

    def visit_And(self, n: expr.And) -> PrimExpr:
        a, b = self.visit(n.a), self.visit(n.b)
        return n if a is n.a and b is n.b else binary(expr.And, a, b)

    def visit_IfThenElse(self, n: IfThenElse) -> Stmt:
        new: IfThenElse = self.visit_Node(n)
        if isinstance(new.condition, IntImm):
            return new.then_case if new.condition.value else new.else_case or no_op()
        return new


class _Prune(_Decide):
    """Replaces marked conditions that turn out to hold always, or never, in a piece."""

    def __init__(self, analyzer: Analyzer) -> None:
        _Decide.__init__(self, {})
        self._analyzer = analyzer

    def visit_For(self, n: For) -> Stmt:
        self._analyzer.bind(n.loop_var, Range.from_min_extent(n.min, n.extent), override=True)
        return self.visit_Node(n)

    def visit_Call(self, n: expr.Call) -> PrimExpr:
        if n.op is LIKELY:
            if self._analyzer.can_prove(n.args[0]):
                return const(True)
            return const(False) if self._analyzer.can_prove(expr.Not(n.args[0])) else n
        return _Decide.visit_Call(self, n)


class _RemoveLikely(StmtExprMutator):
    def visit_Call(self, n: expr.Call) -> PrimExpr:
        return self.visit(n.args[0]) if n.op is LIKELY else self.visit_Node(n)
