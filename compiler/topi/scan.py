"""Running sums and products along an axis, as reductions over what stands before each element.

A long axis is taken in blocks: the work for ``n`` elements is ``2 n sqrt(n)`` instead of ``n * n``, and each element is
still computed on its own.
"""

from __future__ import annotations

from math import isqrt
from typing import Any

from compiler import te, tir
from compiler.topi.tag import Tag
from compiler.topi.transform import reshape
from compiler.topi.util import axis_of, dims, product

_LONG = 1024
"""Extents from which on blocks pay: what looks at everything runs in vectors."""


class _Scan:
    """A running reduction of a tensor along one axis.

    Parameters
    ----------
    combine : callable
        Of two values.
    reduce : callable
        The same over reduction axes.
    nothing : int
        What changes no value.
    """

    def __init__(self, name: str, x: Any, axis: int, dtype: str, combine: Any, reduce: Any, nothing: int) -> None:
        self.name, self.x, self.axis, self.dtype = name, x, axis, dtype
        self.combine, self.reduce, self.nothing = combine, reduce, tir.const(nothing, dtype)

    def at(self, i: Any, index: Any) -> tuple[Any, ...]:
        return (*i[: self.axis], index, *i[self.axis + 1 :])

    def over(self, extent: Any, along: Any, holds: Any, read: Any, name: str) -> Any:
        """Return for ``along`` places the reduction of ``read(i, k)`` over ``k`` up to ``extent`` where it holds."""
        k = te.reduce_axis((0, extent), name="k")

        def element(*i: Any) -> Any:
            value = te.if_then_else(holds(i[self.axis], k.var), read(i, k.var), self.nothing)
            return self.reduce(value, axis=k)

        return te.compute(self.at(dims(self.x), along), element, name=name, tag=Tag.COMM_REDUCE)

    def value(self, i: Any, index: Any) -> Any:
        return self.x(*self.at(i, index)).astype(self.dtype)

    def whole(self, exclusive: bool) -> Any:
        """Look at everything before each element."""
        extent = dims(self.x)[self.axis]
        before = (lambda i, k: k < i) if exclusive else (lambda i, k: k <= i)
        return self.over(extent, extent, before, self.value, self.name)

    def in_blocks(self, extent: int, exclusive: bool) -> Any:
        """Look at all blocks before each element's own, and at what is before it there."""
        size = isqrt(extent)
        count = -(-extent // size)
        sums = self.over(
            size,
            count,
            lambda b, k: b * size + k < extent,
            lambda i, k: self.value(i, i[self.axis] * size + k),
            "block",
        )
        earlier = self.over(count, count, lambda b, k: k < b, lambda i, k: sums(*self.at(i, k)), "earlier")
        within = self.over(
            size,
            extent,
            lambda i, k: k < i % size if exclusive else k <= i % size,
            lambda i, k: self.value(i, i[self.axis] // size * size + k),
            "within",
        )
        return te.compute(
            dims(self.x),
            lambda *i: self.combine(earlier(*self.at(i, i[self.axis] // size)), within(*i)),
            name=self.name,
            tag=Tag.INJECTIVE,
        )


def _scan(
    name: str, data: Any, axis: int | None, dtype: str | None, exclusive: bool, combine: Any, reduce: Any, nothing: int
) -> Any:
    x = reshape(data, (product(dims(data)),)) if axis is None and len(data.shape) != 1 else data
    at = 0 if axis is None else axis_of(axis, len(x.shape), name)
    scan = _Scan(name, x, at, dtype or data.dtype, combine, reduce, nothing)
    extent = dims(x)[at]
    return scan.in_blocks(extent, exclusive) if isinstance(extent, int) and extent >= _LONG else scan.whole(exclusive)


def cumsum(data: Any, axis: int | None = None, dtype: str | None = None, exclusive: bool = False) -> Any:
    """Return the sum of all elements up to each one along an axis, without that one where ``exclusive`` holds."""
    return _scan("cumsum", data, axis, dtype, exclusive, lambda a, b: a + b, te.sum, 0)


def cumprod(data: Any, axis: int | None = None, dtype: str | None = None, exclusive: bool = False) -> Any:
    """Return the product of all elements up to each one along an axis, without that one where ``exclusive`` holds."""
    return _scan("cumprod", data, axis, dtype, exclusive, lambda a, b: a * b, te.prod, 1)
