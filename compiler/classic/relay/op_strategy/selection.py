"""Which implementation of an operator a kernel is made with: ``relay.op.OpStrategy``.

A strategy is a function of attributes, inputs, the type of the result and a target, which lists implementations.  An
operator's row says one; programs set their own as ``FTVMStrategy``, or add variants to the generic function of its
name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from compiler.arith import Analyzer
from compiler.classic.autotvm.task import DispatchContext, FallbackContext, get_workload
from compiler.classic.target.generic_func import GenericFunc, get_native_generic_func
from compiler.ir.attrs import Attrs
from compiler.ir.error import BuildError
from compiler.ir.expr.primexpr import IntImm
from compiler.ir.op import Op
from compiler.ir.types import Type
from compiler.relay.implementations import Implementation, ScheduleMaker
from compiler.relay.operator import RelayOp
from compiler.target.target import Target
from compiler.te.definition.tensor import Tensor
from compiler.te.lowering.specialized_condition import SpecializedCondition
from compiler.te.scheduling.schedule import Schedule
from compiler.topi.schedules import schedule_rule_for

_ATTRIBUTE = "FTVMStrategy"
_LEVEL = 10

Compute = Callable[[Attrs, "list[Tensor]", Type], Any]
Strategy = Callable[[Attrs, "list[Tensor]", Type, Target], "OpStrategy"]


class OpImplementation:
    """One way to compute an operator: tensor expressions and their schedule.

    Of implementations that are valid, the one with the highest ``plevel`` is taken.
    """

    def __init__(self, fcompute: Compute, fschedule: ScheduleMaker, name: str, plevel: int) -> None:
        self._compute = fcompute
        self._schedule = fschedule
        self.name = name
        self.plevel = plevel

    def compute(self, attrs: Attrs, inputs: Sequence[Tensor], out_type: Type) -> list[Tensor]:
        """Return the tensors of a call."""
        made = self._compute(attrs, list(inputs), out_type)
        return [made] if isinstance(made, Tensor) else list(made)

    def schedule(self, attrs: Attrs, outs: Sequence[Tensor], target: Target) -> Schedule:
        """Return the schedule of a group around the operator."""
        return self._schedule(attrs, list(outs), target)


class OpSpecialization:
    """Implementations under one condition."""

    def __init__(self, condition: SpecializedCondition | None) -> None:
        self.condition = condition
        self.implementations: list[OpImplementation] = []


class OpStrategy:
    """The implementations of an operator, by the conditions under which they count."""

    def __init__(self) -> None:
        self.specializations: list[OpSpecialization] = []

    def add_implementation(
        self, compute: Compute, schedule: ScheduleMaker, name: str = "default", plevel: int = _LEVEL
    ) -> None:
        """Add an implementation, under the current ``te.SpecializedCondition``; of those valid, the highest ``plevel``
        is taken.

        Examples
        --------
        ::

            strategy = relay.op.OpStrategy()
            strategy.add_implementation(
                relay.op.strategy.wrap_topi_compute(topi.nn.relu),
                relay.op.strategy.wrap_topi_schedule(topi.generic.schedule_injective),
                name="relu.generic",
            )
        """
        condition = SpecializedCondition.current()
        for specialization in self.specializations:
            if specialization.condition is condition:
                break
        else:
            specialization = OpSpecialization(condition)
            self.specializations.append(specialization)
        specialization.implementations.append(OpImplementation(compute, schedule, name, plevel))


def own_strategy(op: RelayOp) -> GenericFunc | None:
    """Return the generic function of an operator's name, by default what its row says; None without a definition."""
    if op.compute is None:
        return None
    generic = get_native_generic_func(strategy_name(op.name))
    if isinstance(generic.default, _RowStrategy) and generic.default.op is not op:
        generic = get_native_generic_func(f"{op.name}_strategy")
    if generic.default is None:
        generic.set_default(_RowStrategy(op))
    return generic


def strategy_name(op_name: str) -> str:
    """Return the name of the generic function that an operator's strategy is, e.g. ``conv2d_strategy``."""
    return op_name.rpartition(".")[2].removeprefix("contrib_") + "_strategy"


