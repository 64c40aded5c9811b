"""Guards: conditions that keep a loop nest within the domains it must cover."""

from __future__ import annotations

from collections.abc import Sequence, Set

from compiler.arith import Analyzer
from compiler.ir.expr.primexpr import FloorMod, IntImm, IterVar, PrimExpr, Range, const
from compiler.te.definition.compute_body import reads_tensors
from compiler.te.definition.operation import domain
from compiler.te.lowering.message_passing import axes_to_guard
from compiler.te.relations.relation import Domains, Values
from compiler.te.scheduling.stage_state import StageState
from compiler.tir.expressions.builtin import if_then_else
from compiler.tir.expressions.op import all as all_of


def bound_predicates(
    stage: StageState,
    domains: Domains,
    values: Values,
    analyzer: Analyzer,
    skip: Set[IterVar] = frozenset(),
    skip_own_domain: bool = False,
) -> list[PrimExpr]:
    """Return the conditions under which a point of the loop nest is one that the stage computes.

    The domains of an operation's own axes, from bound inference, can exceed the axes' declared ones; with
    ``skip_own_domain`` such elements outside of the declared shape may be computed.
    """
    predicates: list[PrimExpr] = []
    over = axes_to_guard(stage, domains, analyzer)
    for axis in stage.all_iter_vars:
        if axis in over and axis not in skip:
            value = values[axis] - domains[axis].min
            _require_below(value, domains[axis].extent, analyzer, predicates)
    for axis in stage.op.root_iter_vars:
        own = domain(axis)
        if axis in skip or skip_own_domain or _same(own, domains[axis]):
            continue
        value = values[axis] - own.min
        if not _provable(value >= 0, analyzer):
            predicates.append(value >= 0)
        _require_below(value, own.extent, analyzer, predicates)
    return predicates


def guarded_condition(condition: PrimExpr, guards: Sequence[PrimExpr]) -> PrimExpr:
    """Return ``condition`` and all ``guards``; where the condition reads tensors, only within the guards."""
    if not guards:
        return condition
    if reads_tensors(condition):
        return if_then_else(all_of(*guards), condition, const(False))
    return all_of(condition, *guards)


def _require_below(value: PrimExpr, extent: PrimExpr, analyzer: Analyzer, predicates: list[PrimExpr]) -> None:
    condition = value < extent
    if isinstance(value, FloorMod) and analyzer.can_prove_equal(value.b, extent):
        return  # a loop without iterations needs no guard
    if not _provable(condition, analyzer):
        predicates.append(condition)


def _provable(condition: PrimExpr, analyzer: Analyzer) -> bool:
    return bool(condition) if isinstance(condition, IntImm) else analyzer.can_prove(condition)


def _same(a: Range, b: Range) -> bool:
    def equal(x: PrimExpr, y: PrimExpr) -> bool:
        return x is y or (isinstance(x, IntImm) and isinstance(y, IntImm) and x.value == y.value)

    return equal(a.min, b.min) and equal(a.extent, b.extent)
