"""Tuning tasks: a template with its arguments and target."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from compiler.classic.autotvm.task.context import ApplyConfig, DispatchContext
from compiler.classic.autotvm.task.space import ConfigSpace, InstantiationError
from compiler.classic.autotvm.task.workload import Workload, args_to_workload, deserialize_args, serialize_args
from compiler.ir.error import ArgumentError, TVMError, did_you_mean, expected
from compiler.ir.extension import extension_point
from compiler.target.target import Target, TargetLike
from compiler.te.definition.flops import schedule_flops
from compiler.te.definition.operation import PlaceholderOp
from compiler.te.definition.tensor import Tensor
from compiler.te.scheduling.schedule import Schedule

_TEMPLATES = "autotvm templates"

TaskFunction = Callable[..., tuple[Schedule, Sequence[Tensor]]]


class TaskTemplate:
    """A schedule with parameters: a definition and its schedule, or one function for both, ``fcustomized``."""

    def __init__(self) -> None:
        self.fcompute: Callable[..., Tensor | Sequence[Tensor]] | None = None
        self.fschedule: Callable[..., Schedule] | None = None
        self.fcustomized: TaskFunction | None = None

    def __call__(self, *args: object) -> tuple[Schedule, Sequence[Tensor]]:
        """Return the schedule for arguments, with its parameters."""
        values = deserialize_args(args)
        if self.fcustomized is not None:
            return self.fcustomized(*values)
        if self.fcompute is None or self.fschedule is None:
            raise ArgumentError("task: the template has no definition or no schedule")
        made = self.fcompute(*values)
        outputs = [made] if isinstance(made, Tensor) else list(made)
        return self.fschedule(outputs), [*(v for v in _placeholders(outputs)), *outputs]


def _placeholders(outputs: Sequence[Tensor]) -> list[Tensor]:
    seen: dict[Tensor, None] = {}
    waiting = list(reversed(outputs))
    while waiting:
        tensor = waiting.pop()
        if isinstance(tensor.op, PlaceholderOp):
            seen.setdefault(tensor)
        waiting.extend(reversed(tensor.op.input_tensors))
    return list(seen)


TASK_TABLE: dict[str, TaskTemplate] = {}
"""The templates by name."""


class Task:
    """A template with its arguments, as :func:`serialize_args` returns them."""

    def __init__(self, name: str, args: Sequence[object]) -> None:
        self.name = name
        self.args = tuple(args)
        self.kwargs: dict[str, Any] = {}
        self.config_space: ConfigSpace | None = None
        self.flop: int | None = None
        self.target: Target | None = None
        self.target_host: Target | None = None

    @property
    def func(self) -> TaskTemplate:
        """The template."""
        if self.name not in TASK_TABLE:
            extension_point(_TEMPLATES).load_modules()
        if self.name not in TASK_TABLE:
            hint = did_you_mean(self.name, list(TASK_TABLE))
            raise ArgumentError(f"autotvm: no template {self.name!r} is registered by autotvm.template{hint}")
        return TASK_TABLE[self.name]

    @property
    def workload(self) -> Workload:
        """What is computed."""
        return args_to_workload(self.args, self.name)

    def instantiate(self, config: ConfigSpace) -> tuple[Schedule, Sequence[Tensor]]:
        """Return the schedule of a configuration.

        Raises InstantiationError if the template reports that it cannot be used.
        """
        config.flop = 0
        with ApplyConfig(config):
            made = self.made()
        if not config.valid():
            raise InstantiationError(str(config.errors))
        return made

    def made(self) -> tuple[Schedule, Sequence[Tensor]]:
        """Return what the template makes in the current context; raises ArgumentError unless it is a schedule."""
        made: object = self.func(*self.args)
        if not (isinstance(made, Sequence) and len(made) == 2 and isinstance(made[0], Schedule)):
            expected("autotvm", f"what the template {self.name!r} returns", "a schedule and a list of tensors", made)
        return made[0], made[1]

    def __repr__(self) -> str:
        return f"Task(func_name={self.name}, args={self.args}, kwargs={self.kwargs}, workload={self.workload})"


def create(task_name: str, args: Sequence[object], target: TargetLike, target_host: TargetLike | None = None) -> Task:
    """Create a task: its template defines its space of configurations."""
    task = Task(getattr(task_name, "task_name", task_name), serialize_args(args))
    task.target = Target(target)
    task.target_host = None if target_host is None else Target(target_host)
    task.config_space = ConfigSpace()
    with ApplyConfig(task.config_space), task.target:
        schedule, _ = task.made()
    task.flop = task.config_space.flop or schedule_flops(schedule)
    return task


def template(task_name: str | TaskFunction, func: TaskFunction | None = None) -> Callable[..., object]:
    """Declare a schedule template: a function that asks :func:`get_config` for its parameters.

    ``func``, which this decorates if it is left out, returns a schedule and its parameters for its arguments. Without a
    name, as before 0.7, the template is called as the function is. Raises ArgumentError if the name is taken.

    Examples
    --------
    ::

        @autotvm.template("vector_add")
        def vector_add(n):
            A = te.placeholder((n,), name="A")
            B = te.compute((n,), lambda i: A[i] + 1, name="B")
            s = te.create_schedule(B.op)
            cfg = autotvm.get_config()
            cfg.define_split("tile", B.op.axis[0], num_outputs=2)
            cfg["tile"].apply(s, B, B.op.axis[0])
            return s, [A, B]
    """

    if not isinstance(task_name, str):
        return template(task_name.__name__, task_name)

    def decorate(function: TaskFunction) -> TaskFunction:
        @functools.wraps(function)
        def wrapper(*args: object) -> tuple[Schedule, Sequence[Tensor]]:
            workload = args_to_workload(args, task_name)
            with ApplyConfig(DispatchContext.current.query(Target.current(), workload)):
                return function(*args)

        task = TASK_TABLE.setdefault(task_name, TaskTemplate())
        if task.fcustomized is not None:
            raise ArgumentError(f'Customized func is already registered in autoTVM task "{task_name}"')
        task.fcustomized = wrapper
        wrapper.task_name = task_name  # type: ignore[attr-defined]
        return wrapper

    return decorate if func is None else decorate(func)


def get_config() -> ConfigSpace:
    """Return the configuration of the template that is running: its space, while a task is created."""
    return DispatchContext.current.query(Target.current(), None)


class FlopCalculationError(TVMError, RuntimeError):
    """The arithmetic operations of a schedule cannot be counted, or there are none."""


def compute_flop(sch: Schedule) -> int:
    """Count the arithmetic operations of what a schedule computes."""
    flop = schedule_flops(sch)
    if not flop:
        raise FlopCalculationError(
            "Cannot find float number operation in this operator."
            " Please use `cfg.add_flop` to manually set FLOP for this operator"
        )
    return flop
