"""AutoTVM templates of operators with tunable schedules.

A template is an operator with its attributes, for inputs of certain types; its schedule is the operator's own, which
asks for its numbers (:mod:`compiler.topi.schedules.choice`).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from compiler.classic.autotvm.task import DispatchContext, FallbackContext
from compiler.classic.autotvm.task.space import ConfigSpace
from compiler.classic.autotvm.task.task import get_config, template
from compiler.classic.autotvm.task.workload import Workload, args_to_workload
from compiler.ir.module import IRModule
from compiler.ir.op import registered_ops
from compiler.relay.expr import Call, Var
from compiler.relay.function import Function
from compiler.relay.operator import RelayOp, operator_of
from compiler.relay.transform.infer_type import InferType
from compiler.relay.ty import TensorType, tensor_types
from compiler.target.target import Target
from compiler.te.definition.operation import placeholder
from compiler.te.definition.tensor import Tensor
from compiler.te.scheduling.schedule import Schedule
from compiler.topi.schedules.choice import chosen_by


def template_name(op: RelayOp) -> str:
    """Return the name of an operator's template, such as ``conv2d_NCHWc.cpu``."""
    return op.name.removeprefix("nn.").removeprefix("contrib_") + ".cpu"


def workload_of(call: Call) -> Workload:
    """Return the workload of a call: the name of its template, its inputs and its attributes."""
    op = operator_of(call)
    types = tensor_types([arg.checked_type for arg in call.args])
    inputs = [placeholder(each.shape, dtype=each.dtype) for each in types]
    return args_to_workload([*inputs, sorted(call.attrs.items())], template_name(op))


def is_tuned() -> bool:
    """Return whether a context chooses configurations, so that kernels depend on more than what they compute."""
    return type(DispatchContext.current) is not FallbackContext


def configuration_of(call: Call, target: Target) -> ConfigSpace | None:
    """Return what the current contexts choose for a call; None if no context does."""
    return DispatchContext.current.query(target, workload_of(call)) if is_tuned() else None


def _schedule(op: RelayOp, *args: Any) -> tuple[Schedule, list[Tensor]]:
    """Return the schedule of an operator alone, with its parameters."""
    *inputs, attrs = args
    params = tuple(Var(f"p{i}", TensorType(each.shape, each.dtype)) for i, each in enumerate(inputs))
    module = InferType()(IRModule.from_expr(Function(params, op(*params, **dict(attrs)))))
    call = module["main"].body
    assert op.compute is not None, "an operator with a schedule of its own has a definition"
    assert op.schedule is not None, "only operators with schedules of their own have templates"
    outputs = list(op.compute(call.attrs, inputs, call.checked_type))
    with chosen_by(get_config):
        schedule = op.schedule(call.attrs, outputs, Target.target_or_current(None))
    return schedule, [*inputs, *outputs]


for _op in registered_ops().values():
    if isinstance(_op, RelayOp) and _op.compute is not None and _op.schedule is not None:
        template(template_name(_op), partial(_schedule, _op))
