"""Instruments every access with a bounds check."""

from __future__ import annotations

from compiler.arith.analyzer import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import And, Call, IntImm, Not, PrimExpr, Ramp, Range, StringImm, Var, binary, const
from compiler.ir.functor import parts_of
from compiler.ir.node import rebuild
from compiler.ir.structural import structural_equal
from compiler.ir.transform import register_config_option
from compiler.tir.expressions.builtin import IF_THEN_ELSE
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AssertStmt, BufferStore, Evaluate, For, IfThenElse, Stmt
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.pass_base import FunctionRewrite

register_config_option("tir.instrument_bound_checkers", (bool, int))

MESSAGE = "OUT OF THE BOUNDS"


class InstrumentBoundCheckers(FunctionRewrite):
    """Check at run time that no statement reads or writes outside of a buffer.

    For programs that are built with the option ``tir.instrument_bound_checkers``: an access that cannot be shown to
    stay inside is preceded by an assertion, and the function fails instead of touching foreign memory::

        C[i] = A[i + 1]   →   assert 0 <= i and i < 64 and 0 <= i + 1 and i + 1 < 64, "OUT OF THE BOUNDS"
                              C[i] = A[i + 1]

    What ``if_then_else`` reads is checked only where it is read.  So nothing is found in what ``te.compute`` reads
    outside of a tensor: it has guarded such a read before, which gives zero in every build, and has warned of one that
    is certain.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        return func.with_body(_Instrument(func).visit(func.body))


class _Instrument(StmtMutator):
    def __init__(self, func: PrimFunc) -> None:
        self._analyzer = Analyzer()
        for buffer in func.buffer_map.values():
            for dim in buffer.shape:
                if isinstance(dim, Var):
                    self._analyzer.mark_global_non_neg(dim)

    def visit_For(self, n: For) -> Stmt:
        self._analyzer.bind(n.loop_var, Range.from_min_extent(n.min, n.extent), override=True)
        return self.visit_Node(n)

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        checks = [*_inside(n.buffer, n.indices), *_checks(n.value)]
        for index in n.indices:
            checks.extend(_checks(index))
        return self._asserted(checks, n)

    def visit_Evaluate(self, n: Evaluate) -> Stmt:
        return self._asserted(_checks(n.value), n)

    def visit_IfThenElse(self, n: IfThenElse) -> Stmt:
        with self._analyzer.constraint(n.condition):
            then = self.visit(n.then_case)
        other = None
        if n.else_case is not None:
            with self._analyzer.constraint(Not(n.condition)):
                other = self.visit(n.else_case)
        return self._asserted(_checks(n.condition), rebuild(n, then_case=then, else_case=other))

    def _asserted(self, checks: list[PrimExpr], stmt: Stmt) -> Stmt:
        """Return the statement behind an assertion of what cannot be proved."""
        unproved: list[PrimExpr] = []
        for check in checks:
            if not self._analyzer.can_prove(check) and not any(structural_equal(check, c) for c in unproved):
                unproved.append(check)
        if not unproved:
            return stmt
        condition = unproved[0]
        for check in unproved[1:]:
            condition = binary(And, condition, check)
        return AssertStmt(condition, StringImm(MESSAGE), stmt)


def _inside(buffer: Buffer, indices: tuple[PrimExpr, ...]) -> list[PrimExpr]:
    """Return the conditions under which an access stays inside of a buffer."""
    conditions = []
    for index, extent in zip(indices, buffer.shape, strict=True):
        first, last = _ends(index)
        if first is None or last is None:
            continue
        conditions += [first >= 0, last < extent]
    return conditions


def _ends(index: PrimExpr) -> tuple[PrimExpr | None, PrimExpr | None]:
    """Return the first and the last lane of an index."""
    if isinstance(index, Ramp) and isinstance(index.stride, IntImm):
        last = index.base + index.stride * const(index.lanes - 1, index.stride.dtype)
        return (index.base, last) if index.stride.value >= 0 else (last, index.base)
    return (index, index) if dt.lanes(index.dtype) == 1 else (None, None)


def _checks(e: PrimExpr) -> list[PrimExpr]:
    """Return the conditions under which every load of an expression stays inside of its buffer."""
    if isinstance(e, Call) and e.op is IF_THEN_ELSE:
        condition, then, other = e.args
        conditions = _checks(condition)
        for holds, checks in ((True, _checks(then)), (False, _checks(other))):
            open_checks = [c for c in checks if not isinstance(c, IntImm) or not c.value]
            conditions += [Call("bool", IF_THEN_ELSE, _choice(condition, check, holds)) for check in open_checks]
        return conditions
    conditions = list(_inside(e.buffer, e.indices)) if isinstance(e, BufferLoad) else []
    for part in parts_of(e, PrimExpr):
        conditions += _checks(part)
    return conditions


def _choice(condition: PrimExpr, check: PrimExpr, holds: bool) -> tuple[PrimExpr, PrimExpr, PrimExpr]:
    true = const(True)
    return (condition, check, true) if holds else (condition, true, check)
