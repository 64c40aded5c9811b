"""``T.buffer_store(A, 1.0, [i, j])``, the functional form of ``A[i, j] = 1.0``."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.expr.primexpr import ExprLike, PrimExpr, convert
from compiler.tir.script.definitions import BufferSlice
from compiler.tir.statements.buffer import Buffer, BufferStore


def buffer_store(
    buffer: Buffer, value: ExprLike, indices: Sequence[ExprLike | slice], predicate: PrimExpr | None = None
) -> BufferStore:
    """Store to an element of a buffer, or to several by a vector.

    The value is converted to the type of the elements; lanes are stored where the predicate is true. Raises DTypeError
    if the predicate is no vector of as many truth values.
    """
    element = BufferSlice(buffer, tuple([i if isinstance(i, slice) else convert(i) for i in indices])).asobject()
    return BufferStore(buffer, convert(value).astype(element.dtype), element.indices, predicate)
