"""Sums in vectors that no register holds, by registers."""

from __future__ import annotations

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import BinaryOp, Broadcast, Call, Cast, Not, PrimExpr, Ramp, Select, Var, const
from compiler.ir.functor import nodes_of
from compiler.ir.node import rebuild
from compiler.tir.expressions import builtin
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.decl_buffer import decl_buffer

_ELEMENTWISE = (BinaryOp, Not, Select)


def sum_parts(n: BufferStore, sums: frozenset[Var], vector_bits: int) -> list[BufferStore]:
    """Return stores that together are one of sums or from sums, if LLVM needs several; else none.

    LLVM keeps no vector of ten floats from one block to the next where registers hold eight, but ten numbers, which it
    puts together and takes apart again::

        c[0:10] = c[0:10] + a[0:10] * T.Broadcast(b, 10)   →   c[0:8] = c[0:8] + a[0:8] * T.Broadcast(b, 8)
                                                               c[8:10] = c[8:10] + a[8:10] * T.Broadcast(b, 2)

    All values are to be computed before any is stored.
    """
    count = dt.lanes(n.value.dtype)
    lanes = vector_bits // dt.bits(n.value.dtype)
    if not 0 < lanes < count or count & count - 1 == 0 or n.predicate is not None:
        return []
    if not sums.intersection([n.buffer.data, *(load.buffer.data for load in nodes_of(n.value, BufferLoad))]):
        return []
    try:
        return [_stored(n, at, min(lanes, count - at)) for at in range(0, count, lanes)]
    except _IndivisibleError:
        return []


class _IndivisibleError(Exception):
    """Of an expression whose lanes are not computed one by one."""


def _stored(n: BufferStore, at: int, size: int) -> BufferStore:
    buffer, indices = _access(n, at, size)
    return rebuild(n, buffer=buffer, indices=indices, value=_part(n.value, at, size))


def _access(n: BufferLoad | BufferStore, at: int, size: int) -> tuple[Buffer, tuple[PrimExpr, ...]]:
    """Return the buffer and the indices of some lanes, the buffer with numbers for elements."""
    buffer, indices = n.buffer, n.indices
    count = dt.lanes(buffer.dtype)
    if count == 1:
        return buffer, tuple(_part(index, at, size) for index in indices)
    if len(indices) != 1 or dt.lanes(indices[0].dtype) != 1 or buffer.strides:
        raise _IndivisibleError
    numbers = decl_buffer((buffer.shape[0] * count,), dt.element(buffer.dtype), buffer.name, data=buffer.data)
    return numbers, (_row(indices[0] * count + at, const(1, indices[0].dtype), size),)


def _row(base: PrimExpr, stride: PrimExpr, size: int) -> PrimExpr:
    return base if size == 1 else Ramp(base, stride, size)


def _part(e: PrimExpr, at: int, size: int) -> PrimExpr:
    """Return some lanes of a vector; a scalar as it is."""
    count = dt.lanes(e.dtype)
    if count == 1:
        return e
    if isinstance(e, Ramp) and dt.lanes(e.base.dtype) == 1:
        return _row(e.base + e.stride * at, e.stride, size)
    if isinstance(e, Broadcast) and dt.lanes(e.value.dtype) == 1:
        return e.value if size == 1 else Broadcast(e.value, size)
    if isinstance(e, BufferLoad) and e.predicate is None:
        return BufferLoad(*_access(e, at, size))
    if isinstance(e, Cast):
        return Cast(dt.with_lanes(e.dtype, size), _part(e.value, at, size))
    if isinstance(e, Call) and e.op is builtin.IF_THEN_ELSE:
        return Call(dt.with_lanes(e.dtype, size), e.op, tuple(_part(a, at, size) for a in e.args))
    if isinstance(e, _ELEMENTWISE):
        return rebuild(e, **{name: _part(getattr(e, name), at, size) for name in e.children})
    raise _IndivisibleError
