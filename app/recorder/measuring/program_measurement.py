"""Measures a program recorded by another process, or tells what it computes, without running a script."""

from __future__ import annotations

from collections.abc import Callable

from app.artifacts import Problem
from app.protocol import Failed, Message, ProgramDefinition, Request
from app.recorder.definitions import definition_of
from app.recorder.measuring.ladder import Ladder
from app.recorder.measuring.measured_program import MeasuredProgram, TensorProgram
from app.recorder.measuring.model_turns import measure_models
from app.recorder.measuring.race import Race
from app.recorder.measuring.recorded_graph import BEGINNING as BEGINNING_OF_GRAPH
from app.recorder.measuring.scrub import Scrub
from app.recorder.units.block_text import BEGINNING, read_blocks
from compiler.ir.error import TVMError
from compiler.target.target import Target
from compiler.te.program import read_program


def measure_program(request: Request, send: Callable[[Message], None]) -> None:
    """Make a program of its text, and measure it as the request says.

    Parameters
    ----------
    request : Request
        With the text, which anybody may have written.
    send : callable
        Takes each message.
    """
    Target.default_opt_level = request.options.opt_level
    if request.variants:
        models = request.variants[0].program.startswith(BEGINNING_OF_GRAPH)
        (measure_models if models else measure_in_turns)(request, send)
        return
    try:
        program, target, name = read_recorded(request.program)
        ladder = _ladder(program, Target(target), request, send)
    except TVMError as error:
        send(Failed(label="program", problem=Problem(kind=type(error).__name__, message=str(error))))
        return
    if request.prefixes:
        ladder.run()
    else:
        ladder.run_last(name)


def measure_in_turns(request: Request, send: Callable[[Message], None]) -> None:
    """Make programs of several texts, and measure them in turns; of one that is none, say why."""
    scrub = Scrub(request.options, send)
    for variant in request.variants:
        try:
            program, target, _ = read_recorded(variant.program)
            scrub.add(variant.label, program, Target(target), request.seed)
        except TVMError as error:
            problem = Problem(kind=type(error).__name__, message=str(error))
            send(Failed(label=variant.label, problem=problem))
    scrub.run()


def define_program(request: Request, send: Callable[[Message], None]) -> None:
    """Tell what a program computes.

    Parameters
    ----------
    request : Request
        With its text, which anybody may have written.
    send : callable
        Takes the message.
    """
    try:
        program, _, name = read_recorded(request.program)
    except TVMError as error:
        send(Failed(label="program", problem=Problem(kind=type(error).__name__, message=str(error))))
        return
    definition = definition_of(program)
    if definition:
        send(ProgramDefinition(definition=definition))
        return
    send(Failed(label=name, problem=Problem(kind="TVMError", message=f"{name} has no definition to compare with")))


def _ladder(program: MeasuredProgram, target: Target, request: Request, send: Callable[[Message], None]) -> Ladder:
    if not request.original:
        return Ladder(program, target, request.options, send, request.seed, request.numpy)
    original, _, _ = read_recorded(request.original)
    return Race(program, original, target, request.options, send, request.seed)


def read_recorded(text: str) -> tuple[MeasuredProgram, str, str]:
    """Return the program of a text, its target, and the name of its function.

    Parameters
    ----------
    text : str
        Which anybody may have written.

    Raises
    ------
    TVMError
        It is not a program.
    """
    if text.startswith(BEGINNING):
        return read_blocks(text)
    program = read_program(text)
    return TensorProgram(program.schedule, program.args), program.target, program.name
