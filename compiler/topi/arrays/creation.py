"""Operators that create tensors: ranges, diagonals, shapes, and sums of several tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler import tir
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import FloatImm, IntImm, PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.nn.matmul import matmul as product_of
from compiler.topi.operands import Axes, Extent, axes_of, dims, number, product
from compiler.topi.tag import Tag

__all__ = ["arange", "elemwise_sum", "expand_like", "eye", "matmul", "ndarray_size", "shape"]

Number = int | float | PrimExpr


def _constant(value: Number) -> float:
    if isinstance(value, (IntImm, FloatImm)):
        return value.value
    if isinstance(value, PrimExpr):
        raise ArgumentError(f"arange: expected a constant, got {show(value)}")
    return value


def arange(start: Number, stop: Number | None = None, step: Number = 1, dtype: str = "float32") -> Tensor:
    """Return evenly spaced numbers, as ``numpy.arange`` does.

    Raises ArgumentError if a bound or the step is not a constant.
    """
    begin, end = (0, start) if stop is None else (start, stop)
    first, last, by = (_constant(n) for n in (begin, end, step))
    count = max(math.ceil((last - first) / by), 0)

    def element(i: Var) -> PrimExpr:
        return number(first, dtype) + number(by, dtype) * i.astype(dtype)

    return compute((count,), element, name="arange", tag=Tag.INJECTIVE)


def eye(n: int, m: int | None = None, k: int = 0, dtype: str = "float32") -> Tensor:
    """Return an ``(n, m)`` matrix, square by default, with ones on diagonal ``k``, above the main one if positive."""

    def element(i: Var, j: Var) -> PrimExpr:
        return tir.if_then_else(i.equal(j - k), tir.const(1, dtype), tir.const(0, dtype))

    return compute((n, n if m is None else m), element, name="eye", tag=Tag.INJECTIVE)


def shape(array: Tensor, dtype: str = "int32") -> Tensor:
    """Return the extents of a tensor as a vector."""
    extents = [number(e, dtype) if isinstance(e, int) else e.astype(dtype) for e in dims(array)]

    def element(i: Var) -> PrimExpr:
        value: PrimExpr = tir.const(0, dtype)
        for d, extent in enumerate(extents):
            value = tir.if_then_else(i.equal(d), extent, value)
        return value

    return compute((len(extents),), element, name="shape", tag=Tag.INJECTIVE)


def ndarray_size(array: Tensor, dtype: str = "int32") -> Tensor:
    """Return how many elements a tensor has."""
    count: Extent = product(dims(array))
    value = number(count, dtype) if isinstance(count, int) else count.astype(dtype)
    return compute((), lambda: value, name="ndarray_size", tag=Tag.INJECTIVE)


def elemwise_sum(xs: Sequence[Tensor]) -> Tensor:
    """Return the sum of tensors of one shape and type, element by element.

    Raises ArgumentError if there are none.
    """
    if not xs:
        raise ArgumentError("elemwise_sum: expected at least one tensor, got none")

    def element(*i: Var) -> PrimExpr:
        total: PrimExpr = xs[0](*i)
        for x in xs[1:]:
            total = total + x(*i)
        return total

    return compute(dims(xs[0]), element, name="elemwise_sum", tag=Tag.ELEMWISE)


def expand_like(a: Tensor, shape_like: Tensor, axis: Axes) -> Tensor:
    """Return a tensor repeated along new axes, to the shape of another one.

    Raises ArgumentError if the dimensions do not fit together.
    """
    axes = axes_of(axis, shape_like.ndim, "expand_like")
    if a.ndim + len(axes) != shape_like.ndim and (a.ndim, shape_like.ndim) != (1, len(axes)):
        raise ArgumentError(
            f"expand_like: {a.ndim} dimensions and {len(axes)} new ones do not make the {shape_like.ndim} of shape_like"
        )
    own = [d for d in range(shape_like.ndim) if d not in axes]

    def element(*i: Var) -> PrimExpr:
        return a(*[i[d] for d in own]) if own else a(*[0] * a.ndim)

    return compute(dims(shape_like), element, name="expand_like", tag=Tag.BROADCAST)


def matmul(a: Tensor, b: Tensor, transp_a: bool = False, transp_b: bool = False) -> Tensor:
    """Return the product of two matrices."""
    return product_of(a, b, transpose_a=transp_a, transpose_b=transp_b)
