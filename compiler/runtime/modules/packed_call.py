"""Calls of packed functions from machine code."""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, Protocol

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.context_stack import setting
from compiler.ir.error import TVMError
from compiler.runtime.arrays.c_types import DTYPE_CODES, ArgTypeCode, TVMArray
from compiler.runtime.arrays.dltensor import array_over
from compiler.runtime.modules.packed_func import get_global_func
from compiler.runtime.parallel.forks import hold_while_forking

VARIABLE = "__strata_call_packed"
"""The variable of machine code that holds the address of what carries out its calls."""
FAILED = "a function that it calls failed"
"""The message of a function that ends since one that it called raised an exception."""


_IMPORTED: ContextVar[Mapping[str, Callable[..., object]]] = ContextVar("imported functions", default={})  # noqa: B039
"""The functions that the running module imports: its code finds them before those that are registered."""
_failures: dict[int, BaseException] = {}
_lock = threading.Lock()
hold_while_forking(_lock)


def dtype_bits(dtype: str) -> int:
    """Return a data type as the four bytes of a DLTensor."""
    parsed = dt.parse(dtype)
    return DTYPE_CODES[parsed.code] | parsed.bits << 8 | parsed.lanes << 16


def importing(functions: Mapping[str, Callable[..., object]]) -> AbstractContextManager[None]:
    """Let the machine code that runs inside of the block find functions of other modules."""
    return setting(_IMPORTED, functions)


def call(name: str, args: list[object], expected: ArgTypeCode = ArgTypeCode.INT) -> Any:
    """Call a registered function."""
    function = _IMPORTED.get().get(name) or get_global_func(name)
    result = function(*args)  # type: ignore[misc]
    if isinstance(result, ctypes.c_void_p):
        return result.value or 0
    if isinstance(result, (bool, np.integer)):
        return int(result)
    if result is None or isinstance(result, int):
        return result if result is None or expected is ArgTypeCode.INT else float(result)
    if expected is ArgTypeCode.FLOAT and isinstance(result, (float, np.floating)):
        return float(result)
    raise TVMError(
        f"{name}: a function called from machine code must return an integer, a pointer or None, got {result!r}"
    )


def call_traced(name: str, args: list[object], is_float: bool) -> object:
    """Call a registered function with values to look at."""
    result = call(name, args, ArgTypeCode.FLOAT if is_float else ArgTypeCode.INT)
    return args[-1] if result is None else result


class _Ints(Protocol):
    """Integers in memory that a pointer of ctypes leads to."""

    def __getitem__(self, index: int, /) -> int: ...

    def __setitem__(self, index: int, value: int, /) -> None: ...


_Callback = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_char_p,
    ctypes.POINTER(ctypes.c_int64),
    ctypes.POINTER(ctypes.c_int32),
    ctypes.c_int32,
    ctypes.POINTER(ctypes.c_int64),
)


def _carry_out(name: bytes, values: _Ints, codes: _Ints, count: int, result: _Ints) -> int:
    """Call a registered function with arguments in memory; return 0, or 1 if it raised an exception.

    ``result[1]`` says which kind of number is expected, and after the call whether there is one.
    """
    try:
        expected = ArgTypeCode(result[1])
        returned = call(name.decode(), [_argument(values[i], codes[i]) for i in range(count)], expected)
        result[1] = returned is not None
        result[0] = _bits(returned or 0, expected)
    except BaseException as exception:  # crosses machine code, and is raised again on the other side
        with _lock:
            _failures[len(_failures)] = exception
        return 1
    return 0


def _bits(value: float, kind: ArgTypeCode) -> int:
    return int(value) if kind is ArgTypeCode.INT else int(struct.unpack("q", struct.pack("d", value))[0])


_callback = _Callback(_carry_out)


def call_address() -> int:
    """Return the address of the function that carries out the calls of machine code."""
    return ctypes.cast(_callback, ctypes.c_void_p).value or 0


def take_failure() -> BaseException | None:
    """Return the exception that the last run of machine code ended with, and forget it; None if it was none."""
    with _lock:
        failure = _failures.get(0)
        _failures.clear()
    return failure


def _argument(value: int, code: int) -> Any:
    if code == ArgTypeCode.FLOAT:
        return struct.unpack("d", struct.pack("q", value))[0]
    if code == ArgTypeCode.STR:
        return ctypes.string_at(value).decode()
    if code == ArgTypeCode.HANDLE:
        return ctypes.c_void_p(value)
    if code == ArgTypeCode.NULL:
        return None
    if code == ArgTypeCode.DLTENSOR_HANDLE:
        return array_over(TVMArray.from_address(value))
    return value
