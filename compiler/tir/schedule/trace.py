"""Traces of primitives, which can be printed, serialised, edited and replayed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import FloatImm, IntImm, PrimExpr, StringImm, Var
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.tir.schedule.instruction import Instruction, InstructionKind
from compiler.tir.schedule.random_variables import BlockRV, LoopRV, RandomVariable

if TYPE_CHECKING:
    from compiler.tir.schedule.schedule import Schedule

Json: TypeAlias = Any
DecisionProvider: TypeAlias = Callable[[Instruction, list[object], list[object], object], object]
Revised: TypeAlias = Callable[[Instruction, list[object]], list[object]]
_POSTPROC = "EnterPostproc"
_HEADER = ("# from tvm import tir", "def apply_trace(sch: tir.Schedule) -> None:")


class Trace:
    """The steps of a schedule, with what the sampling ones chose."""

    def __init__(self, insts: Sequence[Instruction], decisions: Mapping[Instruction, object]) -> None:
        self.insts = list(insts)
        self.decisions = dict(decisions)

    def get_decision(self, inst: Instruction) -> object:
        """Return what a step chose, None for one that chooses nothing."""
        return self.decisions.get(inst)

    def append(self, inst: Instruction, decision: object = None) -> None:
        """Add a step at the end."""
        self.insts.append(inst)
        if decision is not None:
            self.decisions[inst] = decision

    def pop(self) -> Instruction | None:
        """Remove the last step and return it; None if there is none."""
        if not self.insts:
            return None
        inst = self.insts.pop()
        self.decisions.pop(inst, None)
        return inst

    def _steps(self, remove_postproc: bool) -> list[Instruction]:
        """Return the steps, without postprocessing if that is asked for."""
        if remove_postproc:
            for index, inst in enumerate(self.insts):
                if inst.kind.name == _POSTPROC:
                    return self.insts[:index]
        return self.insts

    # application

    def apply_to_schedule(
        self, sch: Schedule, remove_postproc: bool, decision_provider: DecisionProvider | None = None
    ) -> None:
        """Do all steps again, to a schedule.

        Parameters
        ----------
        remove_postproc : bool
            Whether to stop where postprocessing begins.
        decision_provider : callable, optional
            ``f(inst, inputs, attrs, decision) -> decision``: chooses instead of the sampling steps.

        Raises
        ------
        ArgumentError
            Where a step gives more or fewer results than it did.
        """
        self._apply(sch, self._steps(remove_postproc), decision_provider, lambda inst, inputs: inputs)

    def apply_revised(self, sch: Schedule, revised: Revised) -> None:
        """Do all steps again, to a schedule, with what ``revised`` makes of the inputs of each, in its terms.

        Raises ArgumentError where a step gives more or fewer results than it did.
        """
        self._apply(sch, self.insts, None, revised)

    def _apply(
        self, sch: Schedule, insts: Sequence[Instruction], decision_provider: DecisionProvider | None, revised: Revised
    ) -> None:
        match: dict[object, object] = {}
        for inst in insts:
            inputs = revised(inst, [_matched(value, match) for value in inst.inputs])
            attrs = [_matched(value, match) for value in inst.attrs]
            decision = self.decisions.get(inst)
            if decision_provider is not None and decision is not None:
                decision = decision_provider(inst, inputs, attrs, decision)
            outputs = inst.kind.application(sch, inputs, attrs, decision)
            if len(outputs) != len(inst.outputs):  # on another program, or with other factors
                raise ArgumentError(
                    f"Trace.apply_to_schedule: {inst.kind.primitive} gives {len(outputs)} results, expected"
                    f" {len(inst.outputs)}"
                )
            match.update(zip(inst.outputs, outputs, strict=True))

    @staticmethod
    def apply_json_to_schedule(json_obj: Json, sch: Schedule) -> None:
        """Do the steps of a saved trace, what :meth:`as_json` gave or its text, to a schedule.

        Raises ArgumentError if it is not a trace.
        """
        Trace.from_json(json_obj).apply_to_schedule(sch, False)

    @staticmethod
    def from_json(json_obj: Json) -> Trace:
        """Return a saved trace, of what :meth:`as_json` gave or its text; its random variables are new ones.

        Raises ArgumentError if it is not a trace.
        """
        given = json.loads(json_obj) if isinstance(json_obj, str) else json_obj
        if not (isinstance(given, (list, tuple)) and len(given) == 2):
            raise ArgumentError(f"Trace.apply_json_to_schedule: expected [instructions, decisions], got {show(given)}")
        named: dict[str, object] = {}
        insts = [_instruction(step, named) for step in given[0]]
        return Trace(insts, {insts[index]: decision for index, decision in given[1]})

    def with_decision(self, inst: Instruction, decision: object, remove_postproc: bool) -> Trace:
        """Return this trace with another choice of one step."""
        insts = self._steps(remove_postproc)
        return Trace(insts, {**{i: self.decisions[i] for i in insts if i in self.decisions}, inst: decision})

    def simplified(self, remove_postproc: bool) -> Trace:
        """Return the trace without steps that neither change the program nor give what a later step uses."""
        used: set[object] = set()
        insts: list[Instruction] = []
        for inst in reversed(self._steps(remove_postproc)):
            if inst.kind.is_pure and not any(rv in used for rv in inst.outputs):
                continue
            insts.append(inst)
            for value in (*inst.inputs, *inst.attrs):
                used.update(_variables(value))
        return Trace(insts[::-1], {i: self.decisions[i] for i in insts if i in self.decisions})

    # texts

    def as_json(self, remove_postproc: bool = False) -> Json:
        """Return the trace as lists, strings and numbers.

        There is a list of the steps, each a list of its kind, inputs, attributes and outputs; and a list of the
        choices, each with the number of its step.
        """
        insts = self._steps(remove_postproc)
        names = _names(insts)
        steps = [
            [
                inst.kind.name,
                [_json_input(value, names) for value in inst.inputs],
                [_json(value, names) for value in inst.attrs],
                [names[rv] for rv in inst.outputs],
            ]
            for inst in insts
        ]
        choices = [
            [index, _json(self.decisions[inst], names)] for index, inst in enumerate(insts) if inst in self.decisions
        ]
        return [steps, choices]

    def as_python(self, remove_postproc: bool = False) -> list[str]:
        """Return the trace as lines of Python that do the same to a schedule ``sch``."""
        insts = self._steps(remove_postproc)
        names = _names(insts)
        return [inst.python(names, self.decisions.get(inst)) for inst in insts]

    def show(self, style: str | None = None, black_format: bool = False) -> None:
        """Print the trace as Python."""
        print(self)

    def __str__(self) -> str:
        lines = self.as_python() or ["pass"]
        return "\n".join([*_HEADER, *[f"  {line}" for line in lines]])

    __repr__ = __str__


def _matched(value: object, match: Mapping[Any, Any]) -> object:
    """Return an input or attribute in terms of the schedule that a step is applied to."""
    if isinstance(value, (list, tuple)):
        return [_matched(item, match) for item in value]
    if isinstance(value, Mapping):
        return {key: _matched(item, match) for key, item in value.items()}
    if isinstance(value, RandomVariable):
        if value not in match:
            raise ArgumentError(
                f"Trace.apply_to_schedule: no earlier instruction defines {type(value).__name__} {value!r}"
            )
        return match[value]
    if isinstance(value, PrimExpr):
        return substitute(value, {key: new for key, new in match.items() if isinstance(key, Var)})
    return value


def _variables(value: object) -> set[object]:
    """Return the random variables that an input uses."""
    if isinstance(value, (list, tuple)):
        return {rv for item in value for rv in _variables(item)}
    if isinstance(value, PrimExpr):
        return set(free_vars(value))
    return {value} if isinstance(value, RandomVariable) else set()


def _names(insts: Sequence[Instruction]) -> dict[object, str]:
    """Return what the random variables of some steps are called: by kind, and numbered in order."""
    names: dict[object, str] = {}
    for inst in insts:
        for rv in inst.outputs:
            letter = "b" if isinstance(rv, BlockRV) else "l" if isinstance(rv, LoopRV) else "v"
            names[rv] = f"{letter}{len(names)}"
    return names


def _json_input(value: object, names: Mapping[object, str]) -> Json:
    """Return an input: a name, a number, or a string in quotes, which is not a name."""
    if isinstance(value, (str, StringImm)):
        return json.dumps(value if isinstance(value, str) else value.value)
    if hasattr(value, "python_text"):
        return json.dumps(value.python_text)
    return "None" if value is None else _json(value, names)


def _json(value: object, names: Mapping[object, str]) -> Json:
    if isinstance(value, (list, tuple)):
        return [_json(item, names) for item in value]
    if isinstance(value, Mapping):
        return {key: _json(item, names) for key, item in value.items()}
    if isinstance(value, (IntImm, FloatImm, StringImm)):
        return value.value
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, RandomVariable) or value in names:
        return names[value]
    raise ArgumentError(f"Trace.as_json: {type(value).__name__} {show(value)} cannot be saved")


def _instruction(step: Json, named: dict[str, object]) -> Instruction:
    kind, inputs, attrs, outputs = step
    read = [_input(value, named) for value in inputs]
    for name in outputs:
        named[name] = _variable(name)
    return Instruction(InstructionKind.get(kind), read, attrs, [named[name] for name in outputs])


def _variable(name: str) -> BlockRV | LoopRV | Var:
    if name.startswith("b"):
        return BlockRV()
    return LoopRV() if name.startswith("l") else Var(name, "int32")


def _input(value: Json, named: Mapping[str, object]) -> object:
    if isinstance(value, list):
        return [_input(item, named) for item in value]
    if isinstance(value, dict):
        return _annotation(value, named)
    if not isinstance(value, str):
        return value
    if value.startswith('"'):
        return json.loads(value)
    if value == "None":
        return None
    if value not in named:
        raise ArgumentError(f"Trace.apply_json_to_schedule: no earlier instruction defines {value!r}")
    return named[value]


def _annotation(value: Json, named: Mapping[str, object]) -> object:
    """Return a part of an annotation, in which a string that names no random variable stands for itself."""
    if isinstance(value, dict):
        return {key: _annotation(item, named) for key, item in value.items()}
    if isinstance(value, list):
        return [_annotation(item, named) for item in value]
    return named.get(value, value) if isinstance(value, str) else value
