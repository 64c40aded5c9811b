"""Inputs and results of measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from compiler.ir.error import undefined
from compiler.ir.extension import public_module
from compiler.runtime.machine import available_cores
from compiler.target.target import Target

if TYPE_CHECKING:
    from compiler.classic.autotvm.task.space import ConfigEntity
    from compiler.classic.autotvm.task.task import Task

ArgInfo = Sequence[tuple[tuple[int, ...], str]]
"""The shapes and data types of the arguments of a library."""

__all__ = ["BuildResult", "Builder", "MeasureErrorNo", "MeasureInput", "MeasureResult", "Runner"]


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
    """A configuration of a task."""

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


Record = tuple[MeasureInput, MeasureResult]


class BuildResult(NamedTuple):
    """What a builder made of a configuration: a library, or, where building failed, what is to be recorded."""

    filename: str | None
    arg_info: ArgInfo
    error: MeasureResult | None
    time_cost: float


class Builder:
    """Builds the candidates of a task, ``n_parallel`` at a time, each in ``timeout`` seconds: the base of builders."""

    def __init__(
        self, timeout: float = 10, n_parallel: int | None = None, build_kwargs: Mapping[str, object] | None = None
    ) -> None:
        self.timeout = timeout
        self.n_parallel = n_parallel or available_cores()
        self.user_build_kwargs = build_kwargs
        self.build_kwargs: Mapping[str, object] = {}
        self.task: Task | None = None

    def set_task(self, task: Task, build_kwargs: Mapping[str, object] | None = None) -> None:
        """Take notice of the task whose candidates are built, and of what the runner asks of the code."""
        self.task = task
        self.build_kwargs = {**(build_kwargs or {}), **(self.user_build_kwargs or {})}

    def build(self, measure_inputs: Sequence[MeasureInput]) -> list[BuildResult]:
        """Build candidates."""
        undefined(self, "build")


class Runner:
    """Runs the candidates of a task, ``n_parallel`` at a time, each in ``timeout`` seconds: the base of runners."""

    def __init__(self, timeout: float = 5, n_parallel: int | None = None) -> None:
        self.timeout = timeout
        self.n_parallel = n_parallel or available_cores()
        self.task: Task | None = None

    def set_task(self, task: Task) -> None:
        """Take notice of the task whose candidates are run."""
        self.task = task

    def get_build_kwargs(self) -> dict[str, object]:
        """Return what is asked of the code that is run."""
        return {}

    def run(self, measure_inputs: Sequence[MeasureInput], build_results: Sequence[BuildResult]) -> list[MeasureResult]:
        """Run candidates."""
        undefined(self, "run")


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.autotvm.measure", __all__)
