"""Schedules for any target: ``tvm.topi.generic``."""

from typing import TYPE_CHECKING

from compiler.ir.extension import public_module
from compiler.topi.schedules.generic import schedule_injective, schedule_reduce

__all__ = ["schedule_injective", "schedule_reduce"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.topi.generic", __all__)
