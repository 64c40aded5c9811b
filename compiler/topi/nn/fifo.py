"""FIFO buffers: fixed-length queues along an axis, for streaming models."""

from __future__ import annotations

from compiler import te
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.operands import axis_of, dims, replaced
from compiler.topi.tag import Tag

__all__ = ["fifo_buffer"]


def fifo_buffer(data: Tensor, buffer: Tensor, axis: int) -> Tensor:
    """Return a buffer with new elements at its end, and as many of the oldest dropped from its beginning.

    The buffer has the shape of ``data`` but for ``axis``, along which it is at least as long.
    """
    along = axis_of(axis, len(buffer.shape), "fifo_buffer")
    new, length = dims(data)[along], dims(buffer)[along]
    left = length - new

    def element(*at: Var) -> PrimExpr:
        here = at[along]
        older = buffer(*replaced(at, along, here + new))
        return te.if_then_else(here < left, older, data(*replaced(at, along, here - left)))

    return compute(buffer.shape, element, name="fifo_buffer", tag=Tag.INJECTIVE)
