"""Writes the functions that a script made as data, so that another process can measure them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.artifacts import Options, Recorded
from app.recorder.completion import function_arguments
from app.recorder.recorder import Recorder
from app.recorder.subjects import FunctionSubject, primitive_count
from compiler.ir.error import TVMError
from compiler.ir.primexpr import Var
from compiler.target.target import Target
from compiler.te.program import write_program
from compiler.te.schedule import Schedule
from compiler.te.tensor import Tensor

NOT_TENSOR_EXPRESSIONS = "only schedules of tensor expressions can be measured again, and it was not made from one"
MODELS = "the kernels of models cannot be measured again yet; a kernel opened as a script of its own can"


def record_schedule(schedule: Schedule, recorder: Recorder, options: Options) -> Recorded:
    """Write a schedule with all of its primitives.

    Parameters
    ----------
    schedule : Schedule
    recorder : Recorder
        Knows the function that the script made of it, if it did.
    options : Options

    Returns
    -------
    Recorded
    """
    args, target = function_arguments(recorder, schedule, options)
    function = recorder.function_from(schedule)
    return _record(schedule, args, target, function.name if function is not None else "main")


def record_functions(recorder: Recorder, options: Options) -> Iterator[Recorded]:
    """Write each function that a script lowered or built, in the state that its schedule had then.

    Parameters
    ----------
    recorder : Recorder
    options : Options

    Yields
    ------
    Recorded
    """
    for function in recorder.functions:
        yield _record_function(function, Target(options.target))
    for graph in recorder.graphs:
        if graph.built is not None:
            yield Recorded(name=graph.name, reason=MODELS)


def _record_function(function: FunctionSubject, default: Target) -> Recorded:
    schedule = function.schedule
    if schedule is None or not function.args:
        return Recorded(name=function.name, reason=NOT_TENSOR_EXPRESSIONS)
    args = function.args
    if function.primitives < primitive_count(schedule):
        schedule, mapped = schedule.replay(function.primitives)
        args = [mapped(a) if isinstance(a, Tensor) else a for a in args]
    return _record(schedule, args, function.target or default, function.name)


def _record(schedule: Schedule, args: Sequence[Tensor | Var], target: Target, name: str) -> Recorded:
    try:
        return Recorded(name=name, program=write_program(schedule, args, str(target), name))
    except TVMError as error:
        return Recorded(name=name, reason=str(error))
