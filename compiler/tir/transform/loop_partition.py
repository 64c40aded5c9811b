"""Partitioning loops: the iterations for which a guard certainly holds apart from the rest."""

from __future__ import annotations

from typing import NamedTuple

from compiler.arith.analyzer import Analyzer
from compiler.arith.deduce_bound import deduce_bound
from compiler.arith.int_set import IntervalSet, to_set
from compiler.ir.functor import Mutator, Visitor
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.origin import inheriting
from compiler.ir.primexpr import (
    And,
    Call,
    IntImm,
    Max,
    Min,
    Not,
    PrimExpr,
    Range,
    Var,
    binary,
    const,
)
from compiler.ir.structural import structural_equal
from compiler.ir.substitute import free_vars, substitute, uses_var
from compiler.ir.transform import PassContext
from compiler.tir.analysis.features import features
from compiler.tir.analysis.side_effect import is_pure
from compiler.tir.builtin import IF_THEN_ELSE, LIKELY
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import AttrStmt, For, ForKind, IfThenElse, LetStmt, Stmt, no_op, seq
from compiler.tir.stmt_functor import StmtMutator
from compiler.tir.transform.pass_base import PrimFuncPass
from compiler.tir.transform.remove_no_op import without_no_ops

_WRITTEN_OUT = (ForKind.UNROLLED, ForKind.VECTORIZED)
"""Kinds of loops whose extent has to stay constant."""

HINT = "pragma_loop_partition_hint"


