"""``tvm.meta_schedule``: searches schedules of TensorIR, by :mod:`compiler.search`."""

from typing import TYPE_CHECKING

from compiler.classic.meta_schedule import (
    builder,
    cost_model,
    database,
    measure_callback,
    mutator,
    postproc,
    profiler,
    relay_integration,
    runner,
    schedule_rule,
    search_strategy,
    space_generator,
    task_scheduler,
    tir_integration,
    tune_context,
)
from compiler.classic.meta_schedule.builder import Builder
from compiler.classic.meta_schedule.cost_model import CostModel, MeasureCandidate
from compiler.classic.meta_schedule.database import Database, is_meta_schedule_enabled
from compiler.classic.meta_schedule.measure_callback import MeasureCallback
from compiler.classic.meta_schedule.mutator import Mutator
from compiler.classic.meta_schedule.postproc import Postproc
from compiler.classic.meta_schedule.profiler import Profiler
from compiler.classic.meta_schedule.relay_integration import ExtractedTask
from compiler.classic.meta_schedule.runner import Runner
from compiler.classic.meta_schedule.schedule_rule import ScheduleRule
from compiler.classic.meta_schedule.search_strategy import SearchStrategy
from compiler.classic.meta_schedule.space_generator import SpaceGenerator
from compiler.classic.meta_schedule.task_scheduler import TaskScheduler
from compiler.classic.meta_schedule.tune import TuneConfig, tune_tasks, tune_te, tune_tir
from compiler.classic.meta_schedule.tune_context import TuneContext
from compiler.ir.extension import public_module

__all__ = [
    "Builder", "CostModel", "Database", "ExtractedTask", "MeasureCallback", "MeasureCandidate", "Mutator", "Postproc",
    "Profiler", "Runner", "ScheduleRule", "SearchStrategy", "SpaceGenerator", "TaskScheduler", "TuneConfig",
    "TuneContext", "builder", "cost_model", "database", "derived_object", "is_meta_schedule_enabled",
    "measure_callback", "mutator", "postproc", "profiler", "relay_integration", "runner", "schedule_rule",
    "search_strategy", "space_generator", "task_scheduler", "tir_integration", "tune_context", "tune_tasks", "tune_te",
    "tune_tir",
]  # fmt: skip


def derived_object(cls: type) -> type:
    """Return a program's own runner, builder or the like as it is: here classes are simply derived."""
    return cls


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.meta_schedule", __all__)
