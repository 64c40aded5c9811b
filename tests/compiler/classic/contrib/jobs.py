"""Functions that tests call in other processes."""

from __future__ import annotations

import sys
import time
from typing import NoReturn, TypeVar

from compiler.classic.testing.callbacks import echo
from compiler.runtime.modules.packed_func import get_global_func, register_func

__all__ = [
    "after_initializer", "call_cpp_ffi", "call_cpp_py_ffi", "call_py_ffi", "fast_summation", "initializer",
    "register_ffi", "slow_summation", "terminate_self", "timeout_job",
]  # fmt: skip

Value = TypeVar("Value")

_STATE = [0, 0, 0]


def initializer(test_global_state_1: int, test_global_state_2: int, test_global_state_3: int) -> None:
    """Remember three numbers in this process."""
    _STATE[:] = test_global_state_1, test_global_state_2, test_global_state_3


def after_initializer() -> tuple[int, ...]:
    """Return what :func:`initializer` was called with in this process, zeros where it was not called."""
    return tuple(_STATE)


def register_ffi() -> None:
    """Register functions for :func:`call_py_ffi` and :func:`call_cpp_py_ffi` in this process."""
    register_func("testing.identity_py", echo, override=True)


def call_py_ffi(arg: object) -> object:
    """Call a function that was registered by :func:`register_ffi`."""
    return _call("testing.identity_py", arg)


def call_cpp_ffi(arg: object) -> object:
    """Call a function of the runtime."""
    return _call("testing.echo", arg)


def call_cpp_py_ffi(arg: object) -> object:
    """Call a function of the runtime with what a registered function returns."""
    return call_cpp_ffi(call_py_ffi(arg))


def _call(name: str, arg: object) -> object:
    function = get_global_func(name)
    assert function is not None
    return function(arg)


def fast_summation(n: int) -> int:
    """Return the sum of the numbers from 0 to ``n`` by a formula."""
    return n * (n + 1) // 2


def slow_summation(n: int) -> int:
    """Return the sum of the numbers from 0 to ``n`` by adding them up."""
    return sum(range(n + 1))


def timeout_job(n: float) -> None:
    """Sleep half as long again as is asked for."""
    time.sleep(n * 1.5)


def terminate_self() -> NoReturn:
    """End this process with a code that says that something went wrong."""
    sys.exit(-1)
