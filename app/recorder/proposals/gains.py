"""Reasons why a primitive might help, from its place in the schedule."""

from __future__ import annotations

from collections.abc import Mapping

from app.recorder.proposals.candidates import Annotate, Candidate, Fuse, Reorder, Split
from app.recorder.proposals.payoffs import Payoffs
from compiler.ir.expr.primexpr import IterVar
from compiler.ir.module import IRModule
from compiler.te.scheduling.schedule import Schedule
from compiler.te.scheduling.stage import AttachType, Stage

Extents = Mapping[IterVar, int]
"""Iterations of each loop, as far as they are constants."""


class Gains:
    """Says why primitives might help for one schedule.

    Parameters
    ----------
    payoffs : Payoffs
        Of the function that it is lowered to.
    """

    def __init__(self, schedule: Schedule, payoffs: Payoffs, extents: Extents) -> None:
        self._schedule = schedule
        self._payoffs = payoffs
        self._extents = extents

    def gain(self, candidate: Candidate, after: IRModule) -> str:
        """Return why a candidate might help, in a sentence; empty if there is no reason.

        Parameters
        ----------
        after : IRModule
            What the schedule is lowered to with it.
        """
        match candidate:
            case Annotate(primitive="vectorize"):
                axis, extent = self._axis(candidate)
                innermost = self._stage(candidate).leaf_iter_vars[-1] is axis
                return self._payoffs.vectorize(axis.var, extent) if innermost else ""
            case Annotate(primitive="parallel"):
                return self._parallel(candidate)
            case Annotate(primitive="unroll"):
                return self._unroll(candidate)
            case Split():
                axis, extent = self._axis(candidate)
                return self._payoffs.split(axis.var, extent, candidate.factor)
            case Reorder():
                return self._reorder(candidate) or self._payoffs.fewer_bytes(after)
            case Fuse():
                at_root = self._stage(candidate).attach_type is AttachType.ROOT
                return self._payoffs.fuse(self._axis(candidate)[1]) if at_root and not candidate.loop else ""
        return self._payoffs.fewer_bytes(after)

    def _parallel(self, candidate: Annotate) -> str:
        stage = self._stage(candidate)
        attrs = stage.iter_var_attrs.values()
        parallel = any(attr.iter_type == IterVar.Parallelized or attr.bind_thread for attr in attrs)
        outermost = candidate.loop == 0 and stage.attach_type is AttachType.ROOT
        return self._payoffs.parallel(stage.op.name, self._axis(candidate)[1]) if outermost and not parallel else ""

    def _unroll(self, candidate: Annotate) -> str:
        stage, (axis, extent) = self._stage(candidate), self._axis(candidate)
        attr = stage.iter_var_attrs.get(axis)
        inner = candidate.loop >= len(stage.leaf_iter_vars) - 2
        return self._payoffs.unroll(extent) if inner and not (attr and attr.iter_type is not None) else ""

    def _reorder(self, candidate: Reorder) -> str:
        last, new = self._stage(candidate).leaf_iter_vars[-1], candidate.order(self._schedule)[-1]
        if last.iter_type != IterVar.CommReduce or new.iter_type == IterVar.CommReduce:
            return ""
        return self._payoffs.move_inside(new.var, last.var)

    def _stage(self, candidate: Candidate) -> Stage:
        return self._schedule.stages[candidate.stage]

    def _axis(self, candidate: Annotate | Split | Fuse) -> tuple[IterVar, int | None]:
        axis = candidate.axis(self._schedule)
        return axis, self._extents.get(axis)