class LoopPartition(PrimFuncPass, configurable=True):
    """Split loops where a guard that nearly always holds changes its mind, so that most iterations run without it.

    A guard marked ``likely`` comes from a loop that was split although its extent may not be divisible.  The
    iterations for which it certainly holds, whatever the loops inside do, become a loop of their own without it::

        for io in range((n + 31) // 32):               for io in range(n // 32):
            for ii in range(32):                           for ii in range(32):
                if T.likely(io * 32 + ii < n):     →           C[io * 32 + ii] = 0.0
                    C[io * 32 + ii] = 0.0              for io in range((n + 31) // 32 - n // 32):
                                                           …  # with the guard

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
    """A marked condition within a loop, with the domains of the loops between them."""

    call: Call
    inner: dict[Var, IntervalSet]


class _Guards(Visitor):
    """Collects the marked conditions of a loop body that depend on its variable."""

    def __init__(self, var: Var) -> None:
        self._var = var
        self._inner: dict[Var, IntervalSet] = {}
        self._unknown: set[Var] = set()
        self.guards: list[_Guard] = []

    def visit_For(self, n: For) -> None:
        if uses_var(n.min, self._var) or uses_var(n.extent, self._var):
            self._unknown.add(n.loop_var)
        else:
            self._inner[n.loop_var] = to_set(Range.from_min_extent(n.min, n.extent))
        self.visit(n.body)
        self._inner.pop(n.loop_var, None)

    def visit_LetStmt(self, n: LetStmt) -> None:
        self._unknown.add(n.var)
        self.visit_Node(n)

    def visit_Call(self, n: Call) -> None:
        if n.op is LIKELY:
            used = free_vars(n)
            if self._var in used and not self._unknown.intersection(used) and is_pure(n):
                self.guards.append(_Guard(n, dict(self._inner)))
        self.visit_Node(n)


class _Piece(NamedTuple):
    """A part of a loop: where it begins, how many iterations, and which guards hold throughout, or never."""

    begin: PrimExpr
    extent: PrimExpr
    free: bool
    decided: dict[Call, bool]


class _Limit:
    """The guards that bound a loop variable from one side, and the tightest of their bounds."""

    def __init__(self) -> None:
        self.guards: list[_Guard] = []
        self.bounds: list[PrimExpr] = []

    def add(self, guard: _Guard, bound: PrimExpr) -> None:
        """Note a bound."""
        self.guards.append(guard)
        self.bounds.append(bound)

    def beyond(self) -> dict[Call, bool]:
        """Return the guards that never hold beyond the bound: all of one bound, not relaxed over inner loops."""
        exact = not any(g.inner for g in self.guards) and all(
            structural_equal([b], self.bounds[:1]) for b in self.bounds
        )
        return {g.call: False for g in self.guards} if exact else {}


class _Partition(StmtMutator):
    def __init__(self, func: PrimFunc, options: LoopPartition) -> None:
        self._constant_loops = options.partition_const_loop
        self._keep_single = options.no_unroll_loop_with_extent_one
        self._outer: dict[Var, IntervalSet] = {}
        self._analyzer = Analyzer()
        self._hinted = False
        for buffer in func.buffer_map.values():
            for dim in buffer.shape:
                if isinstance(dim, Var):
                    self._analyzer.mark_global_non_neg(dim)

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if n.attr_key == HINT:
            self._hinted = True
            return self.visit(n.body)  # type: ignore[no-any-return]
        body = self.visit(n.body)
        return rebuild(n, body=body)

    def visit_For(self, n: For) -> Stmt:
        hinted, self._hinted = self._hinted, False
        constant = isinstance(n.min, IntImm) and isinstance(n.extent, IntImm)
        if n.kind != ForKind.THREAD_BINDING and (hinted or self._constant_loops or not constant):
            pieces = self._pieces(n)
            if pieces:
                recurse = self._constant_loops or constant
                return seq([self._piece_loop(n, piece, recurse) for piece in pieces])
        return self._whole(n)

    def _whole(self, n: For) -> Stmt:
        domain = Range.from_min_extent(n.min, n.extent)
        self._outer[n.loop_var] = to_set(domain)
        self._analyzer.bind(n.loop_var, domain)
        body = self.visit(n.body)
        del self._outer[n.loop_var]
        return rebuild(n, body=body)

    def _pieces(self, n: For) -> list[_Piece]:
        """Decide where to cut a loop; no pieces where there is nothing to gain."""
        collector = _Guards(n.loop_var)
        collector.visit(n.body)
        below, above, decided = _Limit(), _Limit(), dict[Call, bool]()
        for guard in collector.guards:
            holds = deduce_bound(n.loop_var, guard.call.args[0], self._outer, guard.inner)
            ends = (holds.min_value, holds.max_value)
            if holds.is_nothing() or any(uses_var(end, guard.inner.__contains__) for end in ends):
                continue
            if holds.has_lower_bound():
                below.add(guard, holds.min_value)
            if holds.has_upper_bound():
                above.add(guard, holds.max_value + 1)
            decided[guard.call] = True
        low, high = n.min, self._analyzer.simplify(n.min + n.extent)
        begin, end = low, high
        for bound in below.bounds:
            begin = self._larger(begin, bound)
        for bound in above.bounds:
            end = self._smaller(end, bound)
        begin = self._smaller(begin, high)
        end = self._larger(self._smaller(end, high), begin)
        cuts = [(low, begin, below.beyond()), (begin, end, decided), (end, high, above.beyond())]
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
        return b if self._proved(b >= a) else self._analyzer.simplify(binary(Max, a, b))

    def _smaller(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        if self._proved(a <= b):
            return a
        return b if self._proved(b <= a) else self._analyzer.simplify(binary(Min, a, b))

    def _piece_loop(self, n: For, piece: _Piece, recurse: bool) -> Stmt:
        """Return the loop over one piece; a single iteration needs no loop."""
        body = _Decide(piece.decided).visit(n.body)
        var = Var(n.loop_var.name, n.loop_var.dtype, span=n.loop_var.span)
        single = isinstance(piece.extent, IntImm) and piece.extent.value == 1 and not self._keep_single
        value = piece.begin if single else _shifted(piece.begin, var)
        with inheriting(n.span):
            body = substitute(body, {n.loop_var: value})
        loop: Stmt = rebuild(n, loop_var=var, min=const(0, var.dtype), extent=piece.extent, body=body)
        if not piece.free:
            loop = without_no_ops(_Prune(self._analyzer).visit(loop))
        if not isinstance(loop, For):
            return loop
        recurse = recurse or piece.free
        if single:
            return self.visit(loop.body) if recurse else loop.body
        return self._whole(loop) if recurse else loop


def _shifted(begin: PrimExpr, var: Var) -> PrimExpr:
    return var if isinstance(begin, IntImm) and begin.value == 0 else var + begin


class _Decide(Mutator):
    """Replaces conditions by what is known about them."""

    def __init__(self, decided: dict[Call, bool]) -> None:
        self._decided = decided

    def visit_Call(self, n: Call) -> PrimExpr:
        if n in self._decided:
            return const(self._decided[n])
        new = self.visit_Node(n)
        if n.op is IF_THEN_ELSE and isinstance(new.args[0], IntImm):
            return new.args[1] if new.args[0].value else new.args[2]  # type: ignore[no-any-return]
        return new  # type: ignore[no-any-return]

    def visit_And(self, n: And) -> PrimExpr:
        a, b = self.visit(n.a), self.visit(n.b)
        return n if a is n.a and b is n.b else binary(And, a, b)

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
        self._analyzer.bind(n.loop_var, Range.from_min_extent(n.min, n.extent))
        return self.visit_Node(n)  # type: ignore[no-any-return]

    def visit_Call(self, n: Call) -> PrimExpr:
        if n.op is LIKELY:
            if self._analyzer.can_prove(n.args[0]):
                return const(True)
            return const(False) if self._analyzer.can_prove(Not(n.args[0])) else n
        return _Decide.visit_Call(self, n)


class _RemoveLikely(Mutator):
    def visit_Call(self, n: Call) -> PrimExpr:
        return self.visit(n.args[0]) if n.op is LIKELY else self.visit_Node(n)  # type: ignore[no-any-return]
