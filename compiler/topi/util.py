"""What the definitions share: shapes as plain ints, numbers as expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler import tir
from compiler.ir.error import ArgumentError, show
from compiler.ir.primexpr import IntImm, PrimExpr, convert
from compiler.ir.structural import structural_equal
from compiler.te.tensor import Tensor


def dims(tensor: Any) -> tuple[Any, ...]:
    """Return a tensor's shape with plain ints where extents are known."""
    return tuple(d.value if isinstance(d, IntImm) else d for d in tensor.shape)


def same_extent(a: Any, b: Any) -> bool:
    """Return whether two extents are certainly the same."""
    if isinstance(a, int) or isinstance(b, int):
        return isinstance(a, int) and isinstance(b, int) and a == b
    return a is b or bool(structural_equal(a, b))


def product(extents: Sequence[Any]) -> Any:
    """Return the product of extents, 1 of none."""
    count: Any = 1
    for e in extents:
        count = count * e
    return count


def number(value: Any, dtype: str) -> PrimExpr:
    """Return a number as an expression of a data type."""
    return convert(value).astype(dtype) if isinstance(value, PrimExpr) else tir.const(value, dtype)


def axis_of(axis: Any, rank: int, function: str) -> int:
    """Return an axis counted from the front.

    Raises
    ------
    ArgumentError
        If there is no such axis.
    """
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise ArgumentError(f"{function}: axis must be an int from {-rank} to {rank - 1}, got {show(axis)}")
    return axis % rank


def axes_of(axis: Any, rank: int, function: str) -> tuple[int, ...]:
    """Return axes counted from the front and in order; None means all of them.

    Raises
    ------
    ArgumentError
        If there is no such axis, or one is given twice.
    """
    if axis is None:
        return tuple(range(rank))
    given = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    found = tuple(sorted(axis_of(a, rank, function) for a in given))
    if len(set(found)) < len(found):
        raise ArgumentError(f"{function}: axis must name each dimension once, got {show(axis)}")
    return found


def is_tensor(value: Any) -> bool:
    """Return whether a value is a tensor, not a number or an expression."""
    return isinstance(value, Tensor)


def flat_index(indices: Sequence[Any], extents: Sequence[Any]) -> Any:
    """Return where an element stands when all axes are one."""
    at: Any = 0
    for i, extent in zip(indices, extents, strict=True):
        at = at * extent + i
    return at


def unflatten(at: Any, extents: Sequence[Any]) -> list[Any]:
    """Return the index in each axis of the element that stands at ``at`` when all axes are one."""
    found = []
    for extent in reversed(extents[1:]):
        found.append(at % extent)
        at = at // extent
    return [*([at] if extents else []), *reversed(found)]
