"""Applying what was found: ``tvm.meta_schedule.tir_integration``."""

from __future__ import annotations

from compiler.classic.meta_schedule.database import Database
from compiler.classic.meta_schedule.tune import tune_tir
from compiler.ir.module import IRModule
from compiler.target.target import TargetLike
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.statements.function import PrimFunc

__all__ = ["compile_tir", "tune_tir"]


def compile_tir(database: Database, mod: IRModule | PrimFunc, target: TargetLike) -> Schedule | None:
    """Return the best schedule of a program in a database, None if there is no record of it."""
    return database.query_schedule(mod, target)
