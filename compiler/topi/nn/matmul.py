"""Dense layers and batched matrix products.

All of them are one product of rows with columns, computed in one of two ways.  With many rows the columns are first
copied into panels as wide as vectors, which the rows then share.  With few rows that would not pay: there, vectors run
along what is summed up, and their lanes are added in the end.

References
----------
Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34(3), 2008: panels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from compiler import te, tir
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import PanelProduct, compute, computes_by_threads
from compiler.topi.nn.product_sums import products_per_step, step_sum
from compiler.topi.operands import Extent, Index, constant, dims, is_one
from compiler.topi.tag import Tag

__all__ = ["batch_matmul", "dense", "dense_pack", "matmul"]

FEW_ROWS = 32
"""From so many rows on, panels pay."""
_WIDTH = 16
_FEW_ZEROS = 8
"""One lane in so many may be multiplied for nothing."""
_OF_BYTES = 4
"""Products of bytes that stand side by side."""

Element: TypeAlias = Callable[..., PrimExpr]


@dataclass(frozen=True, slots=True)
class _Product:
    """The product of ``left(*outer, row, k)`` and ``right(*outer, k, column)``, summed in ``out_dtype``.

    ``right`` may be the same for all of ``outer``, ``is_shared``. If ``is_depth_contiguous``, its elements with
    consecutive ``k`` are neighbours in memory, else those with consecutive columns.
    """

    outer: tuple[Extent, ...]
    rows: Extent
    columns: Extent
    depth: Extent
    left: Element
    right: Element
    dtypes: tuple[str, str]
    is_shared: bool
    is_depth_contiguous: bool
    out_dtype: str

    @property
    def names(self) -> list[str]:
        """Names of the axes of the result."""
        return [*[f"b{d}" for d in range(len(self.outer))], "i", "j"]

    def tensor(self) -> Tensor:
        """Return the product, computed in the way that suits its extents."""
        if not isinstance(self.columns, int) or computes_by_threads():
            return self._plain()
        is_short = isinstance(self.rows, int) and self.rows < FEW_ROWS
        if self.is_depth_contiguous and (is_short or self.columns == 1):
            lanes = next((n for n in (16, 8, 4) if isinstance(self.depth, int) and self.depth % n == 0), None)
            if lanes is not None:
                return self._partial_sums(constant(self.depth, "matmul"), lanes)
        return self._panels(self.columns)

    def _plain(self) -> Tensor:
        k = te.reduce_axis((0, self.depth), name="k")

        def element(*at: Var) -> PrimExpr:
            *o, i, j = at
            return te.sum(self._wide(self.left(*o, i, k.var)) * self._wide(self.right(*o, k.var, j)), axis=k)

        shape = (*self.outer, self.rows, self.columns)
        return compute(shape, element, name="product", tag=Tag.MATMUL, varargs_names=self.names)

    def _wide(self, value: PrimExpr) -> PrimExpr:
        return value.astype(self.out_dtype)

    def _partial_sums(self, depth: int, lanes: int) -> Tensor:
        r = te.reduce_axis((0, depth // lanes), name="k")

        def part(*at: Var) -> PrimExpr:
            *o, i, j, lane = at
            k = r.var * lanes + lane
            return te.sum(self._wide(self.left(*o, i, k)) * self._wide(self.right(*o, k, j)), axis=r)

        def lanes_sum(*at: Var) -> PrimExpr:
            values = [parts(*at, lane) for lane in range(lanes)]
            while len(values) > 1:
                half = len(values) // 2
                values = [a + b for a, b in zip(values[:half], values[half:], strict=True)]
            return values[0]

        shape = (*self.outer, self.rows, self.columns)
        tag, names = Tag.MATMUL_PARTIAL_SUMS, [*self.names, "l"]
        parts = compute((*shape, lanes), part, name="parts", tag=tag, varargs_names=names)
        return compute(shape, lanes_sum, name="product", tag=Tag.MATMUL_LANES_SUM, varargs_names=self.names)

    def _panels(self, columns: int) -> Tensor:
        width = self._panel_width(columns)
        count = -(-columns // width)
        is_cut = columns % width != 0
        products = products_per_step(self.depth, self.dtypes, self.out_dtype)
        group = products if products == _OF_BYTES or "bfloat16" in self.dtypes else 1
        dtype = self.out_dtype if products == 1 else self.dtypes[1] if group > 1 else "int16"
        panels = self._packed(columns, count, width, dtype, group)
        k = te.reduce_axis((0, self.depth // products), name="k")

        def element(*at: Var) -> PrimExpr:
            *o, i, j = at
            own = () if self.is_shared else tuple(o)

            def term(r: PrimExpr) -> PrimExpr:
                place = (r // group, j % width, r % group) if group > 1 else (r, j % width)
                return self._wide(self.left(*o, i, r)) * self._wide(panels(*own, j // width, *place))

            return te.sum(step_sum(k.var, products, term), axis=k)

        attrs = PanelProduct(width, self.is_shared, is_cut)
        shape = (*self.outer, self.rows, count * width)
        padded = compute(shape, element, "product", Tag.MATMUL_PANELS, attrs, self.names)
        return _cut(padded, columns, self.names) if is_cut else padded

    def _panel_width(self, columns: int) -> int:
        """Return the width of panels that are all full, or that of vectors where few lanes of the last one are zeros.

        Only where there are panels to fill: few rows read columns where they are, if these are neighbours.
        """
        whole = next((n for n in (_WIDTH, 8, 4) if columns % n == 0), 0)
        is_copied = self.is_depth_contiguous or not isinstance(self.rows, int) or self.rows >= FEW_ROWS
        is_narrow = whole == 4 and columns > _WIDTH
        if is_copied and (is_narrow or -columns % _WIDTH * _FEW_ZEROS <= columns):
            return _WIDTH
        return whole or (_WIDTH if columns > 8 else 8)

    def _packed(self, columns: int, count: int, width: int, dtype: str, group: int) -> Tensor:
        """Return the columns in panels ``(outer…, panel, k, lane)``, zeros after the last one.

        With a ``group`` of several ``k`` side by side they are ``(outer…, panel, k / group, lane, group)``.
        """
        common = () if self.is_shared else self.outer
        is_cut = columns % width != 0

        def packed(*at: Var) -> PrimExpr:
            *o, p, k, lane = at[: len(common) + 3]
            first: list[Index] = [*[0] * (len(self.outer) - len(o)), *o]
            column = p * width + lane
            value = self.right(*first, k if group == 1 else k * group + at[-1], column).astype(dtype)
            return te.if_then_else(column < columns, value, tir.const(0, value.dtype)) if is_cut else value

        tag = Tag.PANELS if self.is_depth_contiguous or is_cut or group > 1 else Tag.PANELS_IN_PLACE
        names = [*[f"b{d}" for d in range(len(common))], "p", "k", "l", "s"]
        shape = (*common, count, self.depth, width)
        if group > 1:
            shape = (*common, count, self.depth // group, width, group)
        return compute(shape, packed, name="panels", tag=tag, varargs_names=names[: len(shape)])


def matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    bias: Tensor | None = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Sequence[Extent] | None = None,
) -> Tensor:
    """Return the product of matrices ``(…, M, K)`` with one matrix ``(K, N)``, plus a bias ``(N,)``.

    Products are summed in ``out_dtype``, that of ``tensor_a`` by default. No scheduler changes the layout of weights,
    so that the last two arguments must be left out.
    """
    _refuse_rewritten("matmul", auto_scheduler_rewritten_layout, meta_schedule_original_shape)
    dtype = out_dtype or tensor_a.dtype
    return _with_bias(_matrix_product(tensor_a, tensor_b, transpose_a, transpose_b, dtype), bias, dtype)


def _refuse_rewritten(function: str, layout: str, shape: Sequence[Extent] | None) -> None:
    """Raise an error if weights are said to have a layout that a search for schedules chose."""
    if layout:
        raise ArgumentError(f"{function}: auto_scheduler_rewritten_layout must be empty, got {show(layout)}")
    if shape is not None and len(shape):
        raise ArgumentError(f"{function}: meta_schedule_original_shape must be left out, got {show(shape)}")


def _with_bias(value: Tensor, bias: Tensor | None, dtype: str) -> Tensor:
    """Return a product plus the bias of its column."""
    if bias is None:
        return value
    return compute(dims(value), lambda *i: value(*i) + bias(i[-1]).astype(dtype), name="bias_add", tag=Tag.BROADCAST)


def _matrix_product(a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool, out_dtype: str) -> Tensor:
    """Return the product of matrices with one matrix, either of them transposed."""
    *outer, m, k = dims(a) if not transpose_a else (*dims(a)[:-2], dims(a)[-1], dims(a)[-2])
    n = dims(b)[0 if transpose_b else 1]

    def left(*at: Index) -> PrimExpr:
        *o, i, r = at
        return a(*o, r, i) if transpose_a else a(*o, i, r)

    def right(*at: Index) -> PrimExpr:
        *_, r, j = at
        return b(j, r) if transpose_b else b(r, j)

    dtypes = (a.dtype, b.dtype)
    return _Product(tuple(outer), m, n, k, left, right, dtypes, True, transpose_b, out_dtype).tensor()


def dense(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    out_dtype: str | None = None,
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Sequence[Extent] | None = None,
) -> Tensor:
    """Return ``data``, ``(…, K)``, times the transpose of ``weight``, ``(N, K)``, plus a bias ``(N,)``.

    Products are summed in ``out_dtype``, that of ``data`` by default.  No scheduler changes the layout of weights, so
    that the last two arguments must be left out.
    """
    _refuse_rewritten("dense", auto_scheduler_rewritten_layout, meta_schedule_original_shape)
    dtype = out_dtype or data.dtype
    if data.ndim > 1:
        return _with_bias(_matrix_product(data, weight, False, True, dtype), bias, dtype)
    return _with_bias(_vector_product(data, weight, dtype), bias, dtype)


def _vector_product(data: Tensor, weight: Tensor, out_dtype: str) -> Tensor:
    """Return the product of a vector with the transpose of a matrix."""
    k = te.reduce_axis((0, dims(data)[0]), name="k")

    def element(j: Var) -> PrimExpr:
        return te.sum(data(k.var).astype(out_dtype) * weight(j, k.var).astype(out_dtype), axis=k)

    return compute((dims(weight)[0],), element, name="product", tag=Tag.MATMUL)


def dense_pack(
    data: Tensor, weight: Tensor, bias: Tensor | None = None, out_dtype: str | None = None, units: int | None = None
) -> Tensor:
    """Return ``data``, ``(…, K)``, times a weight whose columns stand in panels, plus a bias ``(N,)``.

    The weight is ``(N / n, K, n)``; with ``g`` rows side by side, for narrow integers, ``(N / n, K / g, n, g)``.
    Products are summed in ``out_dtype``, that of ``data`` by default.  Of the last panel, columns from ``units`` on are
    left out.
    """
    *rows, depth = dims(data)
    panels, _, lanes, *group = dims(weight)
    width = constant(lanes, "dense_pack")
    size = constant(group[0], "dense_pack") if group else 1
    dtype = out_dtype or data.dtype
    products = products_per_step(depth, (data.dtype, weight.dtype), dtype)
    k = te.reduce_axis((0, depth // products), name="k")

    def element(*at: Var) -> PrimExpr:
        *i, j = at

        def term(r: PrimExpr) -> PrimExpr:
            place = (r // size, j % width, r % size) if group else (r, j % width)
            return data(*i, r).astype(dtype) * weight(j // width, *place).astype(dtype)

        return te.sum(step_sum(k.var, products, term), axis=k)

    columns = panels * width if units is None else units
    is_cut = isinstance(columns, int) and columns % width != 0
    attrs = PanelProduct(width, is_shared=True, is_cut=is_cut)
    names = [*[f"b{d}" for d in range(len(rows) - 1)], "i", "j"]
    product = compute((*rows, panels * width), element, "product", Tag.MATMUL_PANELS, attrs, names)
    if is_cut:
        product = _cut(product, columns, names)
    return _with_bias(product, bias, dtype)


def _cut(padded: Tensor, columns: Extent, names: Sequence[str]) -> Tensor:
    """Return the first columns of a product with whole panels."""
    shape = (*dims(padded)[:-1], columns)
    return compute(shape, lambda *i: padded(*i), name="product_cut", tag=Tag.ELEMWISE, varargs_names=names)


def batch_matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    oshape: Sequence[Extent] | None = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = True,
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Sequence[Extent] | None = None,
) -> Tensor:
    """Return the products of matrices, batch by batch; a batch of one is used for all.

    The operands are ``(B, M, K)`` and, unless ``transpose_b`` is False, ``(B, N, K)``.  Products are summed in
    ``out_dtype``, that of ``tensor_a`` by default.  No scheduler changes the layout of weights, so that the last two
    arguments must be left out. Raises ArgumentError if a changed layout of weights is given, or ``oshape`` is not the
    shape of the result.
    """
    _refuse_rewritten("batch_matmul", auto_scheduler_rewritten_layout, meta_schedule_original_shape)
    product = _batch_product(tensor_a, tensor_b, transpose_a, transpose_b, out_dtype or tensor_a.dtype)
    shape = dims(product)
    if oshape is not None and not (len(oshape) == 3 and all(map(_may_be_equal, oshape, shape))):
        raise ArgumentError(f"batch_matmul: oshape must be the shape of the result, {show(shape)}, got {show(oshape)}")
    return product


def _may_be_equal(a: Extent, b: Extent) -> bool:
    """Return whether two extents are not two different constants."""
    first, second = (e.value if isinstance(e, IntImm) else e for e in (a, b))
    return not (isinstance(first, int) and isinstance(second, int)) or first == second


def _batch_product(a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool, out_dtype: str) -> Tensor:
    x, y = dims(a), dims(b)
    m, k = (x[2], x[1]) if transpose_a else (x[1], x[2])
    n = y[1] if transpose_b else y[2]
    one_a, one_b = is_one(x[0]), is_one(y[0])

    def left(z: Index, i: Index, r: Index) -> PrimExpr:
        z = 0 if one_a else z
        return a(z, r, i) if transpose_a else a(z, i, r)

    def right(z: Index, r: Index, j: Index) -> PrimExpr:
        z = 0 if one_b else z
        return b(z, j, r) if transpose_b else b(z, r, j)

    outer, dtypes = (y[0] if one_a else x[0],), (a.dtype, b.dtype)
    return _Product(outer, m, n, k, left, right, dtypes, one_b, transpose_b, out_dtype).tensor()
