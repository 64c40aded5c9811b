"""``tvm.meta_schedule``: searches schedules of TensorIR, by :mod:`compiler.search`."""

from typing import TYPE_CHECKING

from compiler.classic.meta_schedule import database, tir_integration
from compiler.classic.meta_schedule.database import Database
from compiler.classic.meta_schedule.tune import is_meta_schedule_enabled, tune_te, tune_tir
from compiler.ir.extension import public_module

__all__ = ["Database", "database", "is_meta_schedule_enabled", "tir_integration", "tune_te", "tune_tir"]
if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.meta_schedule", __all__)
