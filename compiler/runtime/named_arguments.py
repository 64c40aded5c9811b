"""Arguments given by position and by name, in the order of the parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from compiler.ir.error import ArgumentError

T = TypeVar("T")


def arguments_in_order(function: str, names: Sequence[str], args: Sequence[T], kwargs: Mapping[str, T]) -> list[T]:
    """Return the values of all parameters.

    Parameters
    ----------
    function : str
        What is called, for errors.
    names : sequence of str
        The parameters' names, which need not differ as long as no value is given by such a name.
    args : sequence
        Values of the first parameters.
    kwargs : mapping of str
        Values of the rest.

    Returns
    -------
    list

    Raises
    ------
    ArgumentError
        If a parameter has no value, a value has no parameter, or a name stands for several parameters.
    """
    rest = names[len(args) :]
    if len(args) > len(names) or len(kwargs) != len(rest) or set(kwargs) != set(rest):
        given = f"{len(args)} arguments" + (f" and {', '.join(kwargs)}" if kwargs else "")
        raise ArgumentError(f"{function} takes ({', '.join(names)}), got {given}")
    return [*args, *(kwargs[name] for name in rest)]
