"""The table of converters: which operator of PyTorch becomes what.

A converter is a function whose parameters are those of the operator's schema: the first by position, the others by
name, where ``self`` is called ``x`` and ``b`` is called ``other``.  One function therefore serves all overloads of an
operator.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from compiler.relay.frontend.shared.errors import ConversionError

__all__ = ["Argument", "Convert", "apply", "converter", "converters", "find", "supported"]

Convert = Callable[..., Any]
"""``convert(first, **others)`` returns a value, or a tuple of them where the operator has several results."""

_TABLE: dict[str, Convert] = {}

_WITHOUT_MEANING = frozenset(
    {"layout", "device", "pin_memory", "memory_format", "non_blocking", "generator", "requires_grad", "copy"}
)
"""Arguments that say where and how a tensor lies in memory: it is the same tensor."""

_RENAMED = {"self": "x", "b": "other"}
"""What converters call arguments: the overloads for numbers say ``b`` where those for tensors say ``other``."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call, as the operator's schema names it.

    Attributes
    ----------
    name : str
    value : object
        An expression, a number, a string, None, or a list of these.
    is_default : bool
        Whether it is what the schema takes when the argument is left out.
    """

    name: str
    value: Any
    is_default: bool = False


def converter(*names: str) -> Callable[[Convert], Convert]:
    """Register a function as the converter of operators.

    Parameters
    ----------
    names : str
        E.g. ``relu``; those of other namespaces than ATen's with it: ``torchvision::nms``.
    """

    def enter(convert: Convert) -> Convert:
        for name in names:
            _TABLE[_full(name)] = convert
        return convert

    return enter


def converters(rows: Mapping[str, Convert]) -> None:
    """Register a table of converters.

    Parameters
    ----------
    rows : mapping of str to callable
        By the names of operators, several of which may stand in one key, separated by spaces.
    """
    for names, convert in rows.items():
        converter(*names.split())(convert)


def _full(name: str) -> str:
    return name if "::" in name else f"aten::{name}"


def find(name: str) -> Convert | None:
    """Return the converter of an operator, if there is one; an in-place form has that of the operator.

    Parameters
    ----------
    name : str
        With its namespace: ``aten::relu_``.
    """
    if name in _TABLE:
        return _TABLE[name]
    return _TABLE.get(name.removesuffix("_")) if name.endswith("_") and not name.endswith("__") else None


def supported() -> list[str]:
    """Return the names of all operators with a converter, without their in-place forms."""
    return sorted(_TABLE)


def apply(convert: Convert, arguments: Sequence[Argument]) -> Any:
    """Return what a converter makes of the arguments of a call.

    Parameters
    ----------
    convert : callable
    arguments : sequence of Argument

    Raises
    ------
    ConversionError
        If an argument is given that the converter does not have.
    """
    accepted = _parameters(convert)
    named: dict[str, Any] = {}
    for argument in arguments[1:]:
        name = _RENAMED.get(argument.name, argument.name)
        if accepted is None or name in accepted:
            named[name] = argument.value
        elif name not in _WITHOUT_MEANING and not argument.is_default and argument.value is not None:
            raise ConversionError(f"its argument {argument.name} = {argument.value!r} is not supported")
    return convert(*(argument.value for argument in arguments[:1]), **named)


@cache
def _parameters(convert: Convert) -> frozenset[str] | None:
    """Return the names that a converter takes; None if it takes any."""
    parameters = inspect.signature(convert).parameters.values()
    if any(p.kind == inspect.Parameter.VAR_KEYWORD for p in parameters):
        return None
    return frozenset(p.name for p in parameters)
