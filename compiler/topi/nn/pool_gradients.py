"""Gradients of pooling, gathered from the windows that cover each element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TypeAlias

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.nn.pool import PoolSpec, counter, pad_windows, spatial_axes
from compiler.topi.operands import Index, dims
from compiler.topi.tag import Tag

Share: TypeAlias = Callable[[Sequence[Index], PrimExpr], PrimExpr]
"""``(indices of an output element, number of an element of its window)`` to what the element gets."""


def _collected(grad: Tensor, data: Tensor, spec: PoolSpec, share: Share) -> Tensor:
    """Return for each element of the data the sum of its shares over the windows that have it."""
    axes = spatial_axes(spec.layout)
    window = [te.reduce_axis((0, k), name=f"r{d}") for d, k in enumerate(spec.kernel)]

    def element(*at: Var) -> PrimExpr:
        output: list[Index] = list(at)
        inside: list[PrimExpr] = []
        for d, p in enumerate(axes):
            start = at[p] + spec.before[d] - window[d].var * spec.dilation[d]
            place = start // spec.strides[d]
            output[p] = place
            inside += [start >= 0, place < spec.out[d]]
            inside += [(start % spec.strides[d]).equal(0)] if spec.strides[d] > 1 else []
        tap = _flat([w.var for w in window], spec.kernel)
        return te.sum(te.if_then_else(te.all(*inside), share(output, tap), tir.const(0, grad.dtype)), axis=window)

    return compute(dims(data), element, name="collected", tag=Tag.COMM_REDUCE)


def _flat(taps: Sequence[Var], kernel: Sequence[int]) -> PrimExpr:
    """Return the number of an element of a window."""
    return sum((tap * prod(kernel[d + 1 :]) for d, tap in enumerate(taps)), tir.const(0, "int32"))


def avg_pool_grad(grad: Tensor, data: Tensor, spec: PoolSpec, count_include_pad: bool) -> Tensor:
    """Return the gradient of the data of an average pooling: each window's goes to all of its elements alike.

    The shares of integers are rounded towards zero.
    """
    count = counter(spec, dims(data), count_include_pad)

    def share(at: Sequence[Index], tap: PrimExpr) -> PrimExpr:
        divisor = count(at).astype(grad.dtype)
        return grad(*at) / divisor if grad.dtype.startswith(("float", "bfloat")) else tir.truncdiv(grad(*at), divisor)

    return _collected(grad, data, spec, share)


def max_pool_grad(grad: Tensor, data: Tensor, spec: PoolSpec) -> Tensor:
    """Return the gradient of the data of a maximum pooling: each window's goes to the first of its largest elements."""
    axes = spatial_axes(spec.layout)
    padded = pad_windows(data, spec, tir.min_value(data.dtype))
    window = [te.reduce_axis((0, k), name=f"r{d}") for d, k in enumerate(spec.kernel)]
    largest = te.comm_reducer(_first_larger, lambda i, v: (tir.const(-1, i), tir.min_value(v)), name="argmax")

    def element(*at: Var) -> tuple[PrimExpr, PrimExpr]:
        read: list[Index] = list(at)
        for d, p in enumerate(axes):
            read[p] = at[p] * spec.strides[d] + window[d].var * spec.dilation[d]
        tap = _flat([w.var for w in window], spec.kernel)
        index, value = largest((tap, padded(*read)), axis=window)
        return index, value

    which, _ = te.compute(dims(grad), element, name="which", tag=Tag.POOL_ARGMAX)
    zero = tir.const(0, grad.dtype)
    return _collected(grad, data, spec, lambda at, tap: te.if_then_else(which(*at).equal(tap), grad(*at), zero))


def _first_larger(left: Sequence[PrimExpr], right: Sequence[PrimExpr]) -> tuple[PrimExpr, PrimExpr]:
    is_left = tir.all(left[0] >= 0, left[1] >= right[1])
    return tir.Select(is_left, left[0], right[0]), tir.Select(is_left, left[1], right[1])
