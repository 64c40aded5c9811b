"""AutoTVM: configuration spaces, tasks and tuning records.

A *task* is a schedule template with its arguments; running it once defines its *space* of configurations.  A *dispatch
context* says which configuration a template gets: a given one, the best of a log, or a default.
"""

from typing import TYPE_CHECKING

from compiler.classic.autotvm import measure, task
from compiler.classic.autotvm.measure import MeasureErrorNo, MeasureInput, MeasureResult
from compiler.classic.autotvm.task import (
    ConfigEntity,
    ConfigSpace,
    create,
    get_config,
    record,
    register_topi_compute,
    register_topi_schedule,
    template,
)
from compiler.classic.autotvm.task.dispatcher import ApplyFixedConfig as apply_fixed_config
from compiler.classic.autotvm.task.dispatcher import ApplyGraphBest as apply_graph_best
from compiler.classic.autotvm.task.dispatcher import ApplyHistoryBest as apply_history_best
from compiler.classic.autotvm.task.dispatcher import DispatchContext, FallbackContext
from compiler.ir.extension import public_module

__all__ = [
    "ConfigEntity", "ConfigSpace", "DispatchContext", "FallbackContext", "MeasureErrorNo", "MeasureInput",
    "MeasureResult", "apply_fixed_config", "apply_graph_best", "apply_history_best", "create", "get_config", "measure",
    "record", "register_topi_compute", "register_topi_schedule", "task", "template",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.autotvm", __all__)
