"""Scans along an axis: cumulative sums and products, and ``scanop`` with any binary operator."""

from __future__ import annotations

import operator
from collections.abc import Callable

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr
from compiler.te.definition.tensor import Tensor
from compiler.tir.ir_builder import BufferVar, IRBuilder
from compiler.topi.arrays.transform import reshape
from compiler.topi.compute import by_loops, compute, computes_by_threads
from compiler.topi.device import has_rows, scanned
from compiler.topi.operands import axis_of, dims, product
from compiler.topi.tag import Tag

__all__ = ["cumprod", "cumsum", "scanop"]

_COLUMNS = 64
"""Elements side by side that are combined with those before them, one by one along the axis, in vectors."""


def scanop(
    data: Tensor,
    binop: Callable[[PrimExpr, PrimExpr], PrimExpr],
    identity_value: PrimExpr | float,
    op_name: str,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool | None = None,
) -> Tensor:
    """Return the combination of all elements up to each one along an axis, or along all axes as one.

    ``binop`` takes what was combined so far and an element; devices combine in another order, so that it must be
    associative. If ``exclusive``, the element itself is left out, and ``identity_value`` is first.
    """
    x = reshape(data, (product(dims(data)),)) if axis is None and len(data.shape) != 1 else data
    shape, of_type = dims(x), dtype or data.dtype
    at = 0 if axis is None else axis_of(axis, len(shape), op_name)
    if any(isinstance(extent, int) and extent == 0 for extent in shape):
        return compute(shape, lambda *i: x(*i).astype(of_type), name=op_name, tag=Tag.INJECTIVE)
    if computes_by_threads() and has_rows(x):
        return scanned(x, at, of_type, binop, tir.const(identity_value, of_type) if exclusive else None, op_name)
    extent, inner = shape[at], product(shape[at + 1 :])
    parts = (inner + _COLUMNS - 1) // _COLUMNS

    def loops(ib: IRBuilder, source: BufferVar, target: BufferVar) -> None:
        with ib.for_range(0, product(shape[:at]) * parts, name="row", kind="parallel") as row:
            column = row % parts * _COLUMNS
            first, count = row // parts * extent * inner + column, te.min(inner - column, _COLUMNS)
            with ib.for_range(0, te.min(extent, 1) * count, name="i") as i:
                begin = identity_value if exclusive else source[first + i].astype(of_type)
                target[first + i] = tir.const(begin, of_type) if isinstance(begin, (int, float)) else begin
            with ib.for_range(0, extent - 1, name="k") as k, ib.for_range(0, count, name="i") as i:
                here = first + (k + 1) * inner + i
                element = source[here - inner if exclusive else here].astype(of_type)
                target[here] = binop(target[here - inner], element)

    return by_loops([x], [(shape, of_type)], loops, op_name, op_name)[0]


def cumsum(data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool = False) -> Tensor:
    """Return the sum of all elements up to each one along an axis, or along all axes as one.

    ``dtype`` is that of ``data`` by default; where ``exclusive``, an element is left out of its own sum.
    """
    return scanop(data, operator.add, 0, "cumsum", axis, dtype, exclusive)


def cumprod(data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool = False) -> Tensor:
    """Return the product of all elements up to each one along an axis, or along all axes as one.

    ``dtype`` is that of ``data`` by default; where ``exclusive``, an element is left out of its own product.
    """
    return scanop(data, operator.mul, 1, "cumprod", axis, dtype, exclusive)
