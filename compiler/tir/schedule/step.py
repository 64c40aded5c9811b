"""Schedule steps as reported to instruments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter
from typing import TYPE_CHECKING, Any

from compiler.ir.expr.primexpr import Var
from compiler.ir.module import IRModule
from compiler.tir.schedule.instruction import value_text
from compiler.tir.schedule.random_variables import RandomVariable
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.statements.stmt import For

if TYPE_CHECKING:
    from compiler.tir.schedule.schedule import Schedule


@dataclass(frozen=True, slots=True, eq=False)
class ScheduleStep:
    """One call of a primitive of a TensorIR schedule."""

    name: str
    label: str  # the call and its result, e.g. `split(i, factors=[None, 32]) -> i_0, i_1`
    module: IRModule  # the program after it; before it, where it was refused
    is_pure: bool  # whether primitives of its kind leave the program as it is
    loops: Sequence[For]  # those among its arguments, as they are before it
    results: Sequence[object] = ()  # the random variables that it gave


def given_loops(sch: Schedule, given: Mapping[str, Any]) -> list[For]:
    """Return the loops among the arguments of a call."""
    meanings = [sch.meaning(value) for value in given.values() if isinstance(value, RandomVariable)]
    return [m.stmt for m in meanings if isinstance(m, StmtSRef) and isinstance(m.stmt, For)]


def call_text(sch: Schedule, name: str, parameters: Sequence[Parameter], given: Mapping[str, Any]) -> str:
    """Return a call as a line of Python in which loops and blocks have the names that the program gives them."""
    names = _names(sch, list(given.values()))
    parts: list[str] = []
    for parameter in parameters:
        value = given.get(parameter.name)
        if parameter.kind is parameter.VAR_POSITIONAL:
            parts += [value_text(item, names) for item in value or ()]
        elif isinstance(value, RandomVariable):
            parts.append(value_text(value, names))
        elif not (value is parameter.default or (isinstance(value, (bool, int, str)) and value == parameter.default)):
            parts.append(f"{parameter.name}={value_text(value, names)}")
    return f"{name}({', '.join(parts)})"


def result_text(sch: Schedule, outputs: Sequence[object]) -> str:
    """Return what a call gave: names of loops and blocks, and numbers."""
    names = _names(sch, outputs)
    return ", ".join(names.get(rv, "_") for rv in outputs)


def _names(sch: Schedule, values: Sequence[object]) -> dict[object, str]:
    """Return the names of the random variables among some values; those of what is gone have none."""
    names: dict[object, str] = {}
    for value in values:
        if isinstance(value, (list, tuple)):
            names.update(_names(sch, value))
        elif isinstance(value, (RandomVariable, Var)):
            name = _name(sch.meaning(value))
            if name:
                names[value] = name
    return names


def _name(meaning: StmtSRef | int | None) -> str:
    if isinstance(meaning, int):
        return str(meaning)
    if meaning is None or meaning.stmt is None:
        return ""
    return meaning.block.name_hint if meaning.is_block else meaning.loop.loop_var.name
