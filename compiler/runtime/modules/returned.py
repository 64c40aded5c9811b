"""Return values of machine code."""

from __future__ import annotations

import ctypes

Returned = int | float | bool | ctypes.c_void_p | None
"""What a function of machine code returns: a number, a pointer, or nothing."""

_SLOTS: dict[str, type[ctypes.c_int64 | ctypes.c_uint64 | ctypes.c_double]] = {
    "bool": ctypes.c_int64,
    "float64": ctypes.c_double,
    "handle": ctypes.c_uint64,
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
}


class ReturnSlot:
    """Memory for the value that a function returns: ``bool``, ``float64``, ``handle``, ``int64`` or ``uint64``."""

    def __init__(self, dtype: str) -> None:
        self._dtype = dtype
        self._memory = _SLOTS[dtype]()

    @property
    def address(self) -> int:
        """Where machine code stores the value."""
        return ctypes.addressof(self._memory)

    def value(self) -> Returned:
        """Return what was stored last."""
        stored = self._memory.value
        if self._dtype == "handle":
            return ctypes.c_void_p(int(stored))
        return bool(stored) if self._dtype == "bool" else stored
