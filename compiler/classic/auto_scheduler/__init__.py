"""The auto-scheduler: ``tvm.auto_scheduler``.

A task is a workload for a target.  Its sketch has the structure of the schedule, which follows from the definitions.
The numbers in it, sizes of tiles above all, are searched by evolution, guided by a model that learns from measurements.
"""

from typing import TYPE_CHECKING

from compiler.classic.auto_scheduler.cost_model import RandomModel, XGBModel
from compiler.classic.auto_scheduler.layout_rewrite import LayoutRewriteOption
from compiler.classic.auto_scheduler.measure import (
    LocalBuilder,
    LocalRPCMeasureContext,
    LocalRunner,
    MeasureErrorNo,
    MeasureInput,
    MeasureResult,
    RPCRunner,
    TuningOptions,
)
from compiler.classic.auto_scheduler.record import (
    RecordReader,
    RecordToFile,
    distill_record_file,
    dump_record_to_string,
    load_best_record,
    load_record_from_string,
    load_records,
    save_records,
)
from compiler.classic.auto_scheduler.relay_integration import ApplyHistoryBest, extract_tasks, is_auto_scheduler_enabled
from compiler.classic.auto_scheduler.scheduled_dag import ScheduledDAG as ComputeDAG
from compiler.classic.auto_scheduler.search_policy import PreloadMeasuredStates, SketchPolicy
from compiler.classic.auto_scheduler.search_task import HardwareParams, SearchTask, auto_schedule, create_task
from compiler.classic.auto_scheduler.sketch import State
from compiler.classic.auto_scheduler.sketch_rules import PreloadCustomSketchRule
from compiler.classic.auto_scheduler.task_scheduler import TaskScheduler
from compiler.classic.auto_scheduler.workload import make_workload_key, register_workload, workload_key_to_tensors
from compiler.ir.extension import public_module

__all__ = [
    "ApplyHistoryBest", "ComputeDAG", "HardwareParams", "LayoutRewriteOption", "LocalBuilder",
    "LocalRPCMeasureContext", "LocalRunner", "MeasureErrorNo", "MeasureInput", "MeasureResult",
    "PreloadCustomSketchRule", "PreloadMeasuredStates", "RPCRunner", "RandomModel", "RecordReader", "RecordToFile",
    "SearchTask", "SketchPolicy", "State", "TaskScheduler", "TuningOptions", "XGBModel", "auto_schedule",
    "create_task", "distill_record_file", "dump_record_to_string", "extract_tasks", "is_auto_scheduler_enabled",
    "load_best_record", "load_record_from_string", "load_records", "make_workload_key", "register_workload",
    "save_records", "workload_key_to_tensors",
]  # fmt: skip
if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.auto_scheduler", __all__)
