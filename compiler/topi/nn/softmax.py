"""Softmax and log-softmax along one axis.

The largest element is subtracted first, so that no power overflows.

References
----------
Goodfellow, Bengio and Courville, "Deep Learning", 2016, section 4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler import te
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import SoftmaxAxis, compute
from compiler.topi.fast_math import fast_exp
from compiler.topi.operands import Extent, Index, axis_of, dims
from compiler.topi.tag import Tag

__all__ = ["fast_softmax", "log_softmax", "softmax"]


def _without(indices: Sequence[Extent], axis: int) -> list[Extent]:
    return [i for d, i in enumerate(indices) if d != axis]


def _inserted(indices: Sequence[Index], axis: int, index: Index) -> list[Index]:
    return [*indices[:axis], index, *indices[axis:]]


def _reduced(x: Tensor, axis: int, reduction: Callable[..., PrimExpr], name: str, tag: Tag) -> Tensor:
    k = te.reduce_axis((0, x.shape[axis]), name="k")

    def element(*i: Var) -> PrimExpr:
        return reduction(x(*_inserted(i, axis, k.var)), axis=k)

    return compute(_without(dims(x), axis), element, name=name, tag=tag)


def _largest(x: Tensor, axis: int) -> Tensor:
    return _reduced(x, axis, te.max, "largest", Tag.SOFTMAX_MAX)


def _totals(powers: Tensor, axis: int, tag: Tag) -> Tensor:
    return _reduced(powers, axis, te.sum, "total", tag)


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """Return ``exp(x)`` divided by its sum along an axis.

    That is multiplied by the sum's inverse, once for all, unless numbers have so few bits that it would lose digits.
    """
    axis = axis_of(axis, x.ndim, "softmax")
    largest = _largest(x, axis)

    def power(*i: Var) -> PrimExpr:
        return te.exp(x(*i) - largest(*_without(i, axis)))

    def element(*i: Var) -> PrimExpr:
        sums = totals(*_without(i, axis))
        return powers(*i) / sums if dt.bits(x.dtype) < 32 else powers(*i) * (1 / sums)

    powers = compute(dims(x), power, name="powers", tag=Tag.SOFTMAX_EXP)
    totals = _totals(powers, axis, Tag.SOFTMAX_SUM)
    return compute(dims(x), element, name="softmax", tag=Tag.SOFTMAX, attrs=SoftmaxAxis(axis))


def fast_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """Return the softmax with an exponential that is a polynomial, fast and of fewer digits."""
    axis = axis_of(axis, x.ndim, "fast_softmax")
    largest = _largest(x, axis)
    less = compute(dims(x), lambda *i: x(*i) - largest(*_without(i, axis)), name="less", tag=Tag.ELEMWISE)
    powers = fast_exp(less)
    totals = _totals(powers, axis, Tag.COMM_REDUCE)
    return compute(dims(x), lambda *i: powers(*i) / totals(*_without(i, axis)), name="fast_softmax", tag=Tag.INJECTIVE)


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """Return the logarithm of the softmax, computed without it: small values keep their digits."""
    axis = axis_of(axis, x.ndim, "log_softmax")
    largest = _largest(x, axis)
    k = te.reduce_axis((0, x.shape[axis]), name="k")

    def total(*i: Var) -> PrimExpr:
        return te.sum(te.exp(x(*_inserted(i, axis, k.var)) - largest(*i)), axis=k)

    def element(*i: Var) -> PrimExpr:
        rest = _without(i, axis)
        return x(*i) - largest(*rest) - te.log(totals(*rest))

    totals = compute(largest.shape, total, name="total", tag=Tag.SOFTMAX_SUM)
    return compute(dims(x), element, name="log_softmax", tag=Tag.SOFTMAX, attrs=SoftmaxAxis(axis))
