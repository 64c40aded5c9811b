"""Pass options: fields of a pass class, checked against their annotations and printed as text."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from collections.abc import Callable as AbstractCallable
from dataclasses import MISSING, fields, is_dataclass
from enum import IntFlag
from numbers import Integral, Real
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from compiler.ir.error import ArgumentError, show

_HINTS: dict[type, dict[str, object]] = {}


def option_types(cls: type) -> dict[str, object]:
    """Return the options of a dataclass with the types that they are annotated with, in the order of its fields."""
    hints = _HINTS.get(cls)
    if hints is None:
        options = [f.name for f in fields(cls)] if is_dataclass(cls) else []
        resolved = get_type_hints(cls) if options else {}
        hints = _HINTS[cls] = {option: resolved[option] for option in options}
    return hints


def usual_options(cls: type) -> dict[str, object]:
    """Return the options of a dataclass with their defaults; None for those that have none."""
    options = {f.name: f for f in fields(cls)} if is_dataclass(cls) else {}
    return {name: None if f.default is MISSING else f.default for name, f in options.items()}


def check_options(instance: object, name: str) -> None:
    """Check each option of a pass against its annotation."""
    for option, hint in option_types(type(instance)).items():
        value = getattr(instance, option)
        if not fits(value, hint):
            raise ArgumentError(f"{name}: {option} must be {type_text(hint)}, got {show(value)}")


def fits(value: object, hint: object) -> bool:
    """Return whether a value is of the type that an annotation says."""
    if hint is Any:
        return True
    if hint is None or hint is type(None):
        return value is None
    origin = get_origin(hint)
    if origin is None:
        return isinstance(hint, type) and _is_instance(value, hint)
    args = get_args(hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, arg) for arg in args)
    if origin is Literal:
        return value in args
    if origin is AbstractCallable:
        return callable(value)
    return isinstance(value, origin) and not isinstance(value, str) and _elements_fit(value, origin, args)


def _is_instance(value: object, cls: type) -> bool:
    if cls is bool:
        return isinstance(value, bool) or (isinstance(value, Integral) and value in (0, 1))
    if cls in (int, float):
        return isinstance(value, Integral if cls is int else Real) and not isinstance(value, bool)
    return isinstance(value, cls)


def _elements_fit(value: Any, origin: Any, args: tuple[Any, ...]) -> bool:
    if isinstance(value, Mapping):
        return all(fits(k, args[0]) and fits(v, args[1]) for k, v in value.items())
    if isinstance(value, tuple) and origin is tuple and args[-1:] != (Ellipsis,):
        return len(value) == len(args) and all(map(fits, value, args))
    return all(fits(item, args[0]) for item in value)


def type_text(hint: object) -> str:
    """Return an annotation as an error message says it: ``of type int``, ``'basic' or None``."""
    named = (isinstance(hint, type) and hint is not type(None)) or get_origin(hint) is tuple
    return f"of type {_type_name(hint)}" if named else _type_name(hint)


def _type_name(hint: object) -> str:
    if hint is None or hint is type(None):
        return "None"
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(map(type_text, args))
    if origin is Literal:
        *others, last = map(repr, args)
        return f"{', '.join(others)} or {last}" if others else last
    if origin is AbstractCallable:
        return "callable"
    if origin is not None:
        return f"{origin.__name__} of {_type_name(args[0])}"
    return str(getattr(hint, "__name__", hint))


def options_text(options: Mapping[str, object]) -> str:
    """Return options as they are written in a call: ``enable_vectorize=True, lanes=[4, 8]``."""
    return ", ".join(f"{name}={value_text(value)}" for name, value in options.items())


def value_text(value: object) -> str:
    """Return the value of an option as text; a function is written by its name, a flag as a number."""
    if isinstance(value, IntFlag):
        return str(int(value))
    if isinstance(value, (list, tuple)):
        items = ", ".join(map(value_text, value))
        return f"[{items}]" if isinstance(value, list) else f"({items}{',' * (len(value) == 1)})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{value_text(k)}: {value_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Callable) and hasattr(value, "__qualname__"):  # type: ignore[arg-type]
        return str(value.__qualname__)
    return repr(value)
