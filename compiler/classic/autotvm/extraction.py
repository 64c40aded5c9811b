"""Extracts the tuning tasks of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from compiler.classic.autotvm.operator_templates import workload_of
from compiler.classic.autotvm.task import DispatchContext, Task, create, deserialize_args
from compiler.classic.autotvm.task.space import ConfigSpace, FallbackConfigEntity
from compiler.classic.autotvm.task.workload import Workload
from compiler.classic.relay.op_strategy.selection import program_strategy, select_implementation
from compiler.driver.relay.params import bind_params
from compiler.ir.error import expected
from compiler.ir.module import IRModule
from compiler.ir.passes.context import PassContext
from compiler.relay.analysis.traversal import operands, post_order
from compiler.relay.expr import Call, GraphExpr
from compiler.relay.function import Function
from compiler.relay.operator import RelayOp, operator_of
from compiler.relay.transform.infer_type import InferType
from compiler.relay.transform.pipeline import optimize
from compiler.relay.ty import tensor_types
from compiler.runtime.arrays.ndarray import ArrayLike
from compiler.target.target import Target, TargetLike
from compiler.te.definition.operation import placeholder

_LEVEL = 3
"""Of the passes before the calls are looked at: that of the builds that use what is tuned."""
_PLAIN_LAYOUT = {
    "nn.contrib_conv2d_NCHWc": "nn.conv2d",
    "nn.contrib_depthwise_conv2d_NCHWc": "nn.conv2d",
    "nn.contrib_conv2d_winograd_NCHWc": "nn.conv2d",
    "nn.contrib_dense_pack": "nn.dense",
}
"""What operators whose tensors are in blocks are made of by ``AlterOpLayout``."""


def extract_from_program(
    mod: IRModule | Function,
    params: Mapping[str, ArrayLike] | None,
    target: TargetLike,
    target_host: TargetLike | None = None,
    ops: Sequence[RelayOp] | None = None,
) -> list[Task]:
    """Return the tasks of a model: one for each kind of call of an operator that has a template.

    These are the templates that a program's strategies offer, which come first, and those of operators whose schedules
    have numbers to choose: convolutions and products of matrices, in the layouts that a build of level 3 brings them
    into.  Schedules for devices have no templates.  With ``ops``, only calls of these operators count.
    """
    return extract_from_multiple_program([mod], [params], target, target_host, ops)


def extract_from_multiple_program(
    mods: Sequence[IRModule | Function],
    params: Sequence[Mapping[str, ArrayLike] | None],
    target: TargetLike,
    target_host: TargetLike | None = None,
    ops: Sequence[RelayOp] | None = None,
) -> list[Task]:
    """Return the tasks of models, each once: those that :func:`extract_from_program` finds."""
    if not all(isinstance(each, RelayOp) for each in ops or ()):
        expected("autotvm.task.extract_from_program", "ops", "a list of operators, as relay.op.get returns them", ops)
    chosen = Target(target)
    modules = [
        bind_params(mod if isinstance(mod, IRModule) else IRModule.from_expr(mod), values or {})
        for mod, values in zip(mods, params, strict=True)
    ]
    asked = [workload for module in modules for workload in _of_strategies(module, chosen, ops)]
    tasks = [create(name, deserialize_args(args), chosen, target_host) for name, *args in dict.fromkeys(asked)]
    kept = [workload for module in modules for workload in _of_schedules(module, chosen, ops)]
    own = [create(name, deserialize_args(args), chosen, target_host) for name, *args in dict.fromkeys(kept)]
    return [*tasks, *(task for task in own if task.config_space is not None and task.config_space.space_map)]


def _of_strategies(module: IRModule, target: Target, ops: Sequence[RelayOp] | None) -> list[Workload]:
    """Return the workloads that the strategies of operators ask about."""
    with _WorkloadRecorder() as recorded:
        for call in _calls(InferType()(module)):
            if ops is None or call.op in ops:
                _ask(operator_of(call), call, target)
    return list(recorded.workloads)


def _of_schedules(module: IRModule, target: Target, ops: Sequence[RelayOp] | None) -> list[Workload]:
    """Return the workloads of operators with schedules of their own, after the passes of a build."""
    if "gpu" in target.keys:
        return []
    names = None if ops is None else {op.name for op in ops}
    with PassContext(opt_level=_LEVEL):
        calls = _calls(optimize(module, target))
    return [
        workload_of(call)
        for call in calls
        if operator_of(call).schedule is not None
        and program_strategy(operator_of(call)) is None
        and (names is None or not names.isdisjoint(_names(operator_of(call))))
        and all(each.is_static for each in tensor_types([arg.checked_type for arg in call.args]))
    ]


def _names(op: RelayOp) -> set[str]:
    """Return the name of an operator, and of the one that it is made of where its tensors are in blocks."""
    return {op.name, _PLAIN_LAYOUT.get(op.name, op.name)}


def _calls(module: IRModule) -> Iterator[Call]:
    """Yield the calls of operators in a module, those of fused functions included."""
    for function in module.functions.values():
        for call in post_order(function, _parts) if isinstance(function, Function) else ():
            if isinstance(call, Call) and isinstance(call.op, RelayOp):
                yield call


def _parts(expr: GraphExpr) -> tuple[GraphExpr, ...]:
    """Return what is evaluated before an expression; of a call its arguments before what it calls."""
    return (*expr.args, expr.op) if isinstance(expr, Call) else operands(expr)


def _ask(op: RelayOp, call: Call, target: Target) -> None:
    """Let the strategy of an operator compute a call by each of its implementations."""
    if program_strategy(op) is None:
        return
    types = [each for arg in call.args for each in tensor_types([arg.checked_type])]
    inputs = [placeholder(each.shape, dtype=each.dtype) for each in types]
    select_implementation(op, call.attrs, inputs, call.checked_type, target)


class _WorkloadRecorder(DispatchContext):
    """Notes which workloads are asked about, and chooses defaults."""

    def __init__(self) -> None:
        super().__init__()
        self.workloads: dict[Workload, None] = {}

    def _query_inside(self, target: Target | None, workload: Workload | None) -> ConfigSpace:
        if workload is not None:
            self.workloads.setdefault(workload)
        return FallbackConfigEntity()
