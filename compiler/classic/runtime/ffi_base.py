"""``tvm._ffi.base``: the base of all errors, and Python type checks."""

from __future__ import annotations

from numbers import Integral, Number

import numpy as np

from compiler.ir.error import TVMError, register_error

__all__ = ["TVMError", "integer_types", "numeric_types", "py_str", "register_error", "string_types"]

string_types = (str,)
integer_types = (int, np.int32)
numeric_types = (int, float, np.generic, Number, Integral)


def py_str(x: bytes) -> str:
    """Return a text of bytes."""
    return x.decode("utf-8")
