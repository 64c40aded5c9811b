"""Serialised TensorIR schedules: the program after each primitive as TVMScript."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from app.artifacts import MAX_PROGRAM
from app.recorder.measuring.containment import check_contained
from app.recorder.measuring.measured_program import BlockProgram, only_function
from compiler.ir.error import TVMError
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.te.program import NotExpressible
from compiler.tir.script.functions import from_source
from compiler.tir.statements.function import PrimFunc

BEGINNING = '{"tensorir":'
"""The prefix that distinguishes these texts from serialised TE schedules."""
MAX_PREFIXES = 500


class BlockText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of the text."""

    tensorir: int
    """Version of the format."""
    name: str
    target: str
    programs: list[str]
    """The program before the first primitive and after each."""
    primitives: list[str]
    trace: str = ""
    """The trace of the schedule as JSON; empty if unknown."""


def write_blocks(
    programs: Sequence[IRModule], primitives: Sequence[str], target: str, name: str, trace: str = ""
) -> str:
    """Serialise a schedule whose programs are contained.

    Parameters
    ----------
    programs : sequence of IRModule
        The program before the first primitive, followed by those after each.
    primitives : sequence of str
        The calls.
    target, name : str
        The target and the name of the function.
    trace : str
        The trace that leads from the first program to the last, as JSON.

    Raises
    ------
    TVMError
        If it is too long, or not contained.
    """
    if len(programs) > MAX_PREFIXES:
        raise NotExpressible(f"it has more than {MAX_PREFIXES} primitives")
    content = BlockText(1, name, target, [str(program) for program in programs], list(primitives), trace)
    text = msgspec.json.encode(content).decode()
    if len(text) > MAX_PROGRAM:
        raise NotExpressible(f"its programs are longer than {MAX_PROGRAM:,} characters")
    read_blocks(text)
    return text


def read_blocks(text: str) -> tuple[BlockProgram, str, str]:
    """Parse a serialised schedule, which is untrusted.

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
        If it is malformed, or not contained.
    """
    try:
        content = msgspec.json.decode(text, type=BlockText)
    except msgspec.MsgspecError as error:
        raise TVMError(f"program: {error}") from None
    if len(content.programs) != len(content.primitives) + 1:
        raise TVMError("program: a schedule has one program more than it has primitives")
    programs = [IRModule({"main": _read(program)}) for program in content.programs]
    return BlockProgram(programs, content.primitives, content.trace), content.target, content.name


def _read(text: str) -> PrimFunc:
    """Parse a function and drop its attributes, which do not affect its meaning."""
    parsed = from_source(text)
    func = only_function(parsed if isinstance(parsed, IRModule) else IRModule({"main": parsed}))
    plain = rebuild(func, attrs={"global_symbol": "main", "tir.noalias": True})
    check_contained(plain)
    return plain
