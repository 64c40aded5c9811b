"""``dynamic_strided_slice``: slices whose bounds and strides are tensors."""

from __future__ import annotations

from collections.abc import Sequence

from compiler import te, tir
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.operands import Extent, dims, number
from compiler.topi.tag import Tag

__all__ = ["dynamic_strided_slice"]


def dynamic_strided_slice(
    a: Tensor, begin: Tensor, end: Tensor, strides: Tensor, output_shape: Sequence[Extent]
) -> Tensor:
    """Return every ``strides[d]``-th element from ``begin[d]`` on, along each axis, where these are values of tensors.

    These are vectors of integers with an element for each axis; negative beginnings count from the end.
    ``output_shape`` says where to stop, and ``end`` is not read. No element outside ``a`` is read: its last or first
    one is.

    Raises
    ------
    ArgumentError
        If there is not one extent for each axis.
    """
    extents = dims(a)
    if len(output_shape) != len(extents):
        raise ArgumentError(
            f"dynamic_strided_slice: {len(extents)} axes, but {len(output_shape)} extents of the result"
        )

    def place(d: int, index: Var) -> PrimExpr:
        extent, start, step = number(extents[d], "int64"), begin(d).astype("int64"), strides(d).astype("int64")
        start = tir.Select(start < 0, start + extent, start)
        start = tir.Select(step < 0, te.min(start, extent - 1), te.min(start, extent))
        at = te.max(start, 0) + index.astype("int64") * step
        return te.max(te.min(at, extent - 1), 0)

    def element(*i: Var) -> PrimExpr:
        return a(*[place(d, v) for d, v in enumerate(i)])

    return compute(output_shape, element, name="dynamic_strided_slice", tag=Tag.INJECTIVE)
