"""Gradients of pooling: each element of the data collects from the windows that it is in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from compiler import te, tir
from compiler.topi.nn.pad import pad
from compiler.topi.nn.pool import PoolSpec, counter, places_of
from compiler.topi.tag import Tag
from compiler.topi.util import dims


def _collected(grad: Any, data: Any, spec: PoolSpec, share: Callable[[Sequence[Any], Any], Any]) -> Any:
    """Return for each element of the data the sum of ``share(output index, tap)`` over the windows that have it."""
    places = places_of(spec.layout)
    window = [te.reduce_axis((0, k), name=f"r{d}") for d, k in enumerate(spec.kernel)]

    def element(*at: Any) -> Any:
        there, inside = list(at), []
        for d, p in enumerate(places):
            start = at[p] + spec.before[d] - window[d].var * spec.dilation[d]
            there[p] = start // spec.strides[d]
            inside += [start >= 0, there[p] < spec.out[d]]
            inside += [(start % spec.strides[d]).equal(0)] if spec.strides[d] > 1 else []
        tap = _flat([w.var for w in window], spec.kernel)
        return te.sum(te.if_then_else(te.all(*inside), share(there, tap), tir.const(0, grad.dtype)), axis=window)

    return te.compute(dims(data), element, name="collected", tag=Tag.COMM_REDUCE)


def _flat(taps: Sequence[Any], kernel: Sequence[int]) -> Any:
    """Return the number of an element of a window."""
    return sum((tap * prod(kernel[d + 1 :]) for d, tap in enumerate(taps)), tir.const(0, "int32"))


def avg_pool_grad(grad: Any, data: Any, spec: PoolSpec, count_include_pad: bool) -> Any:
    """Return the gradient of the data: each window's goes to all of its elements alike."""
    count = counter(spec, dims(data), count_include_pad)
    return _collected(grad, data, spec, lambda at, tap: grad(*at) / count(at).astype(grad.dtype))


def max_pool_grad(grad: Any, data: Any, spec: PoolSpec) -> Any:
    """Return the gradient of the data: each window's goes to the first of its largest elements."""
    places, shape = places_of(spec.layout), dims(data)
    before, after = [0] * data.ndim, [0] * data.ndim
    for d, p in enumerate(places):
        reach = (spec.out[d] - 1) * spec.strides[d] + (spec.kernel[d] - 1) * spec.dilation[d] + 1
        before[p], after[p] = spec.before[d], max(0, reach - shape[p] - spec.before[d])
    padded = pad(data, before, after, tir.min_value(data.dtype), name="pool_pad")
    window = [te.reduce_axis((0, k), name=f"r{d}") for d, k in enumerate(spec.kernel)]
    largest = te.comm_reducer(_first_larger, lambda i, v: (tir.const(-1, i), tir.min_value(v)), name="argmax")

    def element(*at: Any) -> Any:
        read = list(at)
        for d, p in enumerate(places):
            read[p] = at[p] * spec.strides[d] + window[d].var * spec.dilation[d]
        return largest((_flat([w.var for w in window], spec.kernel), padded(*read)), axis=window)

    which, _ = te.compute(dims(grad), element, name="which", tag=Tag.POOL_ARGMAX)
    zero = tir.const(0, grad.dtype)
    return _collected(grad, data, spec, lambda at, tap: te.if_then_else(which(*at).equal(tap), grad(*at), zero))


def _first_larger(left: Any, right: Any) -> tuple[Any, Any]:
    found = tir.all(left[0] >= 0, left[1] >= right[1])
    return tir.Select(found, left[0], right[0]), tir.Select(found, left[1], right[1])
