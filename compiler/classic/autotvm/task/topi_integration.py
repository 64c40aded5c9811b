"""Templates of Relay operators: a definition with its schedule."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

from compiler.classic.autotvm.task.context import DispatchContext
from compiler.classic.autotvm.task.task import TASK_TABLE, TaskTemplate
from compiler.classic.autotvm.task.workload import Workload, args_to_workload
from compiler.ir.error import ArgumentError
from compiler.ir.node import rebuild
from compiler.target.target import Target
from compiler.te.definition.operation import ComputeOp
from compiler.te.definition.tensor import Tensor
from compiler.te.scheduling.schedule import Schedule

__all__ = ["get_workload", "register_topi_compute", "register_topi_schedule"]

_ATTRIBUTE = "workload"
Definition = Callable[..., Tensor | Sequence[Tensor]]


def register_topi_compute(task_name: str, func: Definition | None = None) -> Callable[..., object]:
    """Register the definition of a template, from the configuration and arguments to the result; also a decorator.

    Raises ArgumentError if the template has a definition already.
    """

    def decorate(definition: Definition) -> Definition:
        @functools.wraps(definition)
        def wrapper(*args: object) -> Tensor | Sequence[Tensor]:
            workload = args_to_workload(args, task_name)
            made = definition(DispatchContext.current.query(Target.current(), workload), *args)
            return _with_workload(made, workload)

        task = TASK_TABLE.setdefault(task_name, TaskTemplate())
        if task.fcompute is not None:
            raise ArgumentError(f"Compute is already registered in autoTVM task {task_name!r}")
        task.fcompute = wrapper
        return wrapper

    return decorate if func is None else decorate(func)


def _with_workload(made: Tensor | Sequence[Tensor], workload: Workload) -> Tensor | Sequence[Tensor]:
    """Return the result of a definition again, with its workload among the attributes of its operation."""
    first = made if isinstance(made, Tensor) else made[0]
    if not isinstance(first.op, ComputeOp):
        return made
    op = rebuild(first.op, attrs={**first.op.attrs, _ATTRIBUTE: workload})
    if isinstance(made, Tensor):
        return op.output(made.value_index)
    return [op.output(tensor.value_index) if tensor.op is first.op else tensor for tensor in made]


def register_topi_schedule(task_name: str, func: Callable[..., Schedule] | None = None) -> Callable[..., object]:
    """Register the schedule of a template, from the configuration and the outputs; also a decorator.

    Raises ArgumentError if the template has a schedule already.
    """

    def decorate(schedule: Callable[..., Schedule]) -> Callable[..., Schedule]:
        @functools.wraps(schedule)
        def wrapper(outs: Tensor | Sequence[Tensor], *args: object, **kwargs: object) -> Schedule:
            workload = get_workload(outs, task_name)
            if workload is None:
                raise ArgumentError(f"Cannot find TOPI workload {task_name}: its definition must be registered too")
            return schedule(DispatchContext.current.query(Target.current(), workload), outs, *args, **kwargs)

        task = TASK_TABLE.setdefault(task_name, TaskTemplate())
        if task.fschedule is not None:
            raise ArgumentError(f"Schedule is already registered in autoTVM task {task_name!r}")
        task.fschedule = wrapper
        return wrapper

    return decorate if func is None else decorate(func)


def get_workload(outs: Tensor | Sequence[Tensor], task_name: str | None = None) -> Workload | None:
    """Return the workload of a template, or of any, whose definition's result some outputs are computed from."""
    for tensor in _computed([outs] if isinstance(outs, Tensor) else list(outs)):
        workload: Workload | None = getattr(tensor.op, "attrs", {}).get(_ATTRIBUTE)
        if workload is not None and task_name in (None, workload[0]):
            return tuple(workload)
    return None


def _computed(outs: list[Tensor]) -> Iterator[Tensor]:
    """List tensors and what they are computed from, each once, inputs first."""
    seen: set[Tensor] = set()
    waiting = [(tensor, False) for tensor in reversed(outs)]
    while waiting:
        tensor, ready = waiting.pop()
        if ready:
            yield tensor
        elif tensor not in seen:
            seen.add(tensor)
            waiting.append((tensor, True))
            waiting.extend((read, False) for read in reversed(tensor.op.input_tensors))
