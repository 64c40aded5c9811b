"""The one family of errors that a user sees.

Every error that a user's program can cause is a :class:`TVMError`; its message names the operation, the argument and
what was expected.  Anything else that escapes is a defect of ours.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NoReturn


class TVMError(RuntimeError):
    """Base of all errors caused by a user's program.

    Parameters
    ----------
    message : str
        Who did what wrong and what was expected, e.g.
        ``split: factor must be a positive int, got -4 (axis 'i' of stage 'C')``.
    """


class ScheduleError(TVMError):
    """A schedule primitive that cannot be applied."""


class DTypeError(TVMError, TypeError):
    """Operands or arguments of the wrong data type."""


class BoundError(TVMError, IndexError):
    """An access outside of a tensor, or a rank that does not match."""


class LoweringError(TVMError):
    """A program that cannot be lowered."""


class BuildError(TVMError):
    """A function for which no machine code can be made."""


class ArgumentError(TVMError, ValueError):
    """Arguments that do not fit: of a built function at run time, or of an API call."""


class UnknownNameError(AttributeError, TVMError):
    """A name that a module or object does not have."""


class TargetError(TVMError, ValueError):
    """A target string that names something unknown."""


def show(value: object) -> str:
    """Show a user's value in a message, shortened to one line."""
    text = repr(value) if isinstance(value, str) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:77] + "..."


def expected(operation: str, argument: str, what: str, got: object, where: str = "") -> NoReturn:
    """Raise the usual :class:`ArgumentError`: ``operation: argument must be what, got got (where)``."""
    place = f" ({where})" if where else ""
    raise ArgumentError(f"{operation}: {argument} must be {what}, got {show(got)}{place}")


def unknown_name(module: str, name: str, known: Iterable[str]) -> UnknownNameError:
    """Return the error for an attribute that a public module does not have; it names the nearest one that it has."""
    public = {k.lower(): k for k in known if not k.startswith("_")}
    near = difflib.get_close_matches(name.lower(), public, n=1)
    hint = f"; did you mean {public[near[0]]!r}?" if near else ""
    return UnknownNameError(f"{module} has no attribute {name!r}{hint}", name=name)
