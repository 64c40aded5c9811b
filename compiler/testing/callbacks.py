"""Small functions that tests call through the runtime."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

__all__ = [
    "ErrorTest",
    "echo",
    "identity_after",
    "nop",
    "test_check_eq_callback",
    "test_raise_error_callback",
    "test_wrap_callback",
]

Value = TypeVar("Value")


def echo(value: Value) -> Value:
    """Return a value.

    Parameters
    ----------
    value : object

    Returns
    -------
    object
        The same.
    """
    return value


def nop(*args: object) -> None:
    """Do nothing.

    Parameters
    ----------
    *args : object
    """


def identity_after(x: Value, sleep: float) -> Value:
    """Return a value after a while.

    Parameters
    ----------
    x : object
    sleep : float
        Seconds.

    Returns
    -------
    object
        ``x``.
    """
    time.sleep(sleep)
    return x


def test_wrap_callback(callback: Callable[[], object]) -> object:
    """Call a function.

    Parameters
    ----------
    callback : callable

    Returns
    -------
    object
        What it returns.
    """
    return callback()


def test_raise_error_callback(message: str) -> Callable[[], None]:
    """Return a function that raises an error.

    Parameters
    ----------
    message : str
        Beginning with the name of a class of errors of Python: ``ValueError: too small``.

    Returns
    -------
    callable

    Raises
    ------
    Exception
        Of that class; a RuntimeError where there is none.
    """

    def callback() -> None:
        raise _error(message)

    return callback


def test_check_eq_callback(message: str) -> Callable[[int, int], None]:
    """Return a function that checks that two numbers are the same.

    Parameters
    ----------
    message : str
        Of the error, as of :func:`test_raise_error_callback`.

    Returns
    -------
    callable

    Raises
    ------
    Exception
        Where they are not.
    """

    def callback(x: int, y: int) -> None:
        if x != y:
            raise _error(f"{message} ({x} vs. {y})")

    return callback


def ErrorTest(x: int, y: int) -> None:
    """Check that the first number is the second one.

    Parameters
    ----------
    x, y : int

    Raises
    ------
    ValueError
        If they differ and the first one is 0.
    RuntimeError
        If they differ otherwise.
    """
    if x != y:
        raise (ValueError if x == 0 else RuntimeError)(f"expected x == y, got {x} vs. {y}")


def _error(message: str) -> Exception:
    import builtins

    cls = getattr(builtins, message.partition(":")[0].strip(), None)
    return cls(message) if isinstance(cls, type) and issubclass(cls, Exception) else RuntimeError(message)


for _callback in (test_wrap_callback, test_raise_error_callback, test_check_eq_callback):
    vars(_callback)["__test__"] = False  # pytest takes them for tests otherwise
