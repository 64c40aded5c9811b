"""What is measured, and what came out."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from compiler.ir.extension import public_module
from compiler.target.target import Target

if TYPE_CHECKING:
    from compiler.autotvm.task.space import ConfigEntity
    from compiler.autotvm.task.task import Task

__all__ = ["MeasureErrorNo", "MeasureInput", "MeasureResult"]


class MeasureErrorNo(IntEnum):
    """What went wrong with a configuration."""

    NO_ERROR = 0
    INSTANTIATION_ERROR = 1
    COMPILE_HOST = 2
    COMPILE_DEVICE = 3
    RUNTIME_DEVICE = 4
    WRONG_ANSWER = 5
    BUILD_TIMEOUT = 6
    RUN_TIMEOUT = 7
    UNKNOWN_ERROR = 8


class MeasureInput(NamedTuple):
    """A configuration of a task.

    Attributes
    ----------
    target : Target
    task : Task
    config : ConfigEntity
    """

    target: Target
    task: Task
    config: ConfigEntity


class MeasureResult(NamedTuple):
    """The times of a configuration.

    Attributes
    ----------
    costs : sequence of float
        Seconds of each run; an exception where something went wrong.
    error_no : int
        Of :class:`MeasureErrorNo`.
    all_cost : float
        Seconds that building and running took together.
    timestamp : float
        When it was measured, in seconds since 1970.
    """

    costs: Sequence[float | Exception]
    error_no: int
    all_cost: float
    timestamp: float


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.autotvm.measure", __all__)
