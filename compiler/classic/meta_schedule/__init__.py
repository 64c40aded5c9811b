"""``tvm.meta_schedule``: searches schedules of TensorIR, by :mod:`compiler.search`."""

from typing import TYPE_CHECKING

from compiler.classic.meta_schedule import (
    builder,
    database,
    relay_integration,
    runner,
    space_generator,
    tir_integration,
)
from compiler.classic.meta_schedule.builder import Builder
from compiler.classic.meta_schedule.database import Database, is_meta_schedule_enabled
from compiler.classic.meta_schedule.relay_integration import ExtractedTask
from compiler.classic.meta_schedule.runner import Runner
from compiler.classic.meta_schedule.space_generator import SpaceGenerator
from compiler.classic.meta_schedule.tune import tune_te, tune_tir
from compiler.ir.extension import public_module

__all__ = [
    "Builder", "Database", "ExtractedTask", "Runner", "SpaceGenerator", "builder", "database", "derived_object",
    "is_meta_schedule_enabled", "relay_integration", "runner", "space_generator", "tir_integration", "tune_te",
    "tune_tir",
]  # fmt: skip


def derived_object(cls: type) -> type:
    """Return a program's own runner, builder or the like as it is: here classes are simply derived."""
    return cls


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.meta_schedule", __all__)