class _RowStrategy:
    """The strategy of an operator's row: its definition, and its schedule or the usual one for its pattern."""

    def __init__(self, op: RelayOp) -> None:
        self.op = op

    def __call__(self, attrs: Attrs, inputs: list[Tensor], out_type: Type, target: Target) -> OpStrategy:
        op = self.op
        assert op.compute is not None, "an operator without a definition has no strategy"
        usual = schedule_rule_for(op.pattern)
        strategy = OpStrategy()
        schedule = op.schedule or (lambda attrs, outs, target: usual(outs, target))
        short = op.name.rpartition(".")[2]
        strategy.add_implementation(op.compute, schedule, name=f"{short}.generic")
        return strategy


def program_strategy(op: Op) -> Strategy | None:
    """Return the strategy that a program gave an operator; None if its row alone counts."""
    strategy: Strategy | GenericFunc | None = op.get_attr(_ATTRIBUTE)
    if isinstance(strategy, GenericFunc) and strategy.is_default and isinstance(strategy.default, _RowStrategy):
        return None
    return strategy


def implementation_of(op: RelayOp) -> Implementation | None:
    """Return how the strategy of a program computes an operator; None if there is none."""
    return None if program_strategy(op) is None else partial(_implement, op)


def _implement(
    op: RelayOp, attrs: Attrs, inputs: Sequence[Tensor], out_type: Type, target: Target
) -> tuple[ScheduleMaker, list[Tensor]]:
    implementation, made = select_implementation(op, attrs, inputs, out_type, target)
    return implementation.schedule, made


def get_valid_implementations(
    op: RelayOp, attrs: Attrs, inputs: Sequence[Tensor], out_type: Type, target: Target
) -> list[OpImplementation]:
    """Return the implementations of a call whose conditions certainly hold.

    Raises BuildError if the operator has no strategy.
    """
    strategy: Any = op.get_attr(_ATTRIBUTE)
    if strategy is None:
        raise BuildError(
            f"{op.name} has no strategy: {_ATTRIBUTE} is not set, and there is no definition to derive one from"
        )
    with target:
        listed: OpStrategy = strategy(attrs, list(inputs), out_type, target)
    analyzer = Analyzer()
    return [
        implementation
        for specialization in listed.specializations
        if _holds(specialization.condition, analyzer)
        for implementation in specialization.implementations
    ]


def _holds(condition: SpecializedCondition | None, analyzer: Analyzer) -> bool:
    if condition is None:
        return True
    simplified = [analyzer.simplify(clause) for clause in condition.clauses]
    return all(isinstance(clause, IntImm) and clause.value for clause in simplified)


def select_implementation(
    op: RelayOp, attrs: Attrs, inputs: Sequence[Tensor], out_type: Type, target: Target, use_autotvm: bool = True
) -> tuple[OpImplementation, list[Tensor]]:
    """Return the implementation of a call, and the tensors that it computes: the fastest tuned one, else by level.

    ``use_autotvm`` lets the records of tuning decide, where there are any: of the implementations that are templates
    with a record, the fastest is taken. Raises BuildError if the operator has no strategy, or no implementation is
    valid.
    """
    valid = get_valid_implementations(op, attrs, inputs, out_type, target)
    if not valid:
        raise BuildError(f"no implementation of {op.name} is valid for {target}")
    with target:
        tuned = _fastest_tuned(valid, attrs, inputs, out_type, target) if use_autotvm else None
        if tuned is not None:
            return tuned
        best = max(valid, key=lambda implementation: implementation.plevel)
        return best, best.compute(attrs, inputs, out_type)


def _fastest_tuned(
    valid: Sequence[OpImplementation], attrs: Attrs, inputs: Sequence[Tensor], out_type: Type, target: Target
) -> tuple[OpImplementation, list[Tensor]] | None:
    if type(DispatchContext.current) is FallbackContext:
        return None
    best, best_cost = None, float("inf")
    for implementation in valid:
        made = implementation.compute(attrs, inputs, out_type)
        workload = get_workload(made)
        if workload is None:
            continue
        config = DispatchContext.current.query(target, workload)
        cost = float("inf") if config.is_fallback or config.cost is None else config.cost
        if cost < best_cost:
            best, best_cost = (implementation, made), cost
    return best
