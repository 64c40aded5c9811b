"""Strassen's products of matrices: seven products of quarters instead of eight, and of their quarters again.

The rows of the first matrix, and the panels of the second one, are dealt out to the quarters one after another, so that
a tile of the result has neighbours in all of them.  What is summed up is cut into pieces::

    rows 0 2 4 … │ rows 1 3 5 …        panels 0 2 4 … │ panels 1 3 5 …         both for the upper half of k,
    ─────────────┼─────────────   ·    ───────────────┼─────────────────       and for the lower half
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from compiler import te
from compiler.arith.minimal_filtering import Matrix, combination, select
from compiler.arith.strassen import factors
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.operands import constant, dims
from compiler.topi.tag import Tag

__all__ = ["dense_strassen", "weight_of_products"]


def weight_of_products(panels: npt.NDArray[Any], products: int) -> npt.NDArray[Any]:
    """Return a weight ``(N / n, K, n)`` as ``(products, N / q / n, K / q, n)``, rounded once."""
    _, right, _ = factors(products)
    count, depth, width = panels.shape
    parts = right.shape[1]
    quarters = panels.reshape(count // parts, parts, parts, depth // parts, width)
    sums = np.einsum("pkj,cjkdl->pcdl", right, quarters.astype("float64"), optimize=True)
    return np.ascontiguousarray(sums, panels.dtype)


def dense_strassen(data: Tensor, weight: Tensor) -> Tensor:
    """Return ``data``, ``(1, …, M, K)``, times what :func:`weight_of_products` made of a weight: ``(1, …, M, N)``."""
    *outer, rows, _ = (constant(each, "dense_strassen") for each in dims(data))
    products, panels, inner, width = (constant(each, "dense_strassen") for each in dims(weight))
    left, _, result = factors(products)
    parts = left.shape[1]

    def summed(p: Var, i: Var, c: Var) -> PrimExpr:
        taken = [data(*[0] * len(outer), i * parts + a, k * inner + c) for a in range(parts) for k in range(parts)]
        return select(p, [combination(taken, each.ravel()) for each in left])

    sums = compute((products, rows // parts, inner), summed, "quarter_sums", Tag.STAGED)
    k = te.reduce_axis((0, inner), name="k")

    def multiplied(p: Var, i: Var, j: Var) -> PrimExpr:
        return te.sum(sums(p, i, k.var) * weight(p, j // width, k.var, j % width), axis=k)

    products_of_sums = compute((products, rows // parts, panels * width), multiplied, "products", Tag.MATMUL)

    def element(*at: Var) -> PrimExpr:
        *_, i, j = at
        panel = j // width
        column = panel // parts * width + j % width
        taken = [products_of_sums(p, i // parts, column) for p in range(products)]
        return select(i % parts * parts + panel % parts, [combination(taken, f) for f in _of_quarters(result)])

    names = [*[f"b{d}" for d in range(len(outer))], "i", "j"]
    shape = (*outer, rows, parts * panels * width)
    return compute(shape, element, "product", Tag.MATMUL_STRASSEN, varargs_names=names)


def _of_quarters(result: Matrix) -> Sequence[Matrix]:
    """Return, for each quarter of the result, by what the products are multiplied."""
    return [*result.reshape(len(result), -1).T]
