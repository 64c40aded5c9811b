"""Calls of a TensorIR schedule, as TVM 0.27 spells them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.recorder.todays_tvm.dialect import RELEASE
from app.recorder.units.schedules import BlockSchedule
from compiler.ir.error import TVMError
from compiler.ir.origin import NO_SPAN, Span
from compiler.te.script.names import Names
from compiler.tir.schedule.instruction import Instruction
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.schedule.sref import StmtSRef

TAKEN = (
    "np",
    "tvm",
    "s_tir",
    "I",
    "T",
    "Module",
    "sch",
    "target",
    "inputs",
    "run",
    "values",
    "expected",
    "got",
    "wanted",
)
"""Names that mean something else in the program."""
_ABSENT = {
    "set_axis_separator": f"TVM {RELEASE} has no such primitive",
    "tensorize": f"its intrinsic would have to be registered in TVM {RELEASE}",
}
_DEFAULTS = re.compile(
    r", (?:func_name=\"main\"|preserve_unit_iters=True|disable_predication=False|index=-1"
    r"|preserve_unit_loops=False)(?=[,)])"
)
_FIRST_KEYWORD = re.compile(r"(?<=\()(?:block|loop|name|block_or_loop)=")


@dataclass(frozen=True, slots=True)
class Call:
    """Calls of a TensorIR schedule that stand for a primitive of the script, or prepare it."""

    instructions: list[Instruction]
    label: str = ""
    """The primitive; empty for what only looks up blocks and loops."""
    line: int | None = None
    span: Span = NO_SPAN
    missing: str = ""
    """Why the primitive has no counterpart."""
    primitive: str = ""
    """The name of the primitive."""


def short_reason(error: TVMError) -> str:
    """Return the first sentence of an error."""
    return (getattr(error, "brief", "") or str(error)).splitlines()[0]


def text(instruction: Instruction, names: Mapping[object, str], decision: object = None) -> str:
    """Return an instruction as a line of Python, without arguments that are the default."""
    line = instruction.python(names, decision).replace("sch.get_block(", "sch.get_sblock(")
    return _FIRST_KEYWORD.sub("", _DEFAULTS.sub("", line), count=1)


def calls_of(record: BlockSchedule, count: int) -> tuple[list[Call], dict[object, str]]:
    """Return the first calls of a schedule of blocks, and names for its blocks and loops as the program calls them.

    The calls are applied again to a schedule of their own, which says what each block and loop is called at the time.

    Raises
    ------
    TVMError
        If the schedule keeps no trace.
    """
    trace = record.schedule.trace
    if trace is None:
        raise TVMError("the schedule keeps no trace")
    again = Schedule(record.initial)
    names: dict[object, str] = {}
    free = Names(TAKEN)
    match: dict[object, object] = {}
    primitives = [p for p in record.primitives if p.error is None][:count]
    calls: list[Call] = []
    for instruction in trace.insts:
        pure = instruction.kind.is_pure
        if not pure and not primitives:
            break
        inputs, attrs = [_matched(instruction.inputs, match), _matched(instruction.attrs, match)]
        outputs = instruction.kind.application(again, inputs, attrs, trace.decisions.get(instruction))
        for old, new in zip(instruction.outputs, outputs, strict=True):
            match[old] = new
            names[old] = free.new(_hint(again.meaning(new)))
        missing = _ABSENT.get(instruction.kind.primitive, "")
        label, line = ("", None) if pure else (primitives[0].label, primitives[0].line)
        calls.append(Call([instruction], label, line, missing=missing))
        del primitives[: not pure]
    return calls, names


def _hint(meaning: StmtSRef | int | None) -> str:
    if meaning is None or isinstance(meaning, int) or meaning.stmt is None:
        return "value"
    return meaning.block.name_hint if meaning.is_block else meaning.loop.loop_var.name


def _matched(values: Sequence[object], match: Mapping[object, object]) -> list[object]:
    return [
        _matched(value, match) if isinstance(value, list) else match.get(value, value) if _hashable(value) else value
        for value in values
    ]


def _hashable(value: object) -> bool:
    return type(value).__hash__ is not None
