"""The tasks of a model: which templates its operators are computed by, with which arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.autotvm.task import DispatchContext, Task, create, deserialize_args
from compiler.autotvm.task.space import ConfigSpace, FallbackConfigEntity
from compiler.autotvm.task.workload import Workload
from compiler.driver.relay.params import bind_params
from compiler.ir.module import IRModule
from compiler.relay.analysis.traversal import operands, post_order
from compiler.relay.expr import Call
from compiler.relay.function import Function
from compiler.relay.op_strategy import select_implementation
from compiler.relay.operator import RelayOp
from compiler.relay.transform.infer_type import InferType
from compiler.relay.ty import tensor_types
from compiler.runtime.ndarray import ArrayLike
from compiler.target.target import Target, TargetLike
from compiler.te.operation import placeholder

__all__ = ["extract_from_program"]

_STRATEGY = "FTVMStrategy"


def extract_from_program(
    mod: IRModule | Function,
    params: Mapping[str, ArrayLike] | None,
    target: TargetLike,
    target_host: TargetLike | None = None,
    ops: Sequence[RelayOp] | None = None,
) -> list[Task]:
    """Return the tasks of a model: a template that an operator's strategy offers is one for each kind of call.

    The schedules of ``topi`` have no parameters: operators whose strategy has no template have no task.

    Parameters
    ----------
    mod : IRModule or Function
        The model.
    params : mapping of str to array_like or NDArray, optional
        Values of its parameters.
    target : Target or str
    target_host : Target or str, optional
    ops : sequence of Op, optional
        The operators whose calls count; all of them when left out.

    Returns
    -------
    list of Task
        Each once, in the order of the calls.
    """
    module = mod if isinstance(mod, IRModule) else IRModule.from_expr(mod)
    module = InferType()(bind_params(module, params or {}))
    chosen = Target(target)
    with _Recorded() as recorded:
        for function in module.functions.values():
            for call in post_order(function, operands) if isinstance(function, Function) else ():
                if isinstance(call, Call) and isinstance(call.op, RelayOp) and (ops is None or call.op in ops):
                    _ask(call.op, call, chosen)
    return [create(name, deserialize_args(args), chosen, target_host) for name, *args in recorded.workloads]


def _ask(op: RelayOp, call: Call, target: Target) -> None:
    """Let the strategy of an operator compute a call by each of its implementations."""
    if op.get_attr(_STRATEGY) is None:
        return
    types = [each for arg in call.args for each in tensor_types([arg.checked_type])]
    inputs = [placeholder(each.shape, dtype=each.dtype) for each in types]
    select_implementation(op, call.attrs, inputs, call.checked_type, target)


class _Recorded(DispatchContext):
    """Notes which workloads are asked about, and chooses defaults."""

    def __init__(self) -> None:
        super().__init__()
        self.workloads: dict[Workload, None] = {}

    def _query_inside(self, target: Target | None, workload: Workload | None) -> ConfigSpace:
        if workload is not None:
            self.workloads.setdefault(workload)
        return FallbackConfigEntity()
