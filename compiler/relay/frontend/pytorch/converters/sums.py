"""Cumulative and weighted sums, and membership tests."""

from __future__ import annotations

import math

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.pytorch.registry import converter
from compiler.relay.frontend.pytorch.tensors import (
    axis_of,
    constant,
    dtype_of,
    ops,
    rank_of,
    reshape,
    scalar,
    static_shape,
)
from compiler.relay.frontend.pytorch.values import Scalar
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.tensors import bounded, slice_axis

_BAGS = ("sum", "mean", "max")


@converter("logcumsumexp")
def _logcumsumexp(x: RelayExpr, dim: int) -> RelayExpr:
    """Compute the log of the cumulative sum of ``e^x``, after subtracting the maximum."""
    axis = axis_of(dim, rank_of(x))
    most = ops.max(x, axis=[axis], keepdims=True)
    return ops.add(ops.log(ops.cumsum(ops.exp(ops.subtract(x, most)), axis=axis)), most)


@converter("trapezoid", "trapz")
def _trapezoid(x: RelayExpr, dx: float = 1.0, dim: int = -1) -> RelayExpr:
    axis = axis_of(dim, rank_of(x))
    extent = static_shape(x)[axis]
    pairs = ops.add(slice_axis(x, axis, 1, extent), slice_axis(x, axis, 0, extent - 1))
    return ops.multiply(ops.sum(pairs, axis=[axis]), float(dx) / 2)


@converter("embedding_bag", "_embedding_bag", "_embedding_bag_forward_only")
def _embedding_bag(weight: RelayExpr, indices: RelayExpr, offsets: RelayExpr, scale_grad_by_freq: bool = False,
                   mode: int = 0, sparse: bool = False, per_sample_weights: RelayExpr | None = None,
                   include_last_offset: bool = False,
                   padding_idx: int | None = None) -> tuple[RelayExpr, None, None, None]:  # fmt: skip
    """Reduce bags of embeddings of equal length; further outputs are not converted."""
    starts = getattr(getattr(offsets, "value", None), "reshape", None)
    begins = None if starts is None else [int(b) for b in starts(-1)]
    if begins is None or (padding_idx or -1) >= 0 or include_last_offset:
        raise ConversionError("bags are supported that begin at known places, without padding")
    count = static_shape(indices)[0]
    lengths = {b - a for a, b in zip(begins, [*begins[1:], count], strict=True)}
    if len(lengths) != 1 or 0 in lengths:
        raise ConversionError(f"bags of different lengths are not supported, got {sorted(lengths)}")
    rows = reshape(ops.take(weight, indices, axis=0), [len(begins), *lengths, static_shape(weight)[1]])
    if per_sample_weights is not None:
        rows = ops.multiply(rows, reshape(per_sample_weights, [len(begins), *lengths, 1]))
    return ops[_BAGS[mode]](rows, axis=[1]), None, None, None


@converter("isin")
def _isin(
    elements: RelayExpr, test_elements: RelayExpr, assume_unique: bool = False, invert: bool = False
) -> RelayExpr:
    tests = reshape(test_elements, [-1]) if isinstance(test_elements, RelayExpr) else constant([test_elements], "int64")
    is_among = ops.any(ops.equal(ops.expand_dims(elements, -1), ops.cast(tests, dtype_of(elements))), axis=[-1])
    return ops.logical_not(is_among) if invert else is_among


@converter("quantile")
def _quantile(
    x: RelayExpr, q: Scalar, dim: int | None = None, keepdim: bool = False, interpolation: str = "linear"
) -> RelayExpr:
    """Compute quantiles, interpolated between the two nearest elements."""
    if isinstance(q, RelayExpr):
        raise ConversionError("the share must be a number")
    if interpolation != "linear":
        raise ConversionError(f"interpolation {interpolation!r} is not supported, 'linear' is")
    flat, axis = (reshape(x, [-1]), 0) if dim is None else (x, axis_of(dim, rank_of(x)))
    place = q * (static_shape(flat)[axis] - 1)
    in_order = ops.sort(flat, axis=axis)
    below, above = (ops.take(in_order, constant(int(p), "int64"), axis=axis) for p in (place, math.ceil(place)))
    result = ops.add(below, ops.multiply(ops.subtract(above, below), scalar(place - int(place), x)))
    if not keepdim:
        return result
    return reshape(result, [1] * rank_of(x)) if dim is None else ops.expand_dims(result, axis)


@converter("fill_diagonal")
def _fill_diagonal(x: RelayExpr, fill_value: Scalar, wrap: bool = False) -> RelayExpr:
    dims = static_shape(x)
    bounded(*dims)
    if wrap or (len(dims) > 2 and len(set(dims)) > 1):
        raise ConversionError("diagonals are filled of matrices, and of tensors of equal extents, without wrapping")
    mask = np.zeros(dims, bool)
    mask[tuple(np.arange(min(dims)) for _ in dims)] = True
    return ops.where(constant(mask), scalar(fill_value, x), x)


@converter("put")
def _put(x: RelayExpr, index: RelayExpr, source: RelayExpr, accumulate: bool = False) -> RelayExpr:
    dims = static_shape(x)
    flat = reshape(x, [math.prod(dims)])
    places = ops.where(ops.less(index, scalar(0, index)), ops.add(index, scalar(math.prod(dims), index)), index)
    how = "add" if accumulate else "update"
    filled = ops.scatter_elements(flat, reshape(places, [-1]), reshape(source, [-1]), axis=0, reduction=how)
    return reshape(filled, dims)


@converter("sinc")
def _sinc(x: RelayExpr) -> RelayExpr:
    """Compute ``sin(pi x) / (pi x)``, which is 1 at 0."""
    is_zero = ops.equal(x, scalar(0, x))
    turned = ops.multiply(ops.where(is_zero, ops.ones_like(x), x), math.pi)
    return ops.where(is_zero, ops.ones_like(x), ops.divide(ops.sin(turned), turned))
