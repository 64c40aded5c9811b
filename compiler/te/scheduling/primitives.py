"""Records every call of a schedule primitive as a :class:`Primitive`, so that it can be replayed."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast

from compiler.ir.error import TVMError, show
from compiler.ir.expr.primexpr import IterVar
from compiler.ir.origin import NO_SPAN, Span, derived_from, mint_source, user_frame
from compiler.te.definition.tensor import Operation, Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Primitive:
    """One call of a schedule primitive."""

    name: str
    label: str
    """The call and its result, e.g. ``split(i, factor=32) -> i.outer, i.inner``."""
    stage: str
    """Empty for methods of the schedule."""
    line: int | None
    index: int | None
    """Which stage it was called on, counted at the time of the call; -1, -2, … for groups, None for methods of the
    schedule.
    """
    args: tuple[object, ...]
    kwargs: dict[str, object]
    result: object
    operations: tuple[Operation, ...]
    """The operations of all stages after the call."""
    span: Span


class RecordedStage:
    """The base of stages and groups of them: what recording reads of them."""

    schedule: Recorder
    op: Operation

    @property
    def label(self) -> str:
        """What it is called in records."""
        return self.op.name

    def checkpoint(self) -> Callable[[], None]:
        """Return a function that brings it back to how it is now."""
        raise NotImplementedError


class Recorder(Protocol):
    """What a schedule offers to the recording of its primitives."""

    applying: bool

    @property
    def primitives(self) -> Sequence[Primitive]:
        """The primitives that were applied to it, in order."""

    @property
    def schedule(self) -> Recorder:
        """Itself."""

    @property
    def stages(self) -> Sequence[RecordedStage]:
        """Its stages, in the order of the data."""

    @property
    def groups(self) -> Sequence[RecordedStage]:
        """Its groups of stages, in the order in which they were made."""

    def index_of(self, target: RecordedStage) -> int:
        """Return the number of a stage, or the negative one of a group."""

    def checkpoint(self) -> Callable[[], None]:
        """Return a function that brings all stages and groups back to how they are now."""

    def record(self, primitive: Primitive) -> None:
        """Add a primitive that was applied."""

    def keep_record(self, name: str, kept_before: int) -> None:
        """Keep the state after a primitive, or after one that it called; see ``Schedule.schedule_record``."""

    @property
    def primitive_record(self) -> Sequence[str]:
        """The primitives after which the state was kept."""


F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

_PRIMITIVES: set[Callable[..., object]] = set()


def primitive(method: F) -> F:
    """Record the calls that users make of a method of a schedule or of a stage.

    Calls that a primitive makes itself are part of it.  The origin of the call is ambient inside, so that the axes
    and operations made there inherit it.  A primitive that is refused leaves the schedule as it was; one of a stage or
    of a group changes that alone.
    """
    signature = inspect.signature(method)
    names = list(signature.parameters)[1:]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values())
    makes_something = signature.return_annotation not in (None, "None")

    @functools.wraps(method)
    def recorded(self: RecordedStage | Recorder, *args: object, **kwargs: object) -> object:
        schedule = self.schedule
        kept = len(schedule.primitive_record)
        if schedule.applying:
            result = method(self, *args, **kwargs)
            schedule.keep_record(method.__name__, kept)
            return result
        stage = self if isinstance(self, RecordedStage) else None
        call = f"{method.__name__}({_arguments(args, kwargs, names, variadic)})"
        origin = call if stage is None else f"{stage.label}: {call}"
        index = None if stage is None else schedule.index_of(stage)
        # Only new axes and tensors derive from the arguments; an annotation does not derive from the loops it names.
        span = mint_source(origin, _spans((*args, *kwargs.values())) if makes_something else NO_SPAN)
        with _applying(self, schedule), derived_from(span):
            result = method(self, *args, **kwargs)
        made = _shown(result) if result is not None and result is not self else ""
        frame = user_frame()
        done = Primitive(
            name=method.__name__,
            label=f"{call} -> {made}" if made else call,
            stage="" if stage is None else stage.label,
            line=frame.f_lineno if frame else None,
            index=index,
            args=args,
            kwargs=kwargs,
            result=result,
            operations=tuple(s.op for s in schedule.stages),
            span=span,
        )
        schedule.record(done)
        schedule.keep_record(method.__name__, kept)
        return result

    _PRIMITIVES.add(recorded)
    return cast(F, recorded)


@contextmanager
def _applying(owner: RecordedStage | Recorder, schedule: Recorder) -> Iterator[None]:
    """Let primitives that are called inside be part of one that, where it is refused, leaves its owner as it was."""
    restore = owner.checkpoint()
    schedule.applying = True
    try:
        yield
    except TVMError:
        restore()
        raise
    finally:
        schedule.applying = False


def primitives_of(owner: type) -> dict[str, Callable[..., object]]:
    """Return the primitives of a class, by name: those of its methods whose calls are recorded."""
    methods = {name: getattr(owner, name) for name in dir(owner)}
    return {name: method for name, method in methods.items() if inspect.isfunction(method) and method in _PRIMITIVES}


class PrimitiveRegistry:
    """Primitives that are written outside of the class whose methods they are.

    Functions are registered as they are imported, before and after the class is; each becomes a method of it.
    """

    def __init__(self) -> None:
        self.methods: dict[str, Callable[..., object]] = {}
        self._owner: type | None = None

    def register(self, function: F) -> F:
        """Make a function, whose first parameter is a stage, a primitive."""
        name = function.__name__
        if name in self.methods or (self._owner is not None and hasattr(self._owner, name)):
            raise TypeError(f"primitive {name!r} is already registered")
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
    def _add(owner: type, name: str, method: Callable[..., object]) -> None:
        method.__qualname__ = f"{owner.__name__}.{name}"
        setattr(owner, name, method)


def line_of(primitives: Sequence[Primitive], name: str, stage: str) -> str:
    """Return `` (line 12)`` for the last call of a primitive on a stage, for errors; empty if it has no line."""
    lines = [p.line for p in primitives if p.name == name and p.stage == stage]
    return f" (line {lines[-1]})" if lines and lines[-1] is not None else ""


def _arguments(args: tuple[object, ...], kwargs: dict[str, object], names: list[str], variadic: bool) -> str:
    parts = []
    for i, value in enumerate(args):
        bare = variadic or isinstance(value, (IterVar, Tensor, Operation, RecordedStage, list, tuple, str))
        parts.append(_shown(value) if bare or i >= len(names) else f"{names[i]}={_shown(value)}")
    parts += [f"{key}={_shown(value)}" for key, value in kwargs.items()]
    return ", ".join(parts)


def _shown(value: object) -> str:
    if isinstance(value, IterVar):
        return value.var.name
    if isinstance(value, (Tensor, Operation)):
        return value.name
    if isinstance(value, RecordedStage):
        return value.label
    if isinstance(value, tuple):
        return ", ".join(_shown(v) for v in value)
    if isinstance(value, list):
        return f"[{', '.join(_shown(v) for v in value)}]"
    if inspect.isfunction(value):
        return _shown_function(value)
    return show(value)


def _shown_function(function: Callable[..., object]) -> str:
    """Return a function by its name; a lambda by its parameters, since its name says nothing."""
    if function.__name__ != "<lambda>":
        return function.__name__
    parameters = ", ".join(map(str, inspect.signature(function).parameters.values()))
    return f"lambda {parameters}: …"


def _spans(values: Iterable[object]) -> Span:
    span = NO_SPAN
    for value in values:
        if isinstance(value, (IterVar, Tensor)):
            span |= value.span
        elif isinstance(value, (list, tuple)):
            span |= _spans(value)
    return span
