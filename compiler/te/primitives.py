"""Recording: every call of a schedule primitive becomes a :class:`Primitive`, from which it can be replayed."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from compiler.ir.error import TVMError, show
from compiler.ir.instrument import active_instruments
from compiler.ir.origin import NO_SPAN, Span, derived_from, mint_source, user_frame
from compiler.ir.primexpr import IterVar
from compiler.te.operation import Operation
from compiler.te.tensor import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Primitive:
    """One call of a schedule primitive.

    Attributes
    ----------
    name : str
        The method, e.g. ``split``.
    label : str
        The call and what it made, e.g. ``split(i, factor=32) -> i.outer, i.inner``.
    stage : str
        The stage that it was called on; empty for methods of the schedule.
    line : int or None
        The user's line.
    index : int or None
        Which stage it was called on, counted at the time of the call; None for methods of the schedule.
    args, kwargs
        As they were passed.
    result : object
        What the call returned.
    operations : tuple of Operation
        The operations of all stages after the call.
    span : Span
        The origin of the call.
    """

    name: str
    label: str
    stage: str
    line: int | None
    index: int | None
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any
    operations: tuple[Operation, ...]
    span: Span


class Recorder(Protocol):
    """What a schedule offers to the recording of its primitives."""

    primitives: list[Primitive]
    applying: bool

    @property
    def stages(self) -> Sequence[Any]:
        """Its stages, in the order of the data."""

    def checkpoint(self) -> Callable[[], None]:
        """Return what brings the stages back to how they are now."""


F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def primitive(method: F) -> F:
    """Record the calls that users make of a method of a schedule or of a stage.

    Calls that a primitive makes itself are part of it.  The origin of the call is ambient inside, so that the axes
    and operations made there inherit it.  A primitive that is refused leaves the schedule as it was.
    """
    signature = inspect.signature(method)
    names = list(signature.parameters)[1:]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values())
    makes_something = signature.return_annotation not in (None, "None")

    @functools.wraps(method)
    def recorded(self: Any, *args: Any, **kwargs: Any) -> Any:
        schedule: Recorder = self.schedule
        if schedule.applying:
            return method(self, *args, **kwargs)
        on_stage = self is not schedule
        call = f"{method.__name__}({_arguments(args, kwargs, names, variadic)})"
        origin = f"{self.op.name}: {call}" if on_stage else call
        index = schedule.stages.index(self) if on_stage else None
        # Only what is made comes from the arguments; a remark on a loop does not come from the other loops it names.
        span = mint_source(origin, _spans((*args, *kwargs.values())) if makes_something else NO_SPAN)
        restore = schedule.checkpoint()
        schedule.applying = True
        try:
            with derived_from(span):
                result = method(self, *args, **kwargs)
        except TVMError:
            restore()
            raise
        finally:
            schedule.applying = False
        made = _shown(result) if result is not None and result is not self else ""
        frame = user_frame()
        done = Primitive(
            name=method.__name__,
            label=f"{call} -> {made}" if made else call,
            stage=self.op.name if on_stage else "",
            line=frame.f_lineno if frame else None,
            index=index,
            args=args,
            kwargs=kwargs,
            result=result,
            operations=tuple(stage.op for stage in schedule.stages),
            span=span,
        )
        schedule.primitives.append(done)
        for instrument in active_instruments():
            instrument.primitive_applied(self.schedule, done)
        return result

    return recorded  # type: ignore[return-value]


class PrimitiveRegistry:
    """Primitives that are written outside of the class whose methods they are.

    Functions are registered as they are imported, before and after the class is; each becomes a method of it.
    """

    def __init__(self) -> None:
        self.methods: dict[str, Callable[..., Any]] = {}
        self._owner: type | None = None

    def register(self, function: F) -> F:
        """Make a function, whose first parameter is a stage, a primitive.

        Raises
        ------
        TypeError
            If there is a primitive of that name.
        """
        name = function.__name__
        if name in self.methods or (self._owner is not None and hasattr(self._owner, name)):
            raise TypeError(f"there is a primitive {name!r} already")
        recorded = self.methods[name] = primitive(function)
        if self._owner is not None:
            self._add(self._owner, name, recorded)
        return recorded

    def install(self, owner: type[T]) -> type[T]:
        """Give a class all methods that are registered, now and later; a class decorator."""
        self._owner = owner
        for name, method in self.methods.items():
            self._add(owner, name, method)
        return owner

    @staticmethod
    def _add(owner: type, name: str, method: Callable[..., Any]) -> None:
        method.__qualname__ = f"{owner.__name__}.{name}"
        setattr(owner, name, method)


def asked_in(primitives: list[Primitive], name: str, stage: str) -> str:
    """Return ``, as line 12 asks`` for the last call of a primitive on a stage, which lowering finds wrong."""
    lines = [p.line for p in primitives if p.name == name and p.stage == stage and p.line is not None]
    return f", as line {lines[-1]} asks" if lines else ""


def _arguments(args: tuple[Any, ...], kwargs: dict[str, Any], names: list[str], variadic: bool) -> str:
    parts = []
    for i, value in enumerate(args):
        bare = variadic or _names_itself(value)
        parts.append(_shown(value) if bare or i >= len(names) else f"{names[i]}={_shown(value)}")
    parts += [f"{key}={_shown(value)}" for key, value in kwargs.items()]
    return ", ".join(parts)


def _names_itself(value: Any) -> bool:
    return isinstance(value, (IterVar, Tensor, Operation, list, tuple, str)) or hasattr(value, "leaf_iter_vars")


def _shown(value: Any) -> str:
    if isinstance(value, IterVar):
        return value.var.name
    if isinstance(value, (Tensor, Operation)):
        return value.name
    if hasattr(value, "leaf_iter_vars"):
        return str(value.op.name)
    if isinstance(value, tuple):
        return ", ".join(_shown(v) for v in value)
    if isinstance(value, list):
        return f"[{', '.join(_shown(v) for v in value)}]"
    return show(value)


def _spans(values: Any) -> Span:
    span = NO_SPAN
    for value in values:
        if isinstance(value, (IterVar, Tensor)):
            span |= value.span
        elif isinstance(value, (list, tuple)):
            span |= _spans(value)
    return span
