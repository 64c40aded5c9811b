"""The operator that converts a tensor from one layout to another."""

from __future__ import annotations

from collections.abc import Sequence

from compiler import te, tir
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import layout
from compiler.topi.compute import compute
from compiler.topi.operands import Extent, Shape, dims
from compiler.topi.tag import Tag

__all__ = ["layout_transform"]


def layout_transform(array: Tensor, src_layout: str, dst_layout: str) -> Tensor:
    """Convert a tensor to another layout of the same dimensions, padding partial blocks with zeros."""
    source, result = layout(src_layout), layout(dst_layout)
    extents = source.extents(dims(array))
    shape = transformed_shape(dims(array), src_layout, dst_layout)

    def element(*i: Var) -> PrimExpr:
        point = result.point(i)
        value = array(*source.indices(point))
        inside = [point[letter] < e for letter, e in extents.items() if isinstance(e, int) and e % result.block(letter)]
        return te.if_then_else(te.all(*inside), value, tir.const(0, array.dtype)) if inside else value

    return compute(shape, element, name="layout_transform", tag=Tag.INJECTIVE)


def transformed_shape(shape: Sequence[Extent], src_layout: str, dst_layout: str) -> Shape:
    """Return the shape that a tensor has after conversion to another layout."""
    source, result = layout(src_layout), layout(dst_layout)
    if sorted(source.letters) != sorted(result.letters):
        raise ArgumentError(f"layout_transform: {src_layout} and {dst_layout} must have the same dimensions")
    extents = source.extents(shape)
    return result.shape({letter: _full_blocks(e, result.block(letter)) for letter, e in extents.items()})


def _full_blocks(extent: Extent, block: int) -> Extent:
    return -(-extent // block) * block if isinstance(extent, int) else extent
