"""Binds positional and keyword arguments to parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from compiler.ir.error import ArgumentError

T = TypeVar("T")


def arguments_in_order(function: str, names: Sequence[str], args: Sequence[T], kwargs: Mapping[str, T]) -> list[T]:
    """Return the values of all parameters: those of a name in ``kwargs`` by name, the rest in the order of ``args``.

    Further names are left out, so that all the weights of a model may be given.
    """
    given, rest = names[: len(args)], names[len(args) :]
    if len(args) > len(names) or not kwargs.keys() >= set(rest) or not kwargs.keys().isdisjoint(given):
        got = f"{len(args)} arguments" + (f" and {', '.join(kwargs)}" if kwargs else "")
        raise ArgumentError(f"{function} takes ({', '.join(names)}), got {got}")
    return [*args, *(kwargs[name] for name in rest)]
