"""TensorIR schedules, under TVM's names: ``tvm.tir.schedule``."""

from typing import TYPE_CHECKING

from compiler.ir.extension import public_module
from compiler.tir.schedule import analysis, primitives, transform  # noqa: F401  (importing primitives registers them)
from compiler.tir.schedule.error import ScheduleError
from compiler.tir.schedule.facts.block_info import CachedFlags
from compiler.tir.schedule.instruction import Instruction, InstructionKind
from compiler.tir.schedule.random_variables import BlockRV, ExprRV, LoopRV
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.schedule.sref import BlockScope, Dependency, DepKind, StmtSRef
from compiler.tir.schedule.state import ScheduleDebugMask, ScheduleState
from compiler.tir.schedule.trace import Trace

__all__ = [
    "BlockRV", "BlockScope", "CachedFlags", "DepKind", "Dependency", "ExprRV", "Instruction", "InstructionKind",
    "LoopRV", "Schedule", "ScheduleDebugMask", "ScheduleError", "ScheduleState", "StmtSRef", "Trace",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.tir.schedule", __all__)
