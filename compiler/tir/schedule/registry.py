"""The registry of primitives, from which schedule methods and instruction kinds are derived."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from compiler.ir.error import TVMError
from compiler.ir.instrument import active_instruments
from compiler.ir.origin import derived_from, mint_source
from compiler.tir.schedule.error import IllegalStepError, rendered
from compiler.tir.schedule.facts.concurrent_loops import check_no_new_conflicts, conflicts
from compiler.tir.schedule.facts.loop_kinds import LOOP_KINDS
from compiler.tir.schedule.facts.roles import ATTRIBUTE, STORAGE_SCOPE, Role
from compiler.tir.schedule.instruction import InstructionKind
from compiler.tir.schedule.step import ScheduleStep, call_text, given_loops, result_text
from compiler.tir.statements.stmt import For

if TYPE_CHECKING:
    from compiler.tir.schedule.schedule import Schedule

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
_ROLES_BY_NAME = {"storage_scope": STORAGE_SCOPE}
"""What a parameter is wherever it has this name."""


@dataclass(frozen=True, slots=True)
class SamplingResult(Generic[T]):
    """What a sampling primitive returns: for users, a ``T``."""

    values: object
    decision: object  # from which it can choose the same again


class Primitive:
    """A primitive of schedules.

    ``roles`` says what the parameters are; others are what their names say, or attributes.
    """

    def __init__(self, function: Callable[..., object], kind: str, is_pure: bool, roles: Mapping[str, Role]) -> None:
        parameters = list(inspect.signature(function).parameters.values())
        unknown = set(roles) - {p.name for p in parameters}
        if unknown:
            raise TypeError(f"{function.__name__} has no parameters {', '.join(sorted(unknown))}")
        self.name = function.__name__
        # Does the work. Its first parameter is called `state`, or `sch` where it needs more of the schedule than its
        # state; the others are those of the method.
        self.function = function
        self._takes_schedule = parameters[0].name == "sch"
        self._parameters = parameters[1:]
        self._signature = inspect.Signature(self._parameters)
        self._is_sampling = any(p.name == "decision" for p in self._parameters)
        self._variadic = next((p.name for p in self._parameters if p.kind is p.VAR_POSITIONAL), None)
        by_name = {p.name: _ROLES_BY_NAME.get(p.name, ATTRIBUTE) for p in self._parameters if p.name != "decision"}
        self._roles = {**by_name, **roles}
        self._inputs = [name for name, role in self._roles.items() if role.is_input]
        self._attrs = [name for name, role in self._roles.items() if not role.is_input]
        self._result = _users_type(str(inspect.signature(function).return_annotation))
        if is_pure is (self.name in LOOP_KINDS):
            raise TypeError(f"{self.name}: loop_kinds.LOOP_KINDS has a row for each primitive that changes programs")
        self.kind = InstructionKind(
            kind, is_pure, self.name, self._result.startswith("list"), self._spelling, self._apply
        ).register()

    def method(self) -> Callable[..., Any]:
        """Return the method of schedules."""

        @functools.wraps(self.function)
        def method(sch: Schedule, *args: object, **kwargs: object) -> object:
            return self._step(sch, self._bound(args, kwargs))

        method.__qualname__ = f"Schedule.{self.name}"
        first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = [first, *map(self._for_users, self._parameters)]
        method.__signature__ = inspect.Signature(parameters, return_annotation=self._result)  # type: ignore[attr-defined]
        return method

    def _bound(self, args: tuple[object, ...], kwargs: dict[str, object]) -> Mapping[str, object]:
        """Return the arguments of a call by name; those that choose a buffer by two, as before TVM 0.10, as one."""
        if "buffer" in self._roles and len(args) > 2 and type(args[1]) is int and args[2] in ("read", "write"):
            args = (args[0], (args[2], args[1]), *args[3:])
        elif "buffer" in self._roles and "buffer_index" in kwargs:
            kwargs["buffer"] = (kwargs.pop("buffer_index_type", None), kwargs.pop("buffer_index"))
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as exc:
            raise TypeError(f"{self.name}: {exc}") from None
        bound.apply_defaults()
        return bound.arguments

    def _for_users(self, parameter: inspect.Parameter) -> inspect.Parameter:
        """Return a parameter with the type of what users pass."""
        annotation = self._roles[parameter.name].annotation if parameter.name in self._roles else ""
        if not annotation:
            return parameter
        if parameter.kind is parameter.VAR_POSITIONAL:
            annotation = annotation.removeprefix("Sequence[").removesuffix("]")
        return parameter.replace(annotation=f"{annotation} | None" if parameter.default is None else annotation)

    def _run(self, sch: Schedule, recorded: Mapping[str, object], decision: object) -> object:
        """Apply the primitive and note the instruction."""
        arguments = {name: role.resolved(sch, recorded[name]) for name, role in self._roles.items()}
        if self._is_sampling:
            arguments["decision"] = decision
        checks = sch.state.enable_check and not self.kind.is_pure
        before = conflicts(sch.state) if checks else {}
        with derived_from(mint_source(self.name)):
            result = self._call(sch, arguments)
        if checks:
            check_no_new_conflicts(sch.state, before)
        if sch.state.debug_mask and not self.kind.is_pure:
            sch.state.verify()
        chosen = result.decision if isinstance(result, SamplingResult) else None
        outputs = sch.named(result.values if isinstance(result, SamplingResult) else result)
        sch.record(self.kind, *self._flat(recorded), self._listed(outputs), chosen)
        return outputs

    def _call(self, sch: Schedule, arguments: dict[str, Any]) -> Any:
        items = arguments.pop(self._variadic) if self._variadic else ()
        return self.function(sch if self._takes_schedule else sch.state, *items, **arguments)

    def _flat(self, recorded: Mapping[str, object]) -> tuple[list[object], list[object]]:
        """Return the inputs and the attributes of an instruction."""
        inputs: list[object] = []
        for name in self._inputs:
            value = recorded[name]
            inputs.extend(value if self._roles[name].is_flat and isinstance(value, list) else [value])
        return inputs, [recorded[name] for name in self._attrs]

    def _arguments(self, inputs: Sequence[object], attrs: Sequence[object]) -> dict[str, object]:
        """Return the arguments by name; a list among the inputs is what the others leave."""
        arguments: dict[str, object] = {}
        left = list(inputs)
        for index, name in enumerate(self._inputs):
            if self._roles[name].is_flat:
                size = len(left) - (len(self._inputs) - index - 1)
                arguments[name], left = left[:size], left[size:]
            else:
                arguments[name] = left.pop(0)
        arguments.update(zip(self._attrs, attrs, strict=True))
        return arguments

    def _apply(
        self, sch: Schedule, inputs: Sequence[object], attrs: Sequence[object], decision: object
    ) -> Sequence[object]:
        return self._listed(self._step(sch, {**self._arguments(inputs, attrs), "decision": decision}))

    def _step(self, sch: Schedule, given: Mapping[str, object]) -> object:
        """Apply the primitive and tell the instruments; what is wrong with a step is drawn into the program.

        A primitive that is refused leaves the schedule as it was.
        """
        instruments = active_instruments()
        label = call_text(sch, self.name, self._parameters, given) if instruments else ""
        loops = given_loops(sch, given) if instruments else []
        restore = None if self.kind.is_pure else sch.state.checkpoint()
        try:
            try:
                recorded = self._recorded(sch, given)
                outputs = self._run(sch, recorded, given.get("decision"))
            except IllegalStepError as error:
                raise rendered(error, sch.mod, self.name, sch.error_render_level) from None
        except Exception as error:
            if restore is not None:
                restore()
            if isinstance(error, TVMError):
                for instrument in instruments:
                    instrument.tir_step_refused(sch, self._seen(sch, label, loops), error)
            raise
        if instruments:
            results = self._listed(outputs)
            made = result_text(sch, results)
            step = self._seen(sch, f"{label} -> {made}" if made else label, loops, results)
            for instrument in instruments:
                instrument.tir_step_applied(sch, step)
        for name, role in self._roles.items():
            role.completed(sch, given[name], recorded)
        return outputs

    def _seen(self, sch: Schedule, label: str, loops: list[For], results: Sequence[object] = ()) -> ScheduleStep:
        return ScheduleStep(self.name, label, sch.mod, self.kind.is_pure, loops, results)

    def _recorded(self, sch: Schedule, given: Mapping[str, object]) -> dict[str, object]:
        """Return the arguments as a trace keeps them."""
        recorded: dict[str, object] = {}
        for name, role in self._roles.items():
            recorded[name] = role.recorded(sch, self.name, given[name], recorded)
        return recorded

    @staticmethod
    def _listed(outputs: object) -> list[object]:
        if outputs is None:
            return []
        return outputs if isinstance(outputs, list) else [outputs]

    def _spelling(
        self, inputs: Sequence[object], attrs: Sequence[object], write: Callable[[object], str], decision: object
    ) -> str:
        """Return the arguments of a call, in the order of the parameters."""
        values = {**self._arguments(inputs, attrs), "decision": decision}
        parts: list[str] = []
        for parameter in self._parameters:
            value = values[parameter.name]
            if parameter.kind is parameter.VAR_POSITIONAL:
                parts += [write(item) for item in self._listed(value)]
            elif self._is_spelled(parameter, value):
                parts.append(f"{parameter.name}={write(value)}")
        return ", ".join(parts)

    def _is_spelled(self, parameter: inspect.Parameter, value: object) -> bool:
        if parameter.default is not None or value not in (None, []):
            return True
        return parameter.name in self._roles and self._roles[parameter.name].spells_none


primitives: dict[str, Primitive] = {}
"""The primitives by the names of their methods."""
_owners: list[type] = []


def _users_type(annotation: str) -> str:
    """Return what users get, of the annotation of a primitive: ``list[LoopRV]`` of ``list[LoopSRef]``."""
    sampled = re.sub(r"^SamplingResult\[(.*)\]$", r"\1", annotation)
    return sampled.replace("LoopSRef", "LoopRV").replace("StmtSRef", "BlockRV")


def primitive(kind: str, *, pure: bool = False, **roles: Role) -> Callable[[F], F]:
    """Make a function a primitive of schedules; a decorator.

    Parameters
    ----------
    kind : str
        The kind of instruction that a trace keeps of it, e.g. ``ComputeAt``.
    **roles : Role
        What the parameters of the function are; those that are not named are attributes.
    """

    def register(function: F) -> F:
        name = function.__name__
        if name in primitives or any(hasattr(owner, name) for owner in _owners):
            raise TypeError(f"primitive {name!r} is already registered")
        made = primitives[name] = Primitive(function, kind, pure, roles)
        for owner in _owners:
            setattr(owner, name, made.method())
        return function

    return register


def install(owner: type[T]) -> type[T]:
    """Give a class all primitives as methods, now and later; a class decorator."""
    _owners.append(owner)
    for name, made in primitives.items():
        setattr(owner, name, made.method())
    return owner
