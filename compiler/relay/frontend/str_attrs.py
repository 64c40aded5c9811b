"""Attributes that a model's file has as texts: ``StrAttrsDict`` of ``tvm.relay.frontend.common``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from compiler.ir.error import ArgumentError, show

__all__ = ["StrAttrsDict"]

T = TypeVar("T")
D = TypeVar("D")
_REQUIRED: Any = object()
_TRUE = frozenset(("true", "1", "t", "y", "yes"))


class StrAttrsDict:
    """Reads attributes, all of which are texts, as the values that converters need.

    Parameters
    ----------
    attrs : mapping of str to str
        The texts by the attributes' names: ``{"kernel": "(3, 3)", "no_bias": "True"}``.
    """

    def __init__(self, attrs: Mapping[str, str]) -> None:
        self.attrs = attrs

    def has_attr(self, key: str) -> bool:
        """Return whether there is an attribute of a name.

        Parameters
        ----------
        key : str

        Returns
        -------
        bool
        """
        return key in self.attrs

    def get_float(self, key: str, default: D = _REQUIRED) -> D | float:
        """Return a real number.

        Parameters
        ----------
        key : str
            The attribute.
        default : object, optional
            What is returned if there is none of the name.

        Returns
        -------
        object
            The value, or ``default``.

        Raises
        ------
        AttributeError
            If there is none of the name, and no default.
        ArgumentError
            If the text is no such value.
        """
        return self._read(key, default, "a number", float)

    def get_int(self, key: str, default: D = _REQUIRED) -> D | int | None:
        """Return an integer; None where the text says so.

        Parameters
        ----------
        key : str
            The attribute.
        default : object, optional
            What is returned if there is none of the name.

        Returns
        -------
        object
            The value, or ``default``.

        Raises
        ------
        AttributeError
            If there is none of the name, and no default.
        ArgumentError
            If the text is no such value.
        """
        return self._read(key, default, "an integer", lambda text: None if text == "None" else int(text))

    def get_str(self, key: str, default: D = _REQUIRED) -> D | str:
        """Return the text itself.

        Parameters
        ----------
        key : str
            The attribute.
        default : object, optional
            What is returned if there is none of the name.

        Returns
        -------
        object
            The value, or ``default``.

        Raises
        ------
        AttributeError
            If there is none of the name, and no default.
        ArgumentError
            If the text is no such value.
        """
        return self._read(key, default, "a string", str)

    def get_bool(self, key: str, default: D = _REQUIRED) -> D | bool:
        """Return whether the text says yes: ``True``, ``1``, ``t``, ``y`` or ``yes``, in any case.

        Parameters
        ----------
        key : str
            The attribute.
        default : object, optional
            What is returned if there is none of the name.

        Returns
        -------
        object
            The value, or ``default``.

        Raises
        ------
        AttributeError
            If there is none of the name, and no default.
        ArgumentError
            If the text is no such value.
        """
        return self._read(key, default, "a bool", lambda text: text.strip().lower() in _TRUE)

    def get_int_tuple(self, key: str, default: D = _REQUIRED) -> D | tuple[int | None, ...]:
        """Return integers, of which some may be None: ``(1, None)``; a single one is a tuple of one.

        Parameters
        ----------
        key : str
            The attribute.
        default : object, optional
            What is returned if there is none of the name.

        Returns
        -------
        object
            The value, or ``default``.

        Raises
        ------
        AttributeError
            If there is none of the name, and no default.
        ArgumentError
            If the text is no such value.
        """
        return self._read(
            key, default, "integers", lambda text: tuple(None if v is None else _integer(v) for v in _items(text))
        )

    def get_float_tuple(self, key: str, default: D = _REQUIRED) -> D | tuple[float, ...]:
        """Return real numbers; a single one is a tuple of one.

        Parameters
        ----------
        key : str
            The attribute.
        default : object, optional
            What is returned if there is none of the name.

        Returns
        -------
        object
            The value, or ``default``.

        Raises
        ------
        AttributeError
            If there is none of the name, and no default.
        ArgumentError
            If the text is no such value.
        """
        return self._read(key, default, "numbers", lambda text: tuple(map(_number, _items(text))))

    def get_int_list(self, key: str, default: D = _REQUIRED) -> D | tuple[int, ...]:
        """Return integers; a single one is a tuple of one.

        Parameters
        ----------
        key : str
            The attribute.
        default : object, optional
            What is returned if there is none of the name.

        Returns
        -------
        object
            The value, or ``default``.

        Raises
        ------
        AttributeError
            If there is none of the name, and no default.
        ArgumentError
            If the text is no such value.
        """
        return self._read(key, default, "integers", lambda text: tuple(map(_integer, _items(text))))

    def get_tuple_tuple_int(self, key: str, default: D = _REQUIRED) -> D | tuple[tuple[int, ...], ...]:
        """Return rows of integers, ``((0, 0), (1, 1))``; a single row is a tuple of one.

        Parameters
        ----------
        key : str
            The attribute.
        default : object, optional
            What is returned if there is none of the name.

        Returns
        -------
        object
            The value, or ``default``.

        Raises
        ------
        AttributeError
            If there is none of the name, and no default.
        ArgumentError
            If the text is no such value.
        """
        return self._read(key, default, "rows of integers", lambda text: tuple(map(_row, _rows(text))))

    def _read(self, key: str, default: D, expectation: str, read: Callable[[str], T]) -> D | T:
        if key not in self.attrs:
            if default is _REQUIRED:
                raise AttributeError(f"Required attribute {key} not found.")
            return default
        text = self.attrs[key]
        try:
            return read(text)
        except (ValueError, TypeError, SyntaxError):
            raise ArgumentError(f"attribute {key}: expected {expectation}, got {show(text)}") from None


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
