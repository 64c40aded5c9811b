"""Products of matrices: of rows with weights, and batch by batch.

All of them are one product of rows with columns, computed in one of two ways.  With many rows the columns are first
copied into panels as wide as vectors, which the rows then share.  With few rows that would not pay: there, vectors run
along what is summed up, and their elements are added in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compiler import te, tir
from compiler.topi.compute_attrs import PanelProduct
from compiler.topi.tag import Tag
from compiler.topi.util import dims

FEW_ROWS = 32
_WIDTH = 16

Element = Callable[..., Any]


def _product(
    outer: Sequence[Any], rows: Any, columns: Any, depth: Any, left: Element, right: Element, shared: bool, along: bool
) -> Any:
    """Return the product of ``left(*outer, row, k)`` and ``right(*outer, k, column)``.

    Parameters
    ----------
    shared : bool
        Whether ``right`` is the same for all of ``outer``.
    along : bool
        Whether elements of ``right`` with consecutive ``k`` stand together, else those with consecutive columns.
    """
    if not isinstance(columns, int):
        return _plain(outer, rows, columns, depth, left, right)
    step = next((n for n in (16, 8, 4) if isinstance(depth, int) and depth % n == 0), 0)
    if along and step and isinstance(rows, int) and rows < FEW_ROWS:
        return _dots(outer, rows, columns, depth, left, right, step)
    return _panels(outer, rows, columns, depth, left, right, shared, along)


def _plain(outer: Sequence[Any], rows: Any, columns: Any, depth: Any, left: Element, right: Element) -> Any:
    r = te.reduce_axis((0, depth), name="k")

    def element(*at: Any) -> Any:
        *o, i, j = at
        return te.sum(left(*o, i, r.var) * right(*o, r.var, j), axis=r)

    return te.compute((*outer, rows, columns), element, name="product", tag=Tag.MATMUL, varargs_names=_names(outer))


def _names(outer: Sequence[Any]) -> list[str]:
    return [*[f"b{d}" for d in range(len(outer))], "i", "j"]


def _dots(outer: Sequence[Any], rows: int, columns: int, depth: int, left: Element, right: Element, step: int) -> Any:
    r = te.reduce_axis((0, depth // step), name="k")

    def part(*at: Any) -> Any:
        *o, i, j, lane = at
        k = r.var * step + lane
        return te.sum(left(*o, i, k) * right(*o, k, j), axis=r)

    names = _names(outer)
    parts = te.compute(
        (*outer, rows, columns, step), part, name="parts", tag=Tag.MATMUL_PARTIAL_SUMS, varargs_names=[*names, "l"]
    )

    def whole(*at: Any) -> Any:
        values = [parts(*at, lane) for lane in range(step)]
        while len(values) > 1:
            half = len(values) // 2
            values = [a + b for a, b in zip(values[:half], values[half:], strict=True)]
        return values[0]

    return te.compute((*outer, rows, columns), whole, name="product", tag=Tag.MATMUL_LANES_SUM, varargs_names=names)


def _panels(
    outer: Sequence[Any],
    rows: Any,
    columns: int,
    depth: Any,
    left: Element,
    right: Element,
    shared: bool,
    along: bool,
) -> Any:
    width = next((n for n in (_WIDTH, 8, 4) if columns % n == 0), _WIDTH if columns > 8 else 8)
    count = -(-columns // width)
    whole = columns % width == 0
    common = () if shared else tuple(outer)

    def packed(*at: Any) -> Any:
        *o, p, k, lane = at
        o = [*[0] * (len(outer) - len(o)), *o]
        column = p * width + lane
        value = right(*o, k, column)
        return value if whole else te.if_then_else(column < columns, value, tir.const(0, value.dtype))

    names = [*_names(common)[:-2], "p", "k", "l"]
    # What stands in vectors already is read where it is.
    tag = Tag.PANELS if along or not whole else Tag.ELEMWISE
    panels = te.compute((*common, count, depth, width), packed, name="panels", tag=tag, varargs_names=names)
    r = te.reduce_axis((0, depth), name="k")

    def element(*at: Any) -> Any:
        *o, i, j = at
        mine = () if shared else tuple(o)
        return te.sum(left(*o, i, r.var) * panels(*mine, j // width, r.var, j % width), axis=r)

    attrs = PanelProduct(width, is_shared=shared, is_cut=not whole).as_dict()
    padded = te.compute(
        (*outer, rows, count * width),
        element,
        name="product",
        tag=Tag.MATMUL_PANELS,
        attrs=attrs,
        varargs_names=_names(outer),
    )
    if whole:
        return padded
    return te.compute(
        (*outer, rows, columns),
        lambda *i: padded(*i),
        name="product_cut",
        tag=Tag.ELEMWISE,
        varargs_names=_names(outer),
    )


def matmul(a: Any, b: Any, transpose_a: bool, transpose_b: bool, out_dtype: str) -> Any:
    """Return the product of ``a`` ``(…, M, K)`` and the matrix ``b`` ``(K, N)``, either of them transposed."""
    *outer, m, k = dims(a) if not transpose_a else (*dims(a)[:-2], dims(a)[-1], dims(a)[-2])
    n = dims(b)[0 if transpose_b else 1]

    def left(*at: Any) -> Any:
        *o, i, r = at
        return (a(*o, r, i) if transpose_a else a(*o, i, r)).astype(out_dtype)

    def right(*at: Any) -> Any:
        *_, r, j = at
        return (b(j, r) if transpose_b else b(r, j)).astype(out_dtype)

    return _product(outer, m, n, k, left, right, True, transpose_b)


def dense(data: Any, weight: Any, out_dtype: str) -> Any:
    """Return ``data`` ``(…, K)`` times the transpose of ``weight`` ``(N, K)``."""
    if data.ndim > 1:
        return matmul(data, weight, False, True, out_dtype)
    r = te.reduce_axis((0, dims(data)[0]), name="k")
    return te.compute(
        (dims(weight)[0],),
        lambda j: te.sum(data(r.var).astype(out_dtype) * weight(j, r.var).astype(out_dtype), axis=r),
        name="product",
        tag=Tag.MATMUL,
    )


def dense_pack(data: Any, weight: Any, out_dtype: str) -> Any:
    """Return ``data`` ``(M, K)`` times a weight whose columns stand in panels: ``(N / n, K, n)``."""
    panels, depth, width = dims(weight)
    r = te.reduce_axis((0, depth), name="k")

    def element(i: Any, j: Any) -> Any:
        right = weight(j // width, r.var, j % width)
        return te.sum(data(i, r.var).astype(out_dtype) * right.astype(out_dtype), axis=r)

    attrs = PanelProduct(width, is_shared=True, is_cut=False).as_dict()
    shape = (dims(data)[0], panels * width)
    return te.compute(shape, element, name="product", tag=Tag.MATMUL_PANELS, attrs=attrs)


def batch_matmul(a: Any, b: Any, transpose_a: bool, transpose_b: bool, out_dtype: str) -> Any:
    """Return the products of matrices ``a`` ``(B, M, K)`` and ``b`` ``(B, K, N)``; a batch of one is used for all."""
    x, y = dims(a), dims(b)
    m, k = (x[2], x[1]) if transpose_a else (x[1], x[2])
    n = y[1] if transpose_b else y[2]
    one_a, one_b = (isinstance(t[0], int) and t[0] == 1 for t in (x, y))

    def left(z: Any, i: Any, r: Any) -> Any:
        z = 0 if one_a else z
        return (a(z, r, i) if transpose_a else a(z, i, r)).astype(out_dtype)

    def right(z: Any, r: Any, j: Any) -> Any:
        z = 0 if one_b else z
        return (b(z, j, r) if transpose_b else b(z, r, j)).astype(out_dtype)

    return _product((y[0] if one_a else x[0],), m, n, k, left, right, one_b, transpose_b)
