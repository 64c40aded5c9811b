"""Type-checked access to decoded, untrusted JSON."""

from __future__ import annotations

import math

from compiler.ir.error import show
from compiler.te.program.format import ProgramError


def wrong(where: str, expectation: str, got: object) -> ProgramError:
    """Return the error about a value, at a place such as ``operations[2].name``, that is not what it must be."""
    return ProgramError(f"program: {where} must be {expectation}, got {show(got)}")


def entry(value: object, name: str, where: str) -> object:
    """Return an entry of an object."""
    if not isinstance(value, dict) or name not in value:
        raise wrong(where, f"an object with {name!r}", value)
    return value[name]


def items(value: object, where: str) -> list[object]:
    """Return a list."""
    if not isinstance(value, list):
        raise wrong(where, "a list", value)
    return value


def text(value: object, where: str) -> str:
    """Return a string that can be a name: of at most 1,000 characters, all of which can be encoded."""
    if not isinstance(value, str) or len(value) > MAX_TEXT or not _encodable(value):
        raise wrong(where, f"a string of at most {MAX_TEXT:,} characters", value)
    return value


MAX_TEXT = 1_000


def _encodable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def integer(value: object, where: str, limit: int | None = None) -> int:
    """Return an integer, from 0 up to but without ``limit`` if that is given."""
    if type(value) is not int:
        raise wrong(where, "an integer", value)
    if limit is not None and not 0 <= value < limit:
        raise wrong(where, f"at least 0 and less than {limit}", value)
    return value


def truth(value: object, where: str) -> bool:
    """Return a truth value."""
    if not isinstance(value, bool):
        raise wrong(where, "true or false", value)
    return value


_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def number(value: object, where: str) -> float:
    """Return a floating-point number; JSON has no word for infinities, which are strings."""
    if type(value) is float and math.isfinite(value):
        return value
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    raise wrong(where, "a number, 'inf', '-inf' or 'nan'", value)


def json_number(value: float) -> float | str:
    """Return a floating-point number as :func:`number` reads it."""
    value = float(value)
    return value if math.isfinite(value) else str(value)
