"""Search tasks: a workload and a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

from compiler.classic.auto_scheduler.cost_model import XGBModel
from compiler.classic.auto_scheduler.layout_rewrite import LayoutRewriteOption
from compiler.classic.auto_scheduler.measure import TuningOptions
from compiler.classic.auto_scheduler.record import load_best_record
from compiler.classic.auto_scheduler.scheduled_dag import ScheduledDAG
from compiler.classic.auto_scheduler.search_policy import SketchPolicy
from compiler.classic.auto_scheduler.transform_steps import StepState
from compiler.classic.auto_scheduler.workload import make_workload_key, workload_key_to_tensors
from compiler.ir.error import ArgumentError
from compiler.runtime.machine import available_cores
from compiler.target.target import Target, TargetLike
from compiler.te.definition.tensor import Tensor
from compiler.te.scheduling.schedule import Schedule

if TYPE_CHECKING:
    from compiler.classic.auto_scheduler.sketch import State


@dataclass(frozen=True)
class HardwareParams:
    """What a search assumes of a machine."""

    num_cores: int | None = None
    vector_unit_bytes: int | None = None
    cache_line_bytes: int | None = None
    max_shared_memory_per_block: int | None = None
    max_local_memory_per_block: int | None = None
    max_threads_per_block: int | None = None
    max_vthread_extent: int | None = None
    warp_size: int | None = None
    target: object = None
    target_host: object = None


class SearchTask:
    """A workload for a target, the current one by default; ``desc`` is what tables call it.

    It is a registered function with arguments, the ``workload_key`` of both, or ``compute_dag``, the operations.
    Inputs are random numbers, whatever ``task_inputs`` says. A schedule is measured with the packing of layout-free
    placeholders if the ``layout_rewrite_option`` is ``INSERT_TRANSFORM_STAGE``, the default for processors.
    """

    def __init__(
        self, func: str | Callable[..., Sequence[Tensor]] | None = None, args: Sequence[object] | None = None,
        compute_dag: ScheduledDAG | None = None, workload_key: str | None = None, target: TargetLike | None = None,
        target_host: TargetLike | None = None, hardware_params: HardwareParams | None = None,
        layout_rewrite_option: int | None = None, task_inputs: Mapping[str, object] | None = None,
        task_inputs_overwrite: bool = False, task_inputs_save_to_file: bool = False, desc: str = "",
    ) -> None:  # fmt: skip
        if func is not None:
            workload_key = make_workload_key(func, args or ())
        if compute_dag is None:
            if workload_key is None:
                raise ArgumentError("SearchTask: func, workload_key or compute_dag must be given")
            compute_dag = ScheduledDAG(workload_key_to_tensors(workload_key))
        self.compute_dag = compute_dag
        self.workload_key = workload_key or compute_dag.workload_key()
        self.target = Target.target_or_current(target)
        self.hardware_params = hardware_params or HardwareParams(available_cores())
        self.desc = desc
        usual = LayoutRewriteOption.get_target_default(self.target)
        self.layout_rewrite_option = usual if layout_rewrite_option is None else layout_rewrite_option

    @property
    def measured_layout(self) -> int:
        """The option that schedules are measured with."""
        inserted = LayoutRewriteOption.INSERT_TRANSFORM_STAGE
        return inserted if self.layout_rewrite_option == inserted else LayoutRewriteOption.NO_REWRITE

    def tune(self, tuning_options: TuningOptions, search_policy: SketchPolicy | None = None) -> None:
        """Search for the best schedule, by boosted trees by default; the options' callbacks write what is measured."""
        (search_policy or SketchPolicy(self, XGBModel())).search(tuning_options)

    def apply_best(
        self, log_file: str | PathLike[str], include_compatible: bool = False, layout_rewrite_option: int | None = None
    ) -> tuple[Schedule, list[Tensor]]:
        """Return the best schedule of a file of records, with the task's ``layout_rewrite_option`` by default."""
        option = self.layout_rewrite_option if layout_rewrite_option is None else layout_rewrite_option
        return self.compute_dag.apply_steps_from_state(self._best(log_file), option)

    def print_best(self, log_file: str | PathLike[str], print_mode: str = "schedule") -> str:
        """Return the best schedule of a file of records as Python code; there is no other ``print_mode``.

        Raises ArgumentError if there is no record of the task, or no such form.
        """
        if print_mode != "schedule":
            raise ArgumentError(f"SearchTask.print_best: print_mode must be 'schedule', got {print_mode!r}")
        return self.compute_dag.print_python_code_from_state(self._best(log_file))

    def _best(self, log_file: str | PathLike[str]) -> State | StepState:
        inp, _ = load_best_record(log_file, self.workload_key, self.target)
        if inp is None:
            raise ArgumentError(f"Cannot find any valid schedule for {self.workload_key} in file {log_file}")
        return inp.state


def create_task(
    func: str | Callable[..., Sequence[Tensor]],
    args: Sequence[object],
    target: TargetLike,
    target_host: TargetLike | None = None,
    hardware_params: HardwareParams | None = None,
) -> SearchTask:
    """Return the task of a registered function: TVM's older name of :class:`SearchTask`."""
    return SearchTask(func, args, target=target, target_host=target_host, hardware_params=hardware_params)


def auto_schedule(
    task: SearchTask, search_policy: SketchPolicy | None = None, tuning_options: TuningOptions | None = None
) -> tuple[Schedule, list[Tensor]]:
    """Search for the best schedule of a task, by boosted trees by default, and return it."""
    policy = search_policy or SketchPolicy(task, XGBModel())
    best = policy.search(tuning_options or TuningOptions())
    return task.compute_dag.apply_steps_from_state(best, task.layout_rewrite_option)
