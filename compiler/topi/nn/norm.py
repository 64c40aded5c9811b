"""Normalisations: by stored statistics, and by those of the data itself over some axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from compiler import te, tir
from compiler.topi.tag import Tag
from compiler.topi.util import dims


def batch_norm(x: Any, statistics: Sequence[Any], axis: int, epsilon: float, center: bool, scale: bool) -> Any:
    """Return ``(x - mean) / sqrt(variance + epsilon) * gamma + beta`` with vectors along ``axis``."""
    gamma, beta, mean, variance = statistics

    def element(*i: Any) -> Any:
        c = i[axis]
        value = (x(*i) - mean(c)) / te.sqrt(variance(c) + tir.const(epsilon, x.dtype))
        value = value * gamma(c) if scale else value
        return value + beta(c) if center else value

    return te.compute(dims(x), element, name="batch_norm", tag=Tag.BROADCAST)


def _reduced(x: Any, axes: Sequence[int], value: Callable[[Any, Sequence[Any]], Any], name: str) -> Any:
    """Return the sum of ``value(element, indices of the kept axes)`` over some axes."""
    kept = [d for d in range(x.ndim) if d not in axes]
    over = {d: te.reduce_axis((0, x.shape[d]), name=f"k{d}") for d in axes}
    shape = dims(x)

    def element(*i: Any) -> Any:
        here = dict(zip(kept, i, strict=True)) | {d: k.var for d, k in over.items()}
        return te.sum(value(x(*[here[d] for d in range(x.ndim)]), i), axis=list(over.values()))

    names = [f"i{d}" for d in kept]
    return te.compute(tuple(shape[d] for d in kept), element, name=name, tag=Tag.COMM_REDUCE, varargs_names=names)


def _count(x: Any, axes: Sequence[int], dtype: str) -> Any:
    total = prod((dims(x)[d] for d in axes), start=1)
    return tir.const(total, dtype) if isinstance(total, int) else total.astype(dtype)


def normalize(x: Any, axes: Sequence[int], epsilon: float, affine: Callable[[Any, Sequence[Any]], Any]) -> Any:
    """Return ``x`` less its mean over ``axes``, divided by its standard deviation, and then ``affine(value, indices)``.

    The deviation is of the centred data: the mean of squares less the square of the mean would lose digits.
    """
    count = _count(x, axes, x.dtype)
    total = _reduced(x, axes, lambda e, i: e, "total")
    mean = te.compute(total.shape, lambda *i: total(*i) / count, name="mean", tag=Tag.ELEMWISE)
    squares = _reduced(x, axes, lambda e, i: (e - mean(*i)) * (e - mean(*i)), "squares")
    inverse = te.compute(
        squares.shape,
        lambda *i: tir.const(1, x.dtype) / te.sqrt(squares(*i) / count + tir.const(epsilon, x.dtype)),
        name="inverse",
        tag=Tag.ELEMWISE,
    )

    def element(*i: Any) -> Any:
        kept = [v for d, v in enumerate(i) if d not in axes]
        return affine((x(*i) - mean(*kept)) * inverse(*kept), i)

    return te.compute(dims(x), element, name="normalize", tag=Tag.NORMALIZE)


def l2_normalize(x: Any, axes: Sequence[int], epsilon: float) -> Any:
    """Return ``x`` divided by the root of its sum of squares over ``axes``, which counts as ``epsilon`` at least."""
    squares = _reduced(x, axes, lambda e, i: e * e, "squares")

    def element(*i: Any) -> Any:
        kept = [v for d, v in enumerate(i) if d not in axes]
        return x(*i) / te.sqrt(te.max(squares(*kept), tir.const(epsilon, x.dtype)))

    return te.compute(dims(x), element, name="l2_normalize", tag=Tag.NORMALIZE)


def lrn(x: Any, size: int, axis: int, bias: float, alpha: float, beta: float) -> Any:
    """Return ``x / (bias + alpha / size * sum of squares of its neighbours along axis) ** beta``."""
    before = (size - 1) // 2
    shape = dims(x)
    k = te.reduce_axis((0, size), name="k")

    def neighbours(*i: Any) -> Any:
        at = i[axis] + k.var - before
        there = te.all(at >= 0, at < shape[axis])
        value = x(*i[:axis], at, *i[axis + 1 :])
        return te.sum(te.if_then_else(there, value * value, tir.const(0, x.dtype)), axis=k)

    squares = te.compute(shape, neighbours, name="squares", tag=Tag.COMM_REDUCE)

    def element(*i: Any) -> Any:
        base = tir.const(bias, x.dtype) + squares(*i) * tir.const(alpha / size, x.dtype)
        return x(*i) / te.power(base, tir.const(beta, x.dtype))

    return te.compute(shape, element, name="lrn", tag=Tag.NORMALIZE)


def split_axis(x: Any, axis: int, parts: int) -> Any:
    """Return ``x`` with one axis as two, the outer one of extent ``parts``."""
    shape = dims(x)
    each = shape[axis] // parts

    def element(*i: Any) -> Any:
        return x(*i[:axis], i[axis] * each + i[axis + 1], *i[axis + 2 :])

    split = (*shape[:axis], parts, each, *shape[axis + 1 :])
    return te.compute(split, element, name="split_axis", tag=Tag.INJECTIVE)


def join_axis(x: Any, axis: int) -> Any:
    """Return ``x`` with an axis and the next one as one."""
    shape = dims(x)
    each = shape[axis + 1]

    def element(*i: Any) -> Any:
        return x(*i[:axis], i[axis] // each, i[axis] % each, *i[axis + 1 :])

    joined = (*shape[:axis], shape[axis] * each, *shape[axis + 2 :])
    return te.compute(joined, element, name="join_axis", tag=Tag.INJECTIVE)
