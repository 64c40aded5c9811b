"""Parsing of string attributes: ``StrAttrsDict`` of ``tvm.relay.frontend.common``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from compiler.ir.error import ArgumentError, show

T = TypeVar("T")
_REQUIRED: Any = object()
_TRUE = frozenset(("true", "1", "t", "y", "yes"))


def _optional_integer(text: str) -> int | None:
    return None if text == "None" else int(text)


def _truth(text: str) -> bool:
    return text.strip().lower() in _TRUE


def _items(text: str) -> tuple[object, ...]:
    value = ast.literal_eval(text.strip())
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _rows(text: str) -> tuple[object, ...]:
    items = _items(text)
    return items if any(isinstance(item, (tuple, list)) for item in items) else (items,)


def _row(items: object) -> tuple[int, ...]:
    if not isinstance(items, (tuple, list)):
        raise TypeError(items)
    return tuple(map(_integer, items))


def _number(value: object) -> float:
    if not isinstance(value, (int, float)):
        raise TypeError(value)
    return float(value)


def _integer(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(value)
    return int(value)


def _reader(returns: str, expectation: str, read: Callable[[str], T]) -> Callable[..., Any]:
    """Create a method that parses an attribute, with the given documentation."""

    def get(self: StrAttrsDict, key: str, default: object = _REQUIRED) -> object:
        return self.read(key, default, expectation, read)

    get.__doc__ = f"""Return {returns}.

        Parameters
        ----------
        key : str
            The attribute.
        default : object, optional
            What is returned if there is none with that name.

        Returns
        -------
        object
            The value, or ``default``.

        Raises
        ------
        AttributeError
            If there is none with that name, and no default.
        ArgumentError
            If the text is no such value.
        """
    return get


class StrAttrsDict:
    """Parses attributes that are given as strings.

    Parameters
    ----------
    attrs : mapping of str to str
        The strings by name: ``{"kernel": "(3, 3)", "no_bias": "True"}``.
    """

    def __init__(self, attrs: Mapping[str, str]) -> None:
        self.attrs = attrs

    def has_attr(self, key: str) -> bool:
        """Return whether there is an attribute with a name."""
        return key in self.attrs

    def read(self, key: str, default: object, expectation: str, read: Callable[[str], object]) -> object:
        """Parse an attribute with a function.

        Raises AttributeError if the attribute is missing and there is no default. Raises ArgumentError if the string is
        malformed.

        Parameters
        ----------
        default : object
            The result if the attribute is missing.
        """
        if key not in self.attrs:
            if default is _REQUIRED:
                raise AttributeError(f"Required attribute {key} not found.")
            return default
        text = self.attrs[key]
        try:
            return read(text)
        except (ValueError, TypeError, SyntaxError):
            raise ArgumentError(f"attribute {key}: expected {expectation}, got {show(text)}") from None

    get_float = _reader("a real number", "a number", float)
    get_int = _reader("an integer; None where the text says so", "an integer", _optional_integer)
    get_str = _reader("the text itself", "a string", str)
    get_bool = _reader(
        "whether the text says yes: ``True``, ``1``, ``t``, ``y`` or ``yes``, in any case", "a bool", _truth
    )
    get_int_tuple = _reader(
        "integers, of which some may be None: ``(1, None)``; a single one is a tuple of one",
        "integers",
        lambda text: tuple(None if v is None else _integer(v) for v in _items(text)),
    )
    get_float_tuple = _reader(
        "real numbers; a single one is a tuple of one", "numbers", lambda text: tuple(map(_number, _items(text)))
    )
    get_int_list = _reader(
        "integers; a single one is a tuple of one", "integers", lambda text: tuple(map(_integer, _items(text)))
    )
    get_tuple_tuple_int = _reader(
        "rows of integers, ``((0, 0), (1, 1))``; a single row is a tuple of one",
        "rows of integers",
        lambda text: tuple(map(_row, _rows(text))),
    )
