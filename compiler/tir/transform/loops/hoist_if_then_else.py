"""Hoists branches out of loops."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

from compiler.ir.module import IRModule
from compiler.ir.transform import Pass, PassContext, PassInfo
from compiler.tir.analysis.features import features
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, IfThenElse
from compiler.tir.transform.loops.hoist_expression import HoistedConditionals, HoistedLetBindings, hoisted
from compiler.tir.transform.pass_base import FunctionRewrite, PrimFuncPass
from compiler.tir.transform.remove_no_op import RemoveNoOp
from compiler.tir.transform.simplify import Simplify


class HoistIfThenElse(Pass, configurable=True):
    """Move branches out of loops on whose variable their condition does not depend.

    The condition is then tested once instead of in each iteration, and the loop inside is free of branches, so that
    it can be vectorised::

        for i, j in T.grid(4, 32):          for i in range(4):
            if i * 8 < n:              →        if i * 8 < n:
                C[i * 32 + j] = 0.0                 for j in range(32):
                                                        C[i * 32 + j] = 0.0

    Only a branch that is all that the loop does moves; its condition must not read memory.  One with an else moves too,
    and there is a loop on either side then.  What becomes simpler by that is simplified at once: the pass is a sequence
    of three.  ``PassContext(config={"tir.HoistIfThenElse": {"support_block_scope_hosting": True}})`` sets the option
    for a whole build. Raises ArgumentError if the variant is unknown.

    Parameters
    ----------
    variant : str, optional
        ``"basic"`` gives the pass the name that TVM uses for its simpler form.
    support_block_scope_hosting : bool
        Also move conditions on thread axes, and conditions out of the launches of thread axes.
    """

    prefix: ClassVar[str] = PrimFuncPass.prefix
    variant: Literal[None, "basic"] = None
    support_block_scope_hosting: bool = False

    @property
    def info(self) -> PassInfo:
        """The name depends on the variant."""
        return replace(self.facts, name="tir.HoistIfThenElseBasic") if self.variant else self.facts

    def apply(self, mod: IRModule, ctx: PassContext) -> IRModule:
        across = self.configured(ctx).support_block_scope_hosting
        for each in (InsertHoistIfThenElse(across), Simplify(), RemoveNoOp()):
            mod = each(mod)
        return mod


class InsertHoistIfThenElse(FunctionRewrite):
    """Move branches out of loops, without cleaning up afterwards.

    ``support_block_scope_hosting`` is as that of :class:`HoistIfThenElse`.
    """

    support_block_scope_hosting: bool = False

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        nodes = features(func).nodes
        if IfThenElse not in nodes or For not in nodes:
            return func
        conditionals = HoistedConditionals.IfElseStmt
        if self.support_block_scope_hosting:
            conditionals |= HoistedConditionals.UsingBlockVar
        return func.with_body(hoisted(func.body, conditionals, HoistedLetBindings.Never))
