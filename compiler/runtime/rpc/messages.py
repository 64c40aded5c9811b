"""What is said in a session, and how values are written.

Numbers, text, bytes, lists and dictionaries of them are MessagePack's own; devices, measured times and references to
what lies on the server are extensions of it, by the codes of :class:`Code`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import msgspec
import numpy as np
from msgspec.msgpack import Ext

from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import FloatImm, IntImm, StringImm


class Code(IntEnum):
    """Extensions of MessagePack: the kind and the number of a device, seconds, and a :class:`Reference`."""

    DEVICE = 1
    TIMES = 2
    REFERENCE = 3


class Reference(msgspec.Struct, frozen=True, array_like=True):
    """Something on the server: an ``array``, a ``module``, a ``function`` or an ``executor``.

    ``about`` are shape, data type and device of an array, and whether an executor runs a graph, and its inputs.
    """

    number: int
    kind: str = ""
    about: list[Any] = []


class Request(msgspec.Struct, frozen=True, array_like=True):
    """An operation and its arguments; ``freed`` are numbers of references that are not used any more."""

    operation: str
    arguments: list[Any]
    freed: list[int] = []


class Done(msgspec.Struct, frozen=True, tag="done"):
    """What an operation returned."""

    value: Any = None


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """Why an operation failed."""

    reason: str


def packed(value: object, extension: Callable[[object], Ext | None]) -> object:
    """Return a value as MessagePack has it; ``extension`` returns what stands for what it does not have.

    Raises ArgumentError if nothing stands for it.
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        raise ArgumentError(f"an int of more than 64 bits cannot be sent to another process: {value}")
    if value is None or isinstance(value, (bool, int, float, bytes)):
        return value
    if isinstance(value, (list, tuple)):
        return [packed(item, extension) for item in value]
    if isinstance(value, dict):
        return {packed(key, extension): packed(item, extension) for key, item in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (IntImm, FloatImm, StringImm)):
        return value.value
    made = extension(value)
    if made is None:
        raise ArgumentError(f"a value of type {type(value).__name__} cannot be sent to another process")
    return made


def extended(code: Code, structure: object) -> Ext:
    """Return a structure as an extension."""
    return Ext(code.value, msgspec.msgpack.encode(structure))
