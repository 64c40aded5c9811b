"""The hierarchy of errors that users see.

Every error that a user's program can cause is a :class:`TVMError`; its message names the operation, the argument and
what was expected.  Anything else that escapes is a defect of ours.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from contextlib import ContextDecorator
from typing import NoReturn, SupportsIndex, TypeVar

__all__ = [
    "ArgumentError", "AttrsError", "BoundError", "BuildError", "DTypeError", "DiagnosticError", "InternalError",
    "LanesError", "LoweringError", "OpAttributeInvalid", "OpAttributeRequired", "OpAttributeUnImplemented", "OpError",
    "OpNotImplemented", "RPCError", "RankError", "ScheduleError", "TVMError", "TargetError", "UnavailableError",
    "UnknownNameError", "register_error",
]  # fmt: skip


class TVMError(RuntimeError):
    """Base of all errors caused by a user's program: who did what wrong and what was expected.

    For example ``split: factor must be a positive int, got -4 (axis 'i' of stage 'C')``.
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
    """A function for which no machine code can be generated."""


class ArgumentError(TVMError, ValueError):
    """Invalid arguments, of a built function at run time or of an API call."""


class PartError(ArgumentError):
    """What a program defines for a part of the compiler lacks a method, or a method returned what it may not."""


class UndefinedMethodError(PartError, NotImplementedError):
    """A method that a base class leaves to the classes that derive from it."""


class AttrsError(ArgumentError, AttributeError):
    """An operator attribute that does not exist, is missing, or has an invalid value."""


class UnknownNameError(AttributeError, TVMError):
    """A name that a module or object does not have."""


class UnknownKeyError(UnknownNameError, KeyError):
    """A name that is looked up by index in attributes, which do not have it."""

    def __str__(self) -> str:
        return UnknownNameError.__str__(self)


class UnknownFunctionError(ArgumentError, AttributeError):
    """A function that a module does not have."""


class TargetError(TVMError, ValueError):
    """An unknown target, or one that lacks what a function needs."""


class UnavailableError(TVMError, NotImplementedError):
    """A device, library or service that is not available; tests that need it can skip on this class."""


class DeviceError(UnavailableError, ArgumentError):
    """A device that this machine does not have."""


class DiagnosticError(TVMError):
    """A program rejected with one diagnostic per fault."""


class InternalError(TVMError):
    """A bug in the compiler."""


class LanesError(ArgumentError, DTypeError, InternalError):
    """Vectors whose lanes do not fit together; TVM reports it as a failed check of its own."""


class RankError(BoundError, InternalError):
    """Another number of indices than of dimensions; TVM reports it as a failed check of its own."""


class OpError(TVMError):
    """An operator that an importer cannot convert."""


class OpNotImplemented(OpError, NotImplementedError):
    """An operator that no importer knows."""


class OpAttributeRequired(OpError, AttributeError):
    """An operator without an attribute that it needs."""


class OpAttributeInvalid(OpError, AttributeError):
    """An operator with an invalid attribute value."""


class OpAttributeUnImplemented(OpError, NotImplementedError):
    """An operator with an attribute that no importer knows."""


class RPCError(TVMError):
    """Something that another process or machine was asked for, and that failed."""


class RPCSessionTimeoutError(RPCError, TimeoutError):
    """The time of a session is over."""


class ProgramError(TVMError):
    """An error raised by a user's function, as :func:`errors_of_program` passes it on."""


class errors_of_program(ContextDecorator):
    """Let what a function of a program raises leave the compiler as an error of its class that is a TVMError too.

    Releases of TVM differ in which of the two programs see, so that a program may expect either.
    """

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is not None and isinstance(error, Exception) and not isinstance(error, TVMError):
            both = type(kind.__name__, (ProgramError, kind), {"__module__": kind.__module__})
            raised = both.__new__(both, *error.args)
            raised.__dict__.update(error.__dict__)
            raise raised.with_traceback(error.__traceback__) from error.__cause__


AnyError = TypeVar("AnyError", bound=Exception)
ERROR_TYPES: dict[str, type[Exception]] = {}
"""Classes of errors by the names that they were registered under."""


def register_error(func_name: str | type[AnyError] = "", cls: type[AnyError] | None = None) -> object:
    """Register a class of errors under a name, by default its own; without ``cls``, a decorator."""
    if isinstance(func_name, type):
        return register_error(func_name.__name__, func_name)

    def register(error: type[AnyError]) -> type[AnyError]:
        ERROR_TYPES[func_name or error.__name__] = error
        return error

    return register if cls is None else register(cls)


def show(value: object) -> str:
    """Format a user's value for a message, in one line of at most 80 characters."""
    text = repr(value) if isinstance(value, str) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:77] + "..."


def expected(operation: str, argument: str, expectation: str, got: object, where: str = "") -> NoReturn:
    """Raises ArgumentError in the usual words: ``split: factor must be a positive int, got -4 (axis 'i')``."""
    place = f" ({where})" if where else ""
    raise ArgumentError(f"{operation}: {argument} must be {expectation}, got {show(got)}{place}")


def require_int(operation: str, argument: str, value: object, least: int) -> None:
    """Refuse what is no int of at least so much.  Raises ArgumentError."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex) or value.__index__() < least:
        expected(operation, argument, f"an int of at least {least}", value)


def require_seconds(operation: str, argument: str, value: object) -> None:
    """Refuse what is no number of at least 0.  Raises ArgumentError."""
    if not isinstance(value, (int, float)) or not value >= 0:
        expected(operation, argument, "seconds, at least 0", value)


def require_options(operation: str, given: Iterable[object], known: Iterable[str]) -> None:
    """Refuse the names of options that there are not.  Raises ArgumentError."""
    names = list(known)
    for name in given:
        if name not in names:
            raise ArgumentError(f"{operation}: there is no option {show(name)}{did_you_mean(str(name), names)}")


def undefined(part: object, method: str) -> NoReturn:
    """Raise the error of a method that the base of an object's class leaves to the classes that derive from it."""
    kind = type(part)
    base = next(each.__name__ for each in reversed(kind.__mro__) if method in vars(each))
    raise UndefinedMethodError(f"{kind.__name__}.{method}: a class that derives from {base} must define it")


def unknown_name(module: str, name: str, names: Iterable[str]) -> UnknownNameError:
    """Return the error for an attribute that a public module or object does not have."""
    hint = did_you_mean(name, [n for n in names if not n.startswith("_")])
    return UnknownNameError(f"{module} has no attribute {name!r}{hint}", name=name)


def unknown_key(owner: str, key: str, names: Iterable[str]) -> UnknownKeyError:
    """Return the error for an attribute that is looked up by index, as in ``attrs[key]``, and does not exist."""
    return UnknownKeyError(f"{owner} have no attribute {key!r}{did_you_mean(key, list(names))}", name=key)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return ``; did you mean 'name'?`` with the nearest of ``names``, to end an error; empty if none is near."""
    by_lower = {n.lower(): n for n in names}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return f"; did you mean {by_lower[near[0]]!r}?" if near else ""


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, for error messages: ``1 index``, ``2 indices``; a plural is the noun with an s."""
    return f"{count} {noun}" if count == 1 else f"{count} {plural or f'{noun}s'}"
