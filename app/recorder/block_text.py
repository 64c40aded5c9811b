"""Serialised TensorIR schedules: the program after each primitive as TVMScript."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from app.artifacts import MAX_PROGRAM
from app.recorder.containment import check_contained
from app.recorder.measured_program import BlockProgram, only_function
from compiler.ir.error import TVMError
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.te.program import NotExpressible
from compiler.tir.function import PrimFunc
from compiler.tir.script.functions import from_source

BEGINNING = '{"tensorir":'
"""Which no text of a schedule of tensor expressions begins with."""
MAX_PREFIXES = 500


class BlockText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the text holds."""

    tensorir: int
    """Version of the format."""
    name: str
    target: str
    programs: list[str]
    """The program before any primitive, and after each."""
    primitives: list[str]
    trace: str = ""
    """How the schedule was made, in JSON; empty if that is not known."""


def write_blocks(
    programs: Sequence[IRModule], primitives: Sequence[str], target: str, name: str, trace: str = ""
) -> str:
    """Write a schedule, all of whose programs stay within their arguments.

    Parameters
    ----------
    programs : sequence of IRModule
        The one before any primitive first.
    primitives : sequence of str
        The calls.
    target, name : str
        Of the function.
    trace : str
        How the last program was made of the first, in JSON.

    Returns
    -------
    str

    Raises
    ------
    TVMError
        If it is too long, or may do more than compute its arguments.
    """
    if len(programs) > MAX_PREFIXES:
        raise NotExpressible(f"it has more than {MAX_PREFIXES} primitives")
    for program in programs:
        check_contained(only_function(program))
    content = BlockText(1, name, target, [str(program) for program in programs], list(primitives), trace)
    text = msgspec.json.encode(content).decode()
    if len(text) > MAX_PROGRAM:
        raise NotExpressible(f"its programs are longer than {MAX_PROGRAM:,} characters")
    read_blocks(text)
    return text


def read_blocks(text: str) -> tuple[BlockProgram, str, str]:
    """Read a schedule, which anybody may have written.

    Parameters
    ----------
    text : str

    Returns
    -------
    BlockProgram
    str
        Its target.
    str
        The function's name.

    Raises
    ------
    TVMError
        If it is not a schedule, or may do more than compute its arguments.
    """
    try:
        content = msgspec.json.decode(text, type=BlockText)
    except msgspec.MsgspecError as error:
        raise TVMError(f"program: {error}") from None
    if not content.programs or len(content.programs) != len(content.primitives) + 1:
        raise TVMError("program: a schedule has one program more than it has primitives")
    programs = [IRModule({"main": _read(program)}) for program in content.programs]
    return BlockProgram(programs, content.primitives, content.trace), content.target, content.name


def _read(text: str) -> PrimFunc:
    """Return a function without attributes, none of which its meaning depends on."""
    parsed = from_source(text)
    func = only_function(parsed if isinstance(parsed, IRModule) else IRModule({"main": parsed}))
    plain = rebuild(func, attrs={"global_symbol": "main", "tir.noalias": True})
    check_contained(plain)
    return plain
