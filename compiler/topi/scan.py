"""Running sums and products along an axis, as reductions over what stands before each element."""

from __future__ import annotations

from typing import Any

from compiler import te, tir
from compiler.topi.transform import reshape
from compiler.topi.util import axis_of, dims, product


def _scan(data: Any, axis: int | None, dtype: str | None, exclusive: bool, reduce: Any, nothing: int, name: str) -> Any:
    x = reshape(data, (product(dims(data)),)) if axis is None and len(data.shape) != 1 else data
    old = dims(x)
    at = 0 if axis is None else axis_of(axis, len(old), name)
    kind = dtype or data.dtype
    k = te.reduce_axis((0, old[at]), name="k")

    def element(*i: Any) -> Any:
        before = k.var < i[at] if exclusive else k.var <= i[at]
        value = x(*i[:at], k.var, *i[at + 1 :]).astype(kind)
        return reduce(tir.Select(before, value, tir.const(nothing, kind)), axis=k)

    return te.compute(old, element, name=name, tag="comm_reduce")


def cumsum(data: Any, axis: int | None = None, dtype: str | None = None, exclusive: bool = False) -> Any:
    """Return the sum of all elements up to each one along an axis, without that one where ``exclusive`` holds."""
    return _scan(data, axis, dtype, exclusive, te.sum, 0, "cumsum")


def cumprod(data: Any, axis: int | None = None, dtype: str | None = None, exclusive: bool = False) -> Any:
    """Return the product of all elements up to each one along an axis, without that one where ``exclusive`` holds."""
    return _scan(data, axis, dtype, exclusive, te.prod, 1, "cumprod")
