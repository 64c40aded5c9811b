"""Correlation of the windows of two images.

References
----------
P. Fischer et al., "FlowNet: Learning Optical Flow with Convolutional Networks", ICCV 2015, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.nn.pad import pad
from compiler.topi.operands import Extent, dims
from compiler.topi.tag import Tag


@dataclass(frozen=True, slots=True)
class CorrelationSpec:
    """The attributes of a correlation, as of ``topi.nn.correlation_nchw``."""

    kernel_size: int
    max_displacement: int
    stride1: int
    stride2: int
    padding: int
    is_multiply: bool

    @property
    def displacements(self) -> int:
        """The displacements along one dimension."""
        return 2 * (self.max_displacement // self.stride2) + 1

    def extent(self, extent: Extent) -> Extent:
        """Return the extent of the result along a spatial dimension."""
        border = self.max_displacement + (self.kernel_size - 1) // 2
        return (extent + 2 * (self.padding - border) + self.stride1 - 1) // self.stride1


def correlation(data1: Tensor, data2: Tensor, spec: CorrelationSpec) -> Tensor:
    """Return how windows of one image NCHW go with windows around the same places of another.

    The result, ``(N, displacements, H, W)``, is the mean over the window and the channels.
    """
    batch, channels, *spatial = dims(data1)
    around = [0, 0, spec.padding, spec.padding]
    first, second = (pad(d, around, around, name=f"padded{i}") for i, d in enumerate((data1, data2)))
    c = te.reduce_axis((0, channels), name="rc")
    rows, columns = (te.reduce_axis((0, spec.kernel_size), name=n) for n in ("ry", "rx"))
    side, reach = spec.displacements, spec.max_displacement // spec.stride2

    def element(n: Var, displacement: Var, y: Var, x: Var) -> PrimExpr:
        row = y * spec.stride1 + spec.max_displacement + rows.var
        column = x * spec.stride1 + spec.max_displacement + columns.var
        down = (displacement // side - reach) * spec.stride2
        right = (displacement % side - reach) * spec.stride2
        here, there = first(n, c.var, row, column), second(n, c.var, row + down, column + right)
        return te.sum(here * there if spec.is_multiply else te.abs(here - there), axis=[c, rows, columns])

    shape = (batch, side * side, *[spec.extent(e) for e in spatial])
    total = compute(shape, element, name="correlation", tag=Tag.COMM_REDUCE)
    count = channels * spec.kernel_size**2
    by = tir.const(count, data1.dtype) if isinstance(count, int) else count.astype(data1.dtype)
    return compute(shape, lambda *i: total(*i) / by, name="correlation_mean", tag=Tag.ELEMWISE)
