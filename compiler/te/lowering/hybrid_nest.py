"""The loop nest of a hybrid operation after the primitives applied to its stage."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.arith import Analyzer
from compiler.ir.error import ScheduleError
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Var, const
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.functor import Mutator
from compiler.ir.origin import derived_from
from compiler.te.definition.hybrid_op import HybridOp
from compiler.te.definition.operation import domain
from compiler.te.lowering.guards import bound_predicates
from compiler.te.lowering.loop_nest import StageLoops, WithAttached, by_var, guarded
from compiler.te.lowering.message_passing import derived_axes, pass_up_index
from compiler.te.relations.rebase import Rebase
from compiler.te.relations.relation import Domains, Values
from compiler.te.scheduling.stage import IterVarAttr, Stage
from compiler.tir.statements.stmt import AttrStmt, For, ForKind, Stmt

_KIND: dict[int | None, ForKind] = {
    IterVar.Vectorized: ForKind.VECTORIZED,
    IterVar.Unrolled: ForKind.UNROLLED,
    IterVar.Parallelized: ForKind.PARALLEL,
}


class HybridNest(StageLoops):
    """Builds the statement of a stage that a hybrid script describes.

    Loops that stand directly in each other form a band; the primitives change each band by itself.
    """

    def __init__(
        self,
        stage: Stage,
        domains: Domains,
        analyzer: Analyzer,
        with_attached: WithAttached,
        keep_trivial_loops: bool = False,
    ) -> None:
        super().__init__(stage, domains, analyzer, with_attached, keep_trivial_loops)
        assert isinstance(stage.op, HybridOp)
        self.op = stage.op
        self.dependent = True
        self.axis_of = {axis.var: axis for axis in self.op.loop_axes}
        self.done: list[IterVar] = []
        rebased = {r.rebased for r in stage.relations if isinstance(r, Rebase) and r.parent in self.op.loop_axes}
        self.unchanged = rebased | set(self.op.loop_axes)

    def build(self) -> Stmt:
        """Return the statement that computes the stage."""
        with derived_from(self.op.span):
            roots = derived_axes(self.stage, set(self.op.loop_axes))
            alone = [axis for axis in self.stage.leaf_iter_vars if axis not in roots]
            body = self.loops(alone).wrap(_Bands(self).visit(self.op.statement()))
            return AttrStmt(const(0), "extern_scope", const(0), body)

    def loops_of(self, axes: Sequence[IterVar]) -> list[IterVar]:
        """Return the loops that the primitives made of the loops of a band; outer bands come before inner ones."""
        derived = derived_axes(self.stage, set(axes))
        if not derived.isdisjoint(derived_axes(self.stage, set(self.op.loop_axes) - set(axes))):
            self._refuse("fuse", axes)
        leaves = [axis for axis in self.stage.leaf_iter_vars if axis in derived]
        self._check_order(axes, leaves)
        return leaves

    def band(self, axes: Sequence[IterVar], leaves: Sequence[IterVar], body: Stmt) -> Stmt:
        """Return the loops of a band around what stands in them."""
        nest = self.loops(leaves)
        pass_up_index(self.stage, self.domains, nest.values)
        nest.values.update({axis: self._at(value, nest.values) for axis, value in nest.values.items()})
        others = set(self.stage.all_iter_vars) - derived_axes(self.stage, set(axes))
        predicates = bound_predicates(self.stage, self.domains, nest.values, self.analyzer, skip=others)
        replaced = by_var(nest.values, axes)
        guards = [self._at(condition, nest.values) for condition in predicates]
        return nest.wrap(guarded(substitute(body, replaced), guards))

    def _check_order(self, axes: Sequence[IterVar], leaves: Sequence[IterVar]) -> None:
        """Check that the loops of bands follow each other as in the script, and no loop is outside of its bounds."""
        place = {axis: i for i, axis in enumerate(self.stage.leaf_iter_vars)}
        if self.done and leaves and max(place[a] for a in self.done) > min(place[a] for a in leaves):
            self._refuse("reorder", axes)
        self.done += leaves
        made_of = {axis: [place[a] for a in leaves if a in derived_axes(self.stage, {axis})] for axis in axes}
        for axis in axes:
            used: set[Var] = set(free_vars((domain(axis).min, domain(axis).extent)))
            for outer in axes:
                if outer.var in used and max(made_of[outer]) > min(made_of[axis]):
                    raise ScheduleError(
                        f"reorder: the extent of {self.stage.describe(axis)} depends on loop {outer.var.name!r}, which "
                        "must stay outside of it"
                    )

    def _refuse(self, primitive: str, axes: Sequence[IterVar]) -> None:
        names = ", ".join(axis.var.name for axis in axes)
        raise ScheduleError(
            f"{primitive}: loops of a hybrid script must stand directly in each other, and {names} of stage "
            f"{self.op.name!r} and the others do not"
        )

    def _at(self, e: PrimExpr, values: Values) -> PrimExpr:
        """Return what a part of a domain is in the loops of a band; the bands around put in their loops later."""
        return substitute(e, by_var(values, [axis for axis in self.op.loop_axes if axis in values]))

    def _kind(self, axis: IterVar, attr: IterVarAttr | None) -> ForKind:
        """A loop that no primitive says anything about is carried out as in the script."""
        if (attr is None or attr.iter_type is None) and axis in self.unchanged:
            return _KIND.get(axis.iter_type, ForKind.SERIAL)
        return super()._kind(axis, attr)


class _Bands(Mutator):
    """Makes the loops of each band anew."""

    def __init__(self, nest: HybridNest) -> None:
        self._nest = nest

    def visit_For(self, n: For) -> Stmt:
        axes = [self._nest.axis_of[n.loop_var]]
        body = n.body
        while isinstance(body, For):
            axes.append(self._nest.axis_of[body.loop_var])
            body = body.body
        leaves = self._nest.loops_of(axes)
        return self._nest.band(axes, leaves, self.visit(body))
