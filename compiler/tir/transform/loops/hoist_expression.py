"""Hoists conditions and bindings out of loops."""

from __future__ import annotations

from enum import IntFlag
from typing import ClassVar

from compiler.ir.expr.primexpr import IntImm, Let, PrimExpr, const
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.structural import structural_equal
from compiler.ir.transform import Pass, PassContext
from compiler.tir.analysis.features import features
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AttrStmt, For, IfThenElse, LetStmt, Stmt, no_op
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.loops.hoist_candidates import HoistCandidates, Loop
from compiler.tir.transform.pass_base import FunctionRewrite, PrimFuncPass
from compiler.tir.transform.remove_no_op import RemoveNoOp
from compiler.tir.transform.simplify import Simplify


class HoistedConditionals(IntFlag):
    """Which conditions move out of loops: the option ``hoisted_conditionals`` of ``tir.HoistExpression``."""

    Never = 0
    IfElseStmt = 1
    IfElseExpr = 2
    BooleanExpression = 4
    UsingBlockVar = 8
    All = IfElseStmt | IfElseExpr | BooleanExpression | UsingBlockVar


class HoistedLetBindings(IntFlag):
    """Which bindings move out of loops: the option ``hoisted_let_bindings`` of ``tir.HoistExpression``."""

    Never = 0
    RequiredByConditional = 1
    LetStmt = 2
    LetExpr = 4
    All = RequiredByConditional | LetStmt | LetExpr


class HoistExpression(Pass, configurable=True):
    """Move what does not change in a loop out of it: conditions of branches, of expressions, and bindings.

    For example::

        for i, j in T.grid(4, 4):                                  for i in range(4):
            A[i, j] = T.if_then_else(i < 2, 1.0, 2.0)      →           if i < 2:
                                                                           for j in range(4):
                                                                               A[i, j] = 1.0
                                                                       else:
                                                                           for j in range(4):
                                                                               A[i, j] = 2.0

    Nothing moves past what runs before or after it in the same loop.  What becomes simpler by that is simplified at
    once: the pass is a sequence of three.
    ``PassContext(config={"tir.HoistExpression": {"hoisted_conditionals": 1}})`` sets the options for a whole build.

    Parameters
    ----------
    hoisted_conditionals : int
        Which conditions move: flags of :class:`HoistedConditionals`.
    hoisted_let_bindings : int
        Which bindings move: flags of :class:`HoistedLetBindings`.
    """

    prefix: ClassVar[str] = PrimFuncPass.prefix
    hoisted_conditionals: int = HoistedConditionals.All
    hoisted_let_bindings: int = HoistedLetBindings.All

    def apply(self, mod: IRModule, ctx: PassContext) -> IRModule:
        options = self.configured(ctx)
        hoist = InsertHoistedExpression(int(options.hoisted_conditionals), int(options.hoisted_let_bindings))
        for each in (hoist, Simplify(), RemoveNoOp()):
            mod = each(mod)
        return mod


class InsertHoistedExpression(FunctionRewrite):
    """Move conditions and bindings out of loops, without cleaning up afterwards.

    ``hoisted_conditionals`` and ``hoisted_let_bindings`` are as those of :class:`HoistExpression`.
    """

    hoisted_conditionals: int = HoistedConditionals.All
    hoisted_let_bindings: int = HoistedLetBindings.All

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        if For not in features(func).nodes:
            return func
        return func.with_body(hoisted(func.body, self.hoisted_conditionals, self.hoisted_let_bindings))


def hoisted(body: Stmt, conditionals: int, bindings: int) -> Stmt:
    """Return a statement with the conditions and bindings moved out of its loops that the flags name."""
    candidates = HoistCandidates(conditionals, bindings)
    candidates.visit(body)
    return _Hoist(candidates).visit(body) if candidates.moving else body


class _Hoist(StmtExprMutator):
    """Puts around each loop what moves there."""

    def __init__(self, candidates: HoistCandidates) -> None:
        self._loops = candidates.loops
        self._moved = candidates.moved_bindings

    def visit_For(self, n: For | AttrStmt) -> Stmt:
        return self._around(self._loops.get(n), self.visit_Node(n))

    visit_AttrStmt = visit_For

    def visit_LetStmt(self, n: Let | LetStmt) -> PrimExpr | Stmt:
        return self.visit(n.body) if n in self._moved else self.visit_Node(n)

    visit_Let = visit_LetStmt

    def _around(self, loop: Loop | None, stmt: Stmt) -> Stmt:
        if loop is None:
            return stmt
        for condition in reversed(loop.conditions):
            holds, fails = _Decide(condition, True).visit(stmt), _Decide(condition, False).visit(stmt)
            stmt = IfThenElse(condition, holds, fails)
        for var, value in reversed(loop.bindings):
            stmt = LetStmt(var, value, stmt)
        return stmt


class _Decide(StmtExprMutator):
    """Replaces a condition by what it is."""

    def __init__(self, condition: PrimExpr, holds: bool) -> None:
        self._condition = condition
        self._kind = type(condition)
        self._holds = const(holds, "bool")

    def visit_PrimExpr(self, n: PrimExpr) -> PrimExpr:
        if type(n) is self._kind and (n is self._condition or structural_equal(n, self._condition)):
            return self._holds
        return self.visit_Node(n)

    def visit_IfThenElse(self, n: IfThenElse) -> Stmt:
        condition = self.visit(n.condition)
        if isinstance(condition, IntImm):
            chosen = n.then_case if condition.value else n.else_case
            return no_op() if chosen is None else self.visit(chosen)
        other = None if n.else_case is None else self.visit(n.else_case)
        return rebuild(n, condition=condition, then_case=self.visit(n.then_case), else_case=other)
