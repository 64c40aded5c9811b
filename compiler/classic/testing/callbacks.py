"""Small functions that tests call through the runtime."""

from __future__ import annotations

import builtins
import time
from collections.abc import Callable
from typing import TypeVar

from compiler.ir import error
from compiler.ir.error import ArgumentError
from compiler.runtime.device import Device
from compiler.runtime.modules.packed_func import PackedFunc, register_func

__all__ = [
    "ErrorTest", "device_test", "echo", "identity_after", "nop", "test_check_eq_callback", "test_raise_error_callback",
    "test_wrap_callback",
]  # fmt: skip

Value = TypeVar("Value")


def echo(value: Value) -> Value:
    """Return a value."""
    return value


def nop(*args: object) -> None:
    """Do nothing."""


def identity_after(x: Value, sleep: float) -> Value:
    """Return a value after a while."""
    time.sleep(sleep)
    return x


def test_wrap_callback(callback: Callable[[], object]) -> PackedFunc:
    """Return a function that calls another one."""

    def wrapped() -> None:
        callback()

    return PackedFunc(wrapped)


def test_raise_error_callback(message: str) -> Callable[[], None]:
    """Return a function that raises the error that ``message`` names, e.g. ``ValueError: too small``.

    Raises
    ------
    Exception
        Of that class; a RuntimeError where there is none.
    """

    def callback() -> None:
        raise _error(message)

    return callback


def test_check_eq_callback(message: str) -> Callable[[int, int], None]:
    """Return a function that checks that two numbers are the same, with a message as of the function above.

    Raises Exception where they are not.
    """

    def callback(x: int, y: int) -> None:
        if x != y:
            raise _error(f"{message} ({x} vs. {y})")

    return callback


def ErrorTest(x: int, y: int) -> None:
    """Check that the first number is the second one.

    Raises ValueError if they differ and the first one is 0. Raises RuntimeError if they differ otherwise.
    """
    if x != y:
        raise (ValueError if x == 0 else RuntimeError)(f"expected x == y, got {x} vs. {y}")


def device_test(dev: Device, device_type: int, device_id: int) -> Device:
    """Check what a device says of itself.

    Raises ArgumentError if they are others.
    """
    if (dev.device_type, dev.device_id) != (device_type, device_id):
        raise ArgumentError(f"device_test: expected device {device_type} number {device_id}, got {dev}")
    return dev


def _error(message: str) -> Exception:
    name = message.partition(":")[0].strip()
    cls = getattr(builtins, name, None) or getattr(error, name, None)
    return cls(message) if isinstance(cls, type) and issubclass(cls, Exception) else RuntimeError(message)


for _function in (ErrorTest, device_test, echo, identity_after, nop):
    register_func(f"testing.{_function.__name__}", _function)
for _callback in (test_wrap_callback, test_raise_error_callback, test_check_eq_callback):
    vars(_callback)["__test__"] = False  # pytest takes them for tests otherwise
    register_func(f"testing.{_callback.__name__}", _callback)
