"""The TVMScript function for constant memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from compiler.ir.error import ArgumentError, counted
from compiler.ir.expr.primexpr import PrimExpr, Var, as_exprs
from compiler.ir.expr.scalars import int_value
from compiler.ir.types import PointerType, PrimType
from compiler.runtime.arrays.ndarray import NDArray, array, numpy_dtype
from compiler.tir.script.definitions import Scope, Wrap, unwrapped
from compiler.tir.statements.stmt import AllocateConst


def allocate_const(
    data: Sequence[bool | int | float] | int,
    dtype: str,
    extents: object,
    annotations: Mapping[str, object] | None = None,
) -> Scope:
    """Allocate memory with known contents for the rest of the block: ``B = T.allocate_const([1, 2], "int32", [2])``.

    The data are the elements in order, or their place in the module's attribute ``constants``. It gives the pointer,
    which ``T.Buffer(…, data=B)`` makes a buffer of.
    """
    shape = as_exprs(extents)

    def enter(name: str) -> tuple[object, Wrap]:
        pointer = Var(name or "buffer", "handle", PointerType(PrimType(dtype), "global"))
        contents = data if isinstance(data, int) else _constant_array(data, dtype, shape)
        notes = unwrapped(annotations or {})
        return pointer, lambda body: AllocateConst(pointer, dtype, shape, contents, body, notes)  # type: ignore[arg-type]

    return Scope(enter, shape)


def _constant_array(data: Sequence[object], dtype: str, shape: tuple[PrimExpr, ...]) -> NDArray:
    """Return the contents of memory as an array."""
    numbers = np.array([getattr(value, "value", value) for value in data], numpy_dtype(dtype))
    size = math.prod(map(int_value, shape))
    if numbers.size != size:
        raise ArgumentError(f"T.allocate_const: expected {counted(size, 'element')}, got {numbers.size}")
    return array(numbers.reshape([*map(int_value, shape)]))
