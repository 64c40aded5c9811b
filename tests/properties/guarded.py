"""Memory with guards: unreadable pages around an array, and a pattern in what is left of its own pages."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import IntImm, Var
from compiler.ir.functor import Mutator
from compiler.ir.memory import ALIGNMENT
from compiler.ir.node import rebuild
from compiler.ir.types import PointerType
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, Stmt

PATTERN = 0xA5
_PROT_NONE = 0
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def without_contents(shape: Any, dtype: str) -> Any:
    """Return an array to be written: not a number in every element, or bytes of a pattern where all are numbers."""
    memory = np.full(shape, 0, dtype)
    if memory.dtype.kind == "f":
        memory[...] = np.nan
    elif memory.dtype.kind != "b":
        memory.reshape(-1).view("uint8")[...] = PATTERN
    return memory


class Guarded:
    """An array between two unreadable pages.

    Parameters
    ----------
    values : ndarray
        The array's contents.
    at_end : bool
        Whether it ends, as closely as its alignment allows, where the second page begins; else it begins at the end
        of the first one.
    """

    def __init__(self, values: Any, at_end: bool) -> None:
        values = np.ascontiguousarray(values)
        page = mmap.PAGESIZE
        size = -(-max(values.nbytes, 1) // page) * page
        self._pages = mmap.mmap(-1, size + 2 * page)
        first = ctypes.addressof(ctypes.c_char.from_buffer(self._pages))
        for guard in (first, first + page + size):
            if _libc.mprotect(guard, page, _PROT_NONE):
                raise OSError(ctypes.get_errno(), "mprotect")
        self._raw = np.frombuffer(self._pages, np.uint8, size, page)
        self._raw[:] = PATTERN
        begin = (size - values.nbytes) // ALIGNMENT * ALIGNMENT if at_end else 0
        self._outside = np.ones(size, bool)
        self._outside[begin : begin + values.nbytes] = False
        self.array = self._raw[begin : begin + values.nbytes].view(values.dtype).reshape(values.shape)
        self.array[...] = values

    @property
    def intact(self) -> bool:
        """Whether nothing was written outside of the array."""
        return bool((self._raw[self._outside] == PATTERN).all())


class _Hoist(Mutator):
    """Takes allocations of constant size out of a function's body."""

    def __init__(self) -> None:
        self.sizes: dict[Var, tuple[str, int]] = {}

    def visit_Allocate(self, n: Allocate) -> Stmt:
        body = self.visit(n.body)
        if not all(isinstance(extent, IntImm) for extent in n.extents):
            return rebuild(n, body=body)
        size = int(np.prod([extent.value for extent in n.extents]))
        _, before = self.sizes.get(n.buffer_var, (n.dtype, 0))
        self.sizes[n.buffer_var] = n.dtype, max(before, size)
        return body


def with_allocations_as_arguments(func: PrimFunc) -> tuple[PrimFunc, list[Any]]:
    """Return the function with the memory that it allocates as further arguments, and arrays for them.

    Parameters
    ----------
    func : PrimFunc
        A lowered function whose loops are not parallel: their iterations would share memory.
    """
    hoist = _Hoist()
    body = hoist.visit(func.body)
    params, buffer_map, arrays = list(func.params), dict(func.buffer_map), []
    for data, (dtype, size) in hoist.sizes.items():
        assert isinstance(data.type_annotation, PointerType)
        element, count = dt.element(dtype), size * dt.lanes(dtype)
        param = Var(data.name + "_argument", "handle")
        params.append(param)
        buffer_map[param] = decl_buffer((count,), element, data.name, data)
        arrays.append(
            np.full(count * dt.storage_bytes(element), PATTERN, "uint8").view(element if element != "bool" else "uint8")
        )
    return rebuild(func, params=tuple(params), body=body, buffer_map=buffer_map), arrays
