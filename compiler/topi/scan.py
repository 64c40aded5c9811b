"""Cumulative sums and products, as reductions over the preceding elements.

A long axis is taken in blocks: the work for ``n`` elements is ``2 n sqrt(n)`` instead of ``n * n``, and each element is
still computed on its own.  Devices scan by kernels of their own (:mod:`compiler.topi.device.scan`), where the extents
are numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import TypeAlias

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.arrays.transform import reshape
from compiler.topi.compute import compute, computes_by_threads
from compiler.topi.device import has_rows, scanned
from compiler.topi.operands import Extent, Index, axis_of, dims, product, replaced
from compiler.topi.tag import Tag

__all__ = ["cumprod", "cumsum"]

_MIN_BLOCKED = 1024
"""Extents from which on blocks pay: what looks at everything runs in vectors."""
Read: TypeAlias = Callable[[Sequence[Var], Var], PrimExpr]
"""``(indices of an element, k)`` to an expression."""


@dataclass(frozen=True, slots=True)
class _Monoid:
    """What elements are combined with."""

    combine: Callable[[PrimExpr, PrimExpr], PrimExpr]
    reduce: Callable[..., PrimExpr]
    identity: int


_SUM = _Monoid(lambda a, b: a + b, te.sum, 0)
_PRODUCT = _Monoid(lambda a, b: a * b, te.prod, 1)


@dataclass(frozen=True, slots=True)
class _Scan:
    """A running reduction of a tensor along one axis, of data type ``dtype``."""

    name: str
    x: Tensor
    axis: int
    dtype: str
    monoid: _Monoid

    def reduced(self, extent: Extent, count: Extent, holds: Read, read: Read, name: str) -> Tensor:
        """Return ``count`` elements along the axis: reductions over ``k < extent`` of what is read where it holds."""
        k = te.reduce_axis((0, extent), name="k")
        identity = tir.const(self.monoid.identity, self.dtype)

        def element(*i: Var) -> PrimExpr:
            return self.monoid.reduce(te.if_then_else(holds(i, k.var), read(i, k.var), identity), axis=k)

        return compute(replaced(dims(self.x), self.axis, count), element, name=name, tag=Tag.COMM_REDUCE)

    def value(self, i: Sequence[Var], index: Index) -> PrimExpr:
        """Return the element of the data at an index of the axis."""
        return self.x(*replaced(i, self.axis, index)).astype(self.dtype)

    def unblocked(self, exclusive: bool) -> Tensor:
        """Look at everything before each element."""
        axis, extent = self.axis, dims(self.x)[self.axis]
        before: Read = (lambda i, k: k < i[axis]) if exclusive else (lambda i, k: k <= i[axis])
        return self.reduced(extent, extent, before, self.value, self.name)

    def blocked(self, extent: int, exclusive: bool) -> Tensor:
        """Look at all blocks before each element's own, and at what is before it there."""
        axis = self.axis
        size = isqrt(extent)
        count = -(-extent // size)
        sums = self.reduced(
            size,
            count,
            lambda b, k: b[axis] * size + k < extent,
            lambda b, k: self.value(b, b[axis] * size + k),
            "block",
        )
        earlier = self.reduced(
            count, count, lambda b, k: k < b[axis], lambda b, k: sums(*replaced(b, axis, k)), "earlier"
        )
        within = self.reduced(
            size,
            extent,
            lambda i, k: k < i[axis] % size if exclusive else k <= i[axis] % size,
            lambda i, k: self.value(i, i[axis] // size * size + k),
            "within",
        )

        def element(*i: Var) -> PrimExpr:
            return self.monoid.combine(earlier(*replaced(i, axis, i[axis] // size)), within(*i))

        return compute(dims(self.x), element, name=self.name, tag=Tag.INJECTIVE)


def _scan(name: str, data: Tensor, axis: int | None, dtype: str | None, exclusive: bool, monoid: _Monoid) -> Tensor:
    x = reshape(data, (product(dims(data)),)) if axis is None and len(data.shape) != 1 else data
    at = 0 if axis is None else axis_of(axis, len(x.shape), name)
    of_type = dtype or data.dtype
    if computes_by_threads() and has_rows(x):
        return scanned(x, at, of_type, monoid.combine, tir.const(monoid.identity, of_type) if exclusive else None, name)
    scan = _Scan(name, x, at, of_type, monoid)
    extent = dims(x)[at]
    if isinstance(extent, int) and extent >= _MIN_BLOCKED:
        return scan.blocked(extent, exclusive)
    return scan.unblocked(exclusive)


def cumsum(data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool = False) -> Tensor:
    """Return the sum of all elements up to each one along an axis, or along all axes as one.

    ``dtype`` is that of ``data`` by default; where ``exclusive``, an element is left out of its own sum.
    """
    return _scan("cumsum", data, axis, dtype, exclusive, _SUM)


def cumprod(data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool = False) -> Tensor:
    """Return the product of all elements up to each one along an axis, or along all axes as one.

    ``dtype`` is that of ``data`` by default; where ``exclusive``, an element is left out of its own product.
    """
    return _scan("cumprod", data, axis, dtype, exclusive, _PRODUCT)
