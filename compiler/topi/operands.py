"""Shared helpers of definitions: constant shapes, scalar operands, axes and linear indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from compiler import tir
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import IntImm, PrimExpr, convert
from compiler.ir.structural import structural_equal
from compiler.te.definition.tensor import Tensor

Extent: TypeAlias = int | PrimExpr
"""An extent: a constant as a plain int, a symbolic one as an expression."""
Index: TypeAlias = int | PrimExpr
"""The index of an element along one axis."""
Shape: TypeAlias = tuple[Extent, ...]
Number: TypeAlias = int | float
"""A plain number; truth values are ints."""
Scalar: TypeAlias = Number | PrimExpr
"""A number, known or as an expression."""
Operand: TypeAlias = Tensor | Scalar
"""What arithmetic between tensors takes: a tensor, or one value for all elements."""
Axes: TypeAlias = int | Sequence[int] | None
"""One axis, several, or all of them (None); negative ones count from the end."""


def dims(tensor: Tensor) -> Shape:
    """Return a tensor's shape with plain ints where extents are constants."""
    return tuple(d.value if isinstance(d, IntImm) else d for d in tensor.shape)


def is_one(extent: Extent) -> bool:
    """Return whether an extent is certainly 1."""
    return isinstance(extent, int) and extent == 1


def constant(extent: Extent, function: str) -> int:
    """Return an extent that must be a constant."""
    if not isinstance(extent, int):
        raise ArgumentError(f"{function}: expected a constant extent, got {show(extent)}")
    return extent


def same_extent(a: Extent, b: Extent) -> bool:
    """Return whether two extents are certainly the same."""
    if isinstance(a, int) or isinstance(b, int):
        return isinstance(a, int) and isinstance(b, int) and a == b
    return a is b or bool(structural_equal(a, b))


def product(extents: Sequence[Extent]) -> Extent:
    """Return the product of extents, 1 of none."""
    count: Extent = 1
    for e in extents:
        count = count * e
    return count


def number(value: Scalar, dtype: str) -> PrimExpr:
    """Return a number as an expression of a data type."""
    return convert(value).astype(dtype) if isinstance(value, PrimExpr) else tir.const(value, dtype)


def axis_of(axis: int, rank: int, function: str) -> int:
    """Return an axis counted from the front."""
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise ArgumentError(f"{function}: axis must be an int from {-rank} to {rank - 1}, got {show(axis)}")
    return axis % rank


def axes_of(axis: Axes, rank: int, function: str) -> tuple[int, ...]:
    """Return axes counted from the front and in order; None means all of them."""
    if axis is None:
        return tuple(range(rank))
    given: Sequence[int] = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)  # type: ignore[assignment]
    axes = tuple(sorted(axis_of(a, rank, function) for a in given))
    if len(set(axes)) < len(axes):
        raise ArgumentError(f"{function}: axis must name each dimension once, got {show(axis)}")
    return axes


def is_tensor(value: object) -> bool:
    """Return whether a value is a tensor, not a number or an expression."""
    return isinstance(value, Tensor)


def replaced(indices: Sequence[Index], axis: int, index: Index) -> tuple[Index, ...]:
    """Return indices with the one along an axis replaced."""
    return (*indices[:axis], index, *indices[axis + 1 :])


def flat_index(indices: Sequence[Index], extents: Sequence[Extent]) -> Index:
    """Return the place of an element in row-major order."""
    at: Index = 0
    for i, extent in zip(indices, extents, strict=True):
        at = at * extent + i
    return at


def unflatten(at: Index, extents: Sequence[Extent]) -> list[Index]:
    """Return the index along each axis of the element at a place in row-major order."""
    if any(isinstance(extent, int) and extent == 0 for extent in extents):
        return [0] * len(extents)  # of a tensor without elements, of which none is read
    inner: list[Index] = []
    for extent in reversed(extents[1:]):
        inner.append(at % extent)
        at = at // extent
    return [*([at] if extents else []), *reversed(inner)]
