"""The table of converters of PyTorch operators.

A converter is a function whose parameters are those of the operator's schema: the first by position, the others by
name, where ``self`` is called ``x`` and ``b`` is called ``other``.  One function therefore serves all overloads of an
operator.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from compiler.relay.frontend.pytorch.values import TorchValue
from compiler.relay.frontend.shared.errors import ConversionError

Convert = Callable[..., TorchValue]
"""``convert(first, **others)`` returns a value, or a tuple of several results."""

F = TypeVar("F", bound=Convert)

_TABLE: dict[str, Convert] = {}

_WITHOUT_MEANING = frozenset(
    {"layout", "device", "pin_memory", "memory_format", "non_blocking", "generator", "requires_grad", "copy"}
)
"""Arguments about memory, which do not affect the value of a tensor."""

_RENAMED = {"self": "x", "b": "other"}
"""Parameter names of converters that differ from those of schemas."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call, as the operator's schema names it; ``is_default`` if it is the schema's default value."""

    name: str
    value: TorchValue
    is_default: bool = False


def converter(*names: str) -> Callable[[F], F]:
    """Register a function as the converter of operators."""

    def enter(convert: F) -> F:
        for name in names:
            _TABLE[name if "::" in name else f"aten::{name}"] = convert
        return convert

    return enter


def converters(rows: Mapping[str, Convert]) -> None:
    """Register a table of converters by operator names, of which a key may have several, separated by spaces."""
    for names, convert in rows.items():
        converter(*names.split())(convert)


def find(name: str) -> Convert | None:
    """Look up the converter of an operator, also for its in-place form."""
    if name in _TABLE:
        return _TABLE[name]
    return _TABLE.get(name.removesuffix("_")) if name.endswith("_") and not name.endswith("__") else None


def supported() -> list[str]:
    """Return the names of all operators with a converter, without their in-place forms."""
    return sorted(_TABLE)


def apply(convert: Convert, arguments: Sequence[Argument]) -> TorchValue:
    """Apply a converter to the arguments of a call."""
    accepted = _parameters(convert)
    named: dict[str, TorchValue] = {}
    for argument in arguments[1:]:
        name = _RENAMED.get(argument.name, argument.name)
        if accepted is None or name in accepted:
            named[name] = argument.value
        elif name not in _WITHOUT_MEANING and not argument.is_default and argument.value is not None:
            raise ConversionError(f"its argument {argument.name} = {argument.value!r} is not supported")
    return convert(*(argument.value for argument in arguments[:1]), **named)


@cache
def _parameters(convert: Convert) -> frozenset[str] | None:
    """Return the parameter names of a converter; None if it takes any."""
    parameters = inspect.signature(convert).parameters.values()
    if any(p.kind == inspect.Parameter.VAR_KEYWORD for p in parameters):
        return None
    return frozenset(p.name for p in parameters)
