"""A stage's loops as a layout: its axes as functions of its loops, and the inverse."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from compiler.arith import Analyzer
from compiler.ir.error import ScheduleError
from compiler.ir.expr.primexpr import And, IterVar, PrimExpr, Range
from compiler.te.definition.operation import domain
from compiler.te.lowering.guards import bound_predicates
from compiler.te.lowering.message_passing import (
    derived_axes,
    loop_values,
    pass_down_domain,
    pass_down_index,
    pass_up_index,
)
from compiler.te.scheduling.stage import Stage


@dataclass(frozen=True, slots=True)
class Layout:
    """Dimensions that the loops of a stage make."""

    axes: tuple[IterVar, ...]
    """The loops over elements, in their order; reduction loops are not among them."""
    domains: tuple[Range, ...]
    values: dict[IterVar, PrimExpr]
    """The operation's own axes as functions of ``axes``."""
    indices: tuple[PrimExpr, ...]
    """``axes`` as functions of the operation's own axes."""
    guard: PrimExpr | None
    """What holds for points inside of the operation's domain, if not all are."""


def loop_layout(stage: Stage) -> Layout:
    """Return the layout that the loops of ``stage`` make."""
    own = tuple(a for a in stage.op.axis if a.iter_type != IterVar.DimInfo)
    mixed = derived_axes(stage, set(own)) & derived_axes(stage, set(stage.op.reduce_axis))
    if not mixed.isdisjoint(stage.leaf_iter_vars):
        raise ScheduleError(
            f"cache_write: a loop of {stage.op.name!r} is made of a data-parallel axis and a reduction axis, and"
            f" cannot be a dimension; fuse them after cache_write"
        )
    if not stage.relations:
        axes = tuple(a for a in stage.leaf_iter_vars if a.iter_type != IterVar.CommReduce)
        values: dict[IterVar, PrimExpr] = {a: a.var for a in own}
        return Layout(axes, tuple(domain(a) for a in axes), values, tuple(a.var for a in axes), None)
    analyzer = Analyzer()
    domains = {a: domain(a) for a in stage.op.root_iter_vars}
    pass_down_domain(stage, domains, analyzer)
    axes = tuple(a for a in stage.leaf_iter_vars if a.iter_type != IterVar.CommReduce)
    values = loop_values(stage.leaf_iter_vars, domains)
    pass_up_index(stage, domains, values)
    predicates = bound_predicates(stage, domains, values, analyzer, skip=set(stage.op.reduce_axis))
    indices: dict[IterVar, PrimExpr] = {a: a.var for a in own}
    pass_down_index(stage, domains, indices)
    return Layout(
        axes,
        tuple(domains[a] for a in axes),
        {a: values[a] for a in own},
        tuple(analyzer.simplify(indices[a]) for a in axes),
        reduce(And, predicates) if predicates else None,
    )
