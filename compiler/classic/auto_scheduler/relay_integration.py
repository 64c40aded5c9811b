"""Extracts the tasks of a model, and builds models with searched schedules."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING

from compiler.classic.auto_scheduler.measure import MeasureInput, MeasureResult
from compiler.classic.auto_scheduler.record import load_records
from compiler.classic.auto_scheduler.scheduled_dag import ScheduledDAG
from compiler.classic.auto_scheduler.search_task import HardwareParams, SearchTask
from compiler.classic.auto_scheduler.sketch import State
from compiler.classic.auto_scheduler.transform_steps import StepState
from compiler.driver.relay.build import BuiltGraph, build
from compiler.driver.relay.lower import KernelDefinition
from compiler.ir.error import ArgumentError
from compiler.ir.instrument import Instrument, instrumented
from compiler.ir.module import IRModule
from compiler.ir.passes.context import PassContext
from compiler.relay.function import Function
from compiler.runtime.arrays.ndarray import ArrayLike
from compiler.search.fastest import keep_fastest
from compiler.target.target import Target, TargetLike
from compiler.te.definition.operation import ComputeOp

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

__all__ = ["ApplyHistoryBest", "extract_tasks", "is_auto_scheduler_enabled"]

Records = str | PathLike[str] | Iterable[tuple[MeasureInput, MeasureResult]]


def is_auto_scheduler_enabled() -> bool:
    """Return whether the current pass context asks for schedules that were searched."""
    return bool(PassContext.current().config.get("relay.backend.use_auto_scheduler", False))


def _dag(definition: KernelDefinition) -> ScheduledDAG:
    dag = ScheduledDAG([*definition.inputs, *definition.outputs])
    dag.default = definition.schedule
    return dag


def extract_tasks(
    mod: IRModule | Function, params: Mapping[str, ArrayLike] | None, target: TargetLike,
    target_host: TargetLike | None = None, hardware_params: HardwareParams | None = None,
    include_simple_tasks: bool = False, dump_workload_to_dag_log: str | None = None, opt_level: int = 3,
    other_targets: object = None,
) -> tuple[list[SearchTask], list[int]]:  # fmt: skip
    """Return the tasks of a model: its kernels, those without reductions only with ``include_simple_tasks``.

    Raises ArgumentError if the model is built for another executor than that of graphs.
    """
    with PassContext(opt_level=opt_level):
        built = build(mod, target, params=params)
    if not isinstance(built, BuiltGraph):
        raise ArgumentError("auto_scheduler.extract_tasks: only the tasks of a graph executor are extracted")
    calls = Counter(node.get("attrs", {}).get("func_name") for node in json.loads(built.get_graph_json())["nodes"])
    weights: dict[str, int] = {}
    tasks: dict[str, SearchTask] = {}
    for name, kernel in built.kernels.items():
        dag = _dag(kernel.usual)
        if not include_simple_tasks and not any(isinstance(op, ComputeOp) and op.reduce_axis for op in dag.ops):
            continue
        task = SearchTask(compute_dag=dag, target=target, hardware_params=hardware_params, desc=name)
        tasks.setdefault(task.workload_key, task)
        weights[task.workload_key] = weights.get(task.workload_key, 0) + max(calls[name], 1)
    return list(tasks.values()), list(weights.values())


class ApplyHistoryBest(Instrument):
    """Lets the kernels of models be computed by the best schedules of records, where there are some.

    Used in a ``with`` statement around ``relay.build``.  Of a file of records, the first ``n_lines`` count, or all.
    """

    def __init__(self, records: Records, n_lines: int | None = None, include_compatible: bool = False) -> None:
        self._best: dict[tuple[str, str], tuple[State | StepState, MeasureResult]] = {}
        self._target = ""
        self._active: list[AbstractContextManager[object]] = []
        self.load(records, n_lines)

    def load(self, records: Records, n_lines: int | None = None) -> None:
        """Add records."""
        given = load_records(records) if isinstance(records, (str, PathLike)) else records
        for inp, res in list(given)[:n_lines]:
            keep_fastest(self._best, (inp.task.workload_key, str(inp.task.target)), (inp.state, res))

    def graph_build_begin(self, module: IRModule, target: Target) -> None:
        self._target = str(target)

    def kernel_defined(self, name: str, function: Function, definition: KernelDefinition) -> KernelDefinition | None:
        dag = _dag(definition)
        best = self._best.get((dag.workload_key(), self._target))
        if best is None or best[0] == State(()):  # the schedule that there is
            return None
        schedule, _ = dag.apply_steps_from_state(best[0])
        return KernelDefinition(definition.inputs, definition.outputs, schedule)

    def __enter__(self) -> ApplyHistoryBest:
        self._active.append(instrumented(self))
        self._active[-1].__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._active.pop().__exit__(kind, error, trace)
