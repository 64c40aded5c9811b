"""Serialises recorded functions for measurement in another process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.artifacts import Options
from app.protocol import RecordedFunction
from app.recorder.completion import function_arguments
from app.recorder.measuring.measured_program import BlockProgram, MeasuredProgram, TensorProgram
from app.recorder.measuring.recorded_graph import write_graph
from app.recorder.recorder import Recorder
from app.recorder.units.block_text import write_blocks
from app.recorder.units.schedules import BlockSchedule, ScheduleRecord, TensorSchedule
from app.recorder.units.subjects import FunctionSubject, GraphSubject
from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import Var
from compiler.ir.module import IRModule
from compiler.target.target import Target
from compiler.te.definition.tensor import Tensor
from compiler.te.program import write_program
from compiler.te.scheduling.schedule import Schedule
from compiler.tir.statements.function import PrimFunc

NO_PROGRAM = "it was made neither from a schedule nor from a program of loops"
MODELS = "the kernels of models cannot be measured again yet; a kernel opened as a script of its own can"


def record_schedule(schedule: ScheduleRecord, recorder: Recorder, options: Options) -> RecordedFunction:
    """Write a schedule with all of its primitives.

    Parameters
    ----------
    recorder : Recorder
        Knows the function that the script made of it, if it did.
    """
    function = recorder.function_from(schedule)
    name = function.name if function is not None else "main"
    if isinstance(schedule, BlockSchedule):
        target = function.target if function is not None and function.target else Target(options.target)
        return _record_blocks(schedule.programs, schedule.labels, target, name, schedule.trace)
    assert isinstance(schedule, TensorSchedule)
    args, target = function_arguments(recorder, schedule, options)
    return _record(schedule.schedule, args, target, name)


def program_of(schedule: ScheduleRecord, recorder: Recorder, options: Options) -> tuple[MeasuredProgram, Target]:
    """Return what a ladder of a schedule measures, and the target.

    Raises
    ------
    TVMError
        It cannot be measured.
    """
    if isinstance(schedule, TensorSchedule):
        args, target = function_arguments(recorder, schedule, options)
        return TensorProgram(schedule.schedule, args), target
    assert isinstance(schedule, BlockSchedule)
    function = recorder.function_from(schedule)
    target = function.target if function is not None and function.target else Target(options.target)
    return BlockProgram(schedule.programs, schedule.labels), target


def record_functions(recorder: Recorder, options: Options) -> Iterator[RecordedFunction]:
    """Write each function that a script lowered or built, in the state that its schedule had then."""
    for function in recorder.functions:
        yield _record_function(function, Target(options.target))
    for graph in recorder.graphs:
        if graph.built is not None:
            yield _record_graph(graph)


def _record_function(function: FunctionSubject, default: Target) -> RecordedFunction:
    if isinstance(function.schedule, BlockSchedule):
        programs, labels = function.schedule.programs, function.schedule.labels
        count = function.primitives
        trace = function.schedule.trace if count == function.schedule.count else ""
        return _record_blocks(programs[: count + 1], labels[:count], function.target or default, function.name, trace)
    if isinstance(function.source, IRModule | PrimFunc):
        program = function.source if isinstance(function.source, IRModule) else IRModule({"main": function.source})
        return _record_blocks([program], [], function.target or default, function.name)
    if not isinstance(function.schedule, TensorSchedule) or not function.args:
        return RecordedFunction(name=function.name, reason=NO_PROGRAM)
    schedule, args = function.schedule.schedule, function.args
    if function.primitives < function.schedule.count:
        schedule, mapped = schedule.replay(function.primitives)
        args = [mapped(a) if isinstance(a, Tensor) else a for a in args]
    return _record(schedule, args, function.target or default, function.name)


def _record_graph(graph: GraphSubject) -> RecordedFunction:
    try:
        return RecordedFunction(name=graph.name, graph=write_graph(graph), reason=MODELS)
    except TVMError as error:
        return RecordedFunction(name=graph.name, reason=str(error))


def _record_blocks(
    programs: Sequence[IRModule], labels: Sequence[str], target: Target, name: str, trace: str = ""
) -> RecordedFunction:
    try:
        return RecordedFunction(name=name, program=write_blocks(programs, labels, str(target), name, trace))
    except TVMError as error:
        return RecordedFunction(name=name, reason=str(error))


def _record(schedule: Schedule, args: Sequence[Tensor | Var], target: Target, name: str) -> RecordedFunction:
    try:
        return RecordedFunction(name=name, program=write_program(schedule, args, str(target), name))
    except TVMError as error:
        return RecordedFunction(name=name, reason=str(error))
