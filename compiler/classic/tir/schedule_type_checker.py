"""Run-time checks of arguments against annotations: ``type_checked``."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, Union

_Function = TypeVar("_Function", bound=Callable[..., Any])
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_ELEMENTWISE = (list, set, frozenset, collections.abc.Sequence, collections.abc.Iterable)


def type_checked(func: _Function) -> _Function:
    """Let a function refuse arguments that are not of the types that it is annotated with.

    Annotations are classes, unions, and lists, tuples and dictionaries of those; what is annotated with nothing, or
    with ``Any``, is not checked. Raises TypeError before ``func`` runs.
    """
    signature = inspect.signature(func)
    annotations: dict[str, object] = {}

    @functools.wraps(func)
    def checked(*args: object, **kwargs: object) -> object:
        if not annotations:
            annotations.update(typing.get_type_hints(func))
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if name in annotations and signature.parameters[name].kind not in _VARIADIC:
                for place, expected, part in _faults(value, annotations[name], name):
                    raise TypeError(
                        f'In "{func.__qualname__}", "{place}" has wrong type.'
                        f' Expected "{_type_name(expected)}", but gets: "{_value_type_name(part)}"'
                    )
        return func(*args, **kwargs)

    return typing.cast(_Function, checked)


def _faults(value: object, annotation: object, place: str) -> Iterator[tuple[str, object, object]]:
    """Yield where a value, or what it consists of, is not of its type: the place, the type and the value there."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Any or isinstance(annotation, TypeVar):
        return
    if origin in (Union, types.UnionType):
        yield from _faults_of_union(value, annotation, arguments, place)
    elif annotation is None or annotation is type(None):
        if value is not None:
            yield place, None, value
    elif not isinstance(value, origin or typing.cast(type, annotation)):
        yield place, annotation, value
    elif origin is tuple and arguments and arguments[-1] is not ...:
        if len(typing.cast(tuple[object, ...], value)) != len(arguments):
            yield place, annotation, value
            return
        for position, (element, kind) in enumerate(zip(typing.cast(tuple[object, ...], value), arguments, strict=True)):
            yield from _faults(element, kind, f"{place}[{position}]")
    elif origin in (*_ELEMENTWISE, tuple) and arguments:
        for position, element in enumerate(typing.cast("collections.abc.Iterable[object]", value)):
            yield from _faults(element, arguments[0], f"{place}[{position}]")
    elif origin in (dict, collections.abc.Mapping):
        for key, element in typing.cast("dict[object, object]", value).items():
            yield from _faults(key, arguments[0], f"{place}[{key}]")
            yield from _faults(element, arguments[1], f"{place}[{key}]")


def _faults_of_union(
    value: object, annotation: object, members: tuple[object, ...], place: str
) -> Iterator[tuple[str, object, object]]:
    faults = [list(_faults(value, member, place)) for member in members]
    if all(faults):
        others = [each for member, each in zip(members, faults, strict=True) if member is not type(None)]
        yield others[0][0] if len(others) == 1 else (place, annotation, value)


def _type_name(annotation: object) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is None or annotation is type(None):
        return "None"
    if origin in (Union, types.UnionType):
        return f"Union[{', '.join(map(_type_name, arguments))}]"
    if origin is collections.abc.Callable:
        return "Callable"
    if origin is not None and arguments:
        return f"{origin.__name__.capitalize()}[{', '.join(map(_type_name, arguments))}]"
    return str(getattr(annotation, "__name__", annotation))


def _value_type_name(value: object) -> str:
    """Return the type of a value; of lists and tuples, with the types of their elements."""
    if value is None:
        return "None"
    if isinstance(value, list | tuple) and value:
        names = [_value_type_name(element) for element in value]
        shown = dict.fromkeys(names) if isinstance(value, list) else names
        return f"{type(value).__name__.capitalize()}[{', '.join(shown)}]"
    return type(value).__name__
