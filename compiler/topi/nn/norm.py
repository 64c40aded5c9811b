"""Normalisation definitions: with stored statistics, or those of the data over some axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from compiler import te, tir
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.operands import Index, Shape, axis_of, dims, product, replaced
from compiler.topi.tag import Tag

__all__ = ["batch_norm", "join_axis", "l2_normalize", "lrn", "normalize", "split_axis"]

ElementAt: TypeAlias = Callable[[PrimExpr, Sequence[Var]], PrimExpr]
"""``(element, indices)`` to an expression."""


def batch_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    moving_mean: Tensor,
    moving_var: Tensor,
    axis: int | None = None,
    epsilon: float | None = None,
    center: bool | None = None,
    scale: bool | None = None,
    training: bool | None = None,
    momentum: float | None = None,
) -> list[Tensor]:
    """Return ``(data - mean) / sqrt(variance + epsilon) * gamma + beta``, with the statistics.

    Mean, variance, ``gamma`` and ``beta`` are vectors along ``axis``, 1 by default; ``epsilon`` is 1e-5 by default. The
    statistics are the stored ones: ``momentum``, how slowly training changes them, has no effect. Raises ArgumentError
    if ``training`` is True, or there is no such axis.

    References
    ----------
    Ioffe and Szegedy, "Batch Normalization", ICML 2015.
    """
    if training:
        raise ArgumentError("batch_norm: training must be False; batch statistics are not supported")
    at = axis_of(1 if axis is None else axis, data.ndim, "batch_norm")
    small = tir.const(1e-5 if epsilon is None else epsilon, data.dtype)

    def element(*i: Var) -> PrimExpr:
        c = i[at]
        value = (data(*i) - moving_mean(c)) / te.sqrt(moving_var(c) + small)
        value = value * gamma(c) if scale is not False else value
        return value + beta(c) if center is not False else value

    return [compute(dims(data), element, name="batch_norm", tag=Tag.BROADCAST), moving_mean, moving_var]


def _sum_of(x: Tensor, axes: Sequence[int], value: ElementAt, name: str) -> Tensor:
    """Return the sum of ``value(element, indices of the other axes)`` over some axes."""
    others = [d for d in range(x.ndim) if d not in axes]
    over = {d: te.reduce_axis((0, x.shape[d]), name=f"k{d}") for d in axes}
    shape = dims(x)

    def element(*i: Var) -> PrimExpr:
        here = dict(zip(others, i, strict=True)) | {d: k.var for d, k in over.items()}
        return te.sum(value(x(*[here[d] for d in range(x.ndim)]), i), axis=list(over.values()))

    names = [f"i{d}" for d in others]
    return compute([shape[d] for d in others], element, name=name, tag=Tag.COMM_REDUCE, varargs_names=names)


def _count(x: Tensor, axes: Sequence[int], dtype: str) -> PrimExpr:
    total = product([dims(x)[d] for d in axes])
    return tir.const(total, dtype) if isinstance(total, int) else total.astype(dtype)


def normalize(x: Tensor, axes: Sequence[int], epsilon: float, affine: ElementAt) -> Tensor:
    """Return ``x`` less its mean over some axes, divided by its standard deviation, and then mapped.

    The deviation is of the centred data: the mean of squares less the square of the mean would lose digits.
    ``affine(value, indices)`` returns the element of the result; ``epsilon`` is added to the variance.

    References
    ----------
    Chan, Golub and LeVeque, "Algorithms for Computing the Sample Variance", The American Statistician 37, 1983: the
    two-pass algorithm.
    """
    count = _count(x, axes, x.dtype)
    total = _sum_of(x, axes, lambda e, i: e, "total")
    mean = compute(total.shape, lambda *i: total(*i) / count, name="mean", tag=Tag.ELEMWISE)
    squares = _sum_of(x, axes, lambda e, i: (e - mean(*i)) * (e - mean(*i)), "squares")
    inverse = compute(
        squares.shape,
        lambda *i: tir.const(1, x.dtype) / te.sqrt(squares(*i) / count + tir.const(epsilon, x.dtype)),
        name="inverse",
        tag=Tag.ELEMWISE,
    )

    def element(*i: Var) -> PrimExpr:
        others = [v for d, v in enumerate(i) if d not in axes]
        return affine((x(*i) - mean(*others)) * inverse(*others), i)

    return compute(dims(x), element, name="normalize", tag=Tag.NORMALIZE)


def l2_normalize(x: Tensor, axes: Sequence[int], epsilon: float) -> Tensor:
    """Return ``x`` divided by the root of its sum of squares over some axes, which counts as ``epsilon`` at least."""
    squares = _sum_of(x, axes, lambda e, i: e * e, "squares")

    def element(*i: Var) -> PrimExpr:
        others = [v for d, v in enumerate(i) if d not in axes]
        return x(*i) / te.sqrt(tir.fmaximum(squares(*others), tir.const(epsilon, x.dtype)))

    return compute(dims(x), element, name="l2_normalize", tag=Tag.NORMALIZE)


def lrn(data: Tensor, size: int, axis: int = 1, alpha: float = 0.0001, beta: float = 0.75, bias: float = 2) -> Tensor:
    """Return ``data / (bias + alpha / size * sum of squares of its neighbours along axis) ** beta``.

    ``size`` neighbours count, the element itself included.

    References
    ----------
    Krizhevsky, Sutskever and Hinton, "ImageNet Classification with Deep Convolutional Neural Networks", NIPS 2012,
    section 3.3.
    """
    before = (size - 1) // 2
    shape = dims(data)
    axis = axis_of(axis, len(shape), "lrn")
    k = te.reduce_axis((0, size), name="k")

    def neighbours(*i: Var) -> PrimExpr:
        at = i[axis] + k.var - before
        there = te.all(at >= 0, at < shape[axis])
        value = data(*replaced(i, axis, at))
        return te.sum(te.if_then_else(there, value * value, tir.const(0, data.dtype)), axis=k)

    squares = compute(shape, neighbours, name="squares", tag=Tag.COMM_REDUCE)

    def element(*i: Var) -> PrimExpr:
        base = tir.const(bias, data.dtype) + squares(*i) * tir.const(alpha / size, data.dtype)
        return data(*i) / te.power(base, tir.const(beta, data.dtype))

    return compute(shape, element, name="lrn", tag=Tag.NORMALIZE)


def split_axis(x: Tensor, axis: int, parts: int) -> Tensor:
    """Return ``x`` with one axis, not negative, as two; its extent is a multiple of ``parts``."""
    shape = dims(x)
    each = shape[axis] // parts

    def element(*i: Var) -> PrimExpr:
        return x(*i[:axis], i[axis] * each + i[axis + 1], *i[axis + 2 :])

    split: Shape = (*shape[:axis], parts, each, *shape[axis + 1 :])
    return compute(split, element, name="split_axis", tag=Tag.INJECTIVE)


def join_axis(x: Tensor, axis: int) -> Tensor:
    """Return ``x`` with an axis, not negative, and the next one as one."""
    shape = dims(x)
    each = shape[axis + 1]

    def element(*i: Var) -> PrimExpr:
        at: Index = i[axis]
        return x(*i[:axis], at // each, at % each, *i[axis + 1 :])

    joined: Shape = (*shape[:axis], shape[axis] * each, *shape[axis + 2 :])
    return compute(joined, element, name="join_axis", tag=Tag.INJECTIVE)
