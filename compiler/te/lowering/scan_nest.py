"""The loop over the steps of a scan."""

from __future__ import annotations

from compiler.arith import Analyzer
from compiler.ir.expr.primexpr import IterVar, PrimExpr
from compiler.te.definition.operation import domain
from compiler.te.definition.scan import ScanOp
from compiler.te.lowering.guards import bound_predicates
from compiler.te.lowering.loop_nest import LoopNest, StageLoops, WithAttached, guarded
from compiler.te.lowering.message_passing import derived_axes, pass_up_index
from compiler.te.relations.relation import Domains
from compiler.te.scheduling.stage import Stage
from compiler.tir.statements.stmt import Stmt, seq


class ScanNest(StageLoops):
    """Builds the loop of the steps; what is computed in a step is attached to it.

    What a step computes is guarded by the shape of the result.  A scan that is computed in a loop of its reader carries
    out fewer steps and has a buffer for these alone, so the loops that its axis was split into need guards of their
    own.
    """

    def __init__(self, stage: Stage, domains: Domains, analyzer: Analyzer, with_attached: WithAttached) -> None:
        super().__init__(stage, domains, analyzer, self._with_guards)
        assert isinstance(stage.op, ScanOp)
        self._steps = stage.op.scan_axis
        derived = derived_axes(stage, {self._steps})
        self._innermost = [axis for axis in stage.leaf_iter_vars if axis in derived][-1]
        self._attached = with_attached
        self._nest = LoopNest()

    def build(self) -> Stmt:
        """Return the loop of the steps, without what computes the initial elements."""
        self._nest = self.loops(self.stage.leaf_iter_vars)
        pass_up_index(self.stage, self.domains, self._nest.values)
        return self._nest.wrap(seq([]))

    def _with_guards(self, axis: IterVar, body: Stmt) -> Stmt:
        body = self._attached(axis, body)
        return guarded(body, self._predicates()) if axis is self._innermost else body

    def _predicates(self) -> list[PrimExpr]:
        whole = self.analyzer.can_prove_equal(domain(self._steps).extent, self.domains[self._steps].extent)
        if whole:
            return []
        others = set(self.stage.all_iter_vars) - derived_axes(self.stage, {self._steps})
        return bound_predicates(
            self.stage, self.domains, self._nest.values, self.analyzer, skip=others, skip_own_domain=True
        )
