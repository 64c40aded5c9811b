"""Reductions: sums, extrema and norms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.pytorch.converters.elementwise import floating
from compiler.relay.frontend.pytorch.dtypes import cast, dtype_name, promoted, truth
from compiler.relay.frontend.pytorch.registry import Convert, converter, converters
from compiler.relay.frontend.pytorch.tensors import (
    axes_of,
    axis_of,
    constant,
    dtype_of,
    number,
    ops,
    rank_of,
    reshape,
    scalar,
    static_extent,
    static_shape,
)
from compiler.relay.frontend.pytorch.values import DType, Scalar, TorchValue
from compiler.relay.frontend.shared.folding import Operators

Dim: TypeAlias = int | Sequence[int] | None
"""The axes of a reduction, all by default."""


def _reduced(compute: Operators, x: RelayExpr, dim: Dim, keepdim: bool) -> RelayExpr:
    if not rank_of(x):
        return x
    return compute(x, axis=axes_of(dim, rank_of(x)), keepdims=bool(keepdim))


def _as(x: RelayExpr, dtype: DType | None) -> RelayExpr:
    return x if dtype is None else cast(x, dtype_name(dtype))


def _summand(x: RelayExpr, dtype: DType | None) -> RelayExpr:
    """Widen integers for summation."""
    return _as(x, dtype) if dtype is not None or "float" in dtype_of(x) else cast(x, "int64")


def _sum_like(
    compute: Operators, x: RelayExpr, dim: Dim = None, keepdim: bool = False, dtype: DType | None = None
) -> RelayExpr:
    return _reduced(compute, _summand(x, dtype), dim, keepdim)


converters({"sum": partial(_sum_like, ops.sum), "prod": partial(_sum_like, ops.prod)})


@converter("nansum")
def _nansum(x: RelayExpr, dim: Dim = None, keepdim: bool = False, dtype: DType | None = None) -> RelayExpr:
    return _reduced(ops.sum, ops.where(ops.isnan(x), scalar(0, x), _summand(x, dtype)), dim, keepdim)


@converter("mean")
def mean(x: RelayExpr, dim: Dim = None, keepdim: bool = False, dtype: DType | None = None) -> RelayExpr:
    """Compute the mean over axes."""
    return _reduced(ops.mean, _as(x, dtype), dim, keepdim)


def _extreme(compute: Operators, arg: Operators, elementwise: Operators) -> Convert:
    """Return the converter of ``max`` or ``min``: of all elements, along an axis with indices, or of two tensors."""

    def convert(
        x: RelayExpr, dim: int | None = None, keepdim: bool = False, other: Scalar | None = None
    ) -> RelayExpr | tuple[RelayExpr, RelayExpr]:
        if other is not None:
            return elementwise(*promoted(x, other))
        if dim is None:
            return _reduced(compute, x, None, False)
        return _reduced(compute, x, dim, keepdim), cast(_reduced(arg, x, dim, keepdim), "int64")

    return convert


converters(
    {
        "max": _extreme(ops.max, ops.argmax, ops.maximum),
        "min": _extreme(ops.min, ops.argmin, ops.minimum),
        "amax": lambda x, dim=None, keepdim=False: _reduced(ops.max, x, dim, keepdim),
        "aminmax": lambda x, dim=None, keepdim=False: tuple(_reduced(f, x, dim, keepdim) for f in (ops.min, ops.max)),
        "amin": lambda x, dim=None, keepdim=False: _reduced(ops.min, x, dim, keepdim),
    }
)


def _place(compute: Operators, x: RelayExpr, dim: int | None = None, keepdim: bool = False) -> RelayExpr:
    if dim is None:
        flat = compute(reshape(x, [-1]), axis=[0], keepdims=False)
        return cast(reshape(flat, [1] * rank_of(x)) if keepdim else flat, "int64")
    return cast(_reduced(compute, x, dim, keepdim), "int64")


converters({"argmax": partial(_place, ops.argmax), "argmin": partial(_place, ops.argmin)})


def _truth(compute: Operators, x: RelayExpr, dim: Dim = None, keepdim: bool = False) -> RelayExpr:
    return _reduced(compute, truth(x), dim, keepdim)


converters(
    {
        "all": partial(_truth, ops.all),
        "any": partial(_truth, ops.any),
        "count_nonzero": lambda x, dim=None: _reduced(ops.sum, cast(truth(x), "int64"), dim, False),
    }
)


def variance(
    x: RelayExpr, dim: Dim, unbiased: bool, correction: float | None, keepdim: bool
) -> tuple[RelayExpr, RelayExpr]:
    """Compute the variance, whose divisor is the number of elements less the correction, and the mean over axes."""
    axes = axes_of(dim, rank_of(x))
    center = ops.mean(x, axis=axes, keepdims=True)
    distance = ops.subtract(x, center)
    total = ops.sum(ops.multiply(distance, distance), axis=axes, keepdims=bool(keepdim))
    count = math.prod(static_extent(x, a) for a in axes)
    less = (1 if unbiased else 0) if correction is None else number(correction, "the correction")
    center = center if keepdim else ops.squeeze(center, axis=axes)
    return ops.divide(total, scalar(max(count - less, 0), total)), center


def _spread(results: Callable[[RelayExpr, RelayExpr], TorchValue]) -> Convert:
    """Return the converter of what is made of the variance and the mean."""

    def convert(
        x: RelayExpr, dim: Dim = None, unbiased: bool = True, correction: float | None = None, keepdim: bool = False
    ) -> TorchValue:
        return results(*variance(x, dim, unbiased, correction, keepdim))

    return convert


converters(
    {
        "var": _spread(lambda square, center: square),
        "std": _spread(lambda square, center: ops.sqrt(square)),
        "var_mean": _spread(lambda square, center: (square, center)),
        "std_mean": _spread(lambda square, center: (ops.sqrt(square), center)),
    }
)


@converter("logsumexp", "special_logsumexp")
def _logsumexp(x: RelayExpr, dim: Dim, keepdim: bool = False) -> RelayExpr:
    x, axes = floating(x), axes_of(dim, rank_of(x))
    high = ops.max(x, axis=axes, keepdims=True)
    total = ops.log(ops.sum(ops.exp(ops.subtract(x, high)), axis=axes, keepdims=True))
    result = ops.add(total, high)
    return result if keepdim else ops.squeeze(result, axis=axes)


@converter("norm", "linalg_vector_norm", "frobenius_norm")
def vector_norm(x: RelayExpr, p: float | None = None, ord: float | None = None, dim: Dim = None, keepdim: bool = False,
                dtype: DType | None = None) -> RelayExpr:  # fmt: skip
    """Compute the p-norm over axes."""
    power = next((v for v in (p, ord) if v is not None), 2)
    size = ops.abs(_as(x, dtype))
    if power in (math.inf, -math.inf):
        return _reduced(ops.max if power > 0 else ops.min, size, dim, keepdim)
    if power == 0:
        return _reduced(ops.sum, cast(ops.not_equal(size, scalar(0, size)), dtype_of(size)), dim, keepdim)
    if power == 1:
        return _reduced(ops.sum, size, dim, keepdim)
    if power == 2:
        return ops.sqrt(_reduced(ops.sum, ops.multiply(size, size), dim, keepdim))
    total = _reduced(ops.sum, ops.power(size, scalar(power, size)), dim, keepdim)
    return ops.power(total, scalar(1 / power, total))


converters({"dist": lambda x, other, p=2: vector_norm(ops.subtract(x, other), p)})


@converter("linalg_norm")
def _linalg_norm(
    x: RelayExpr, ord: float | None = None, dim: Dim = None, keepdim: bool = False, dtype: DType | None = None
) -> RelayExpr:
    if ord is not None and rank_of(x) != 1 and not (isinstance(dim, int) or (dim is not None and len(dim) == 1)):
        raise ValueError("matrix norms other than the Frobenius norm are not supported")
    return vector_norm(x, ord, None, dim, keepdim, dtype)


@converter("pairwise_distance")
def _pairwise_distance(
    x1: RelayExpr, x2: RelayExpr, p: float = 2, eps: float = 1e-6, keepdim: bool = False
) -> RelayExpr:
    return vector_norm(ops.add(ops.subtract(x1, x2), scalar(eps, x1)), p, None, [-1], keepdim)


@converter("cosine_similarity")
def _cosine_similarity(x1: RelayExpr, x2: RelayExpr, dim: int = 1, eps: float = 1e-8) -> RelayExpr:
    sizes = [ops.maximum(vector_norm(x, 2, None, [dim], True), scalar(eps, x)) for x in (x1, x2)]
    product = ops.multiply(ops.divide(x1, sizes[0]), ops.divide(x2, sizes[1]))
    return ops.sum(product, axis=[axis_of(dim, rank_of(product))])


def _cumulative(compute: Operators, x: RelayExpr, dim: int, dtype: DType | None = None) -> RelayExpr:
    x = _summand(x, dtype)
    return compute(x, axis=axis_of(dim, rank_of(x))) if rank_of(x) else x


converters({"cumsum": partial(_cumulative, ops.cumsum), "cumprod": partial(_cumulative, ops.cumprod)})


@converter("trace")
def _trace(x: RelayExpr) -> RelayExpr:
    rows, columns = static_shape(x)
    places = constant([i * columns + i for i in range(min(rows, columns))], "int64")
    return ops.sum(_summand(ops.take(reshape(x, [-1]), places, axis=0), None))
