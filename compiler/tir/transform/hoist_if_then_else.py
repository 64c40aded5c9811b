"""Moving branches out of loops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

from compiler.ir.module import IRModule
from compiler.ir.node import Node, rebuild
from compiler.ir.primexpr import Div, FloorDiv, FloorMod, IntImm, Mod, PrimExpr, Var
from compiler.ir.substitute import uses_var
from compiler.ir.transform import Pass, PassContext, PassInfo
from compiler.tir.analysis.features import features
from compiler.tir.analysis.side_effect import is_pure
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import Allocate, For, ForKind, IfThenElse, Stmt
from compiler.tir.stmt_functor import StmtMutator
from compiler.tir.transform.pass_base import PrimFuncPass
from compiler.tir.transform.remove_no_op import RemoveNoOp
from compiler.tir.transform.simplify import Simplify


class HoistIfThenElse(Pass):
    """Move branches out of loops on whose variable their condition does not depend.

    The condition is then tested once instead of in each iteration, and the loop inside is free of branches, so that
    it can be vectorised::

        for i, j in T.grid(4, 32):          for i in range(4):
            if i * 8 < n:              →        if i * 8 < n:
                C[i * 32 + j] = 0.0                 for j in range(32):
                                                        C[i * 32 + j] = 0.0

    Only a branch that is all that the loop does moves; its condition must not read memory.  One with an else moves
    too, and there is a loop on either side then.  What becomes simpler by that is simplified at once: the pass is a
    sequence of three.

    Parameters
    ----------
    variant : str, optional
        ``"basic"`` gives the pass the name that TVM uses for its simpler form.

    Raises
    ------
    ArgumentError
        If the variant is unknown.
    """

    prefix: ClassVar[str] = PrimFuncPass.prefix
    variant: Literal[None, "basic"] = None

    @property
    def info(self) -> PassInfo:
        """The name depends on the variant."""
        return replace(self.facts, name="tir.HoistIfThenElseBasic") if self.variant else self.facts

    def apply(self, mod: IRModule, ctx: PassContext) -> IRModule:
        for each in (InsertHoistIfThenElse(), Simplify(), RemoveNoOp()):
            mod = each(mod)
        return mod


class InsertHoistIfThenElse(PrimFuncPass):
    """Move branches out of loops, without cleaning up afterwards."""

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        nodes = features(func).nodes
        if IfThenElse not in nodes or For not in nodes:
            return func
        return func.with_body(_Hoist().visit(func.body))


class _Hoist(StmtMutator):
    def visit_For(self, n: For) -> Stmt:
        body = self.visit(n.body)
        loop = rebuild(n, body=body)
        if n.kind == ForKind.THREAD_BINDING:
            return loop
        around: list[IfThenElse | Allocate] = []
        moving: list[IfThenElse] = []
        other: Stmt | None = None
        while isinstance(body, (IfThenElse, Allocate)):
            if isinstance(body, Allocate):
                around.append(body)
                body = body.body
                continue
            moves = _may_move(body.condition, n.loop_var)
            if body.else_case is not None:
                if moves:
                    moving.append(body)
                    other = body.else_case
                    body = body.then_case
                break
            (moving if moves else around).append(body)
            body = body.then_case
        if not moving:
            return loop
        result = _loop(n, around, body)
        rest = None if other is None else _loop(n, around, other)
        for branch in reversed(moving):
            result, rest = IfThenElse(branch.condition, result, rest, span=branch.span), None
        return result


def _loop(n: For, around: list[IfThenElse | Allocate], body: Stmt) -> Stmt:
    """Return the loop with what stays inside of it."""
    for stmt in reversed(around):
        body = rebuild(stmt, **{"then_case" if isinstance(stmt, IfThenElse) else "body": body})
    return rebuild(n, body=body)


def _may_move(e: PrimExpr, var: Var) -> bool:
    """Return whether a condition is the same in all iterations, and whether evaluating it earlier cannot fail."""
    return not uses_var(e, var) and is_pure(e) and not _may_trap(e)


def _may_trap(e: Any) -> bool:
    if isinstance(e, (Div, Mod, FloorDiv, FloorMod)) and not (isinstance(e.b, IntImm) and e.b.value):
        return True
    for name in e.children:
        child = getattr(e, name)
        parts = (child,) if isinstance(child, Node) else child or ()
        if any(_may_trap(p) for p in parts):
            return True
    return False
