"""Products of matrices: of rows with weights, and batch by batch."""

from __future__ import annotations

from typing import Any

from compiler import te
from compiler.topi.nn.pad import dims


def matmul(a: Any, b: Any, transpose_a: bool, transpose_b: bool, out_dtype: str) -> Any:
    """Return the product of ``a`` ``(…, M, K)`` and the matrix ``b`` ``(K, N)``, either of them transposed."""
    *batch, m, k = dims(a) if not transpose_a else (*dims(a)[:-2], dims(a)[-1], dims(a)[-2])
    n = dims(b)[0 if transpose_b else 1]
    r = te.reduce_axis((0, k), name="k")

    def element(*at: Any) -> Any:
        *outer, i, j = at
        left = a(*outer, r.var, i) if transpose_a else a(*outer, i, r.var)
        right = b(j, r.var) if transpose_b else b(r.var, j)
        return te.sum(left.astype(out_dtype) * right.astype(out_dtype), axis=r)

    return te.compute((*batch, m, n), element, name="matmul", tag="matmul")


def dense(data: Any, weight: Any, out_dtype: str) -> Any:
    """Return ``data`` ``(…, K)`` times the transpose of ``weight`` ``(N, K)``."""
    r = te.reduce_axis((0, dims(data)[-1]), name="k")

    def element(*at: Any) -> Any:
        return te.sum(data(*at[:-1], r.var).astype(out_dtype) * weight(at[-1], r.var).astype(out_dtype), axis=r)

    return te.compute((*dims(data)[:-1], dims(weight)[0]), element, name="dense", tag="dense")


def dense_pack(data: Any, weight: Any, out_dtype: str) -> Any:
    """Return ``data`` ``(M, K)`` times a weight whose columns stand in panels: ``(N / n, K, n)``."""
    panels, depth, lanes = dims(weight)
    r = te.reduce_axis((0, depth), name="k")

    def element(i: Any, j: Any) -> Any:
        right = weight(j // lanes, r.var, j % lanes)
        return te.sum(data(i, r.var).astype(out_dtype) * right.astype(out_dtype), axis=r)

    return te.compute((dims(data)[0], panels * lanes), element, name="dense_pack", tag="dense_pack")


def batch_matmul(a: Any, b: Any, transpose_a: bool, transpose_b: bool, out_dtype: str) -> Any:
    """Return the products of matrices ``a`` ``(B, M, K)`` and ``b`` ``(B, K, N)``; a batch of one is used for all."""
    x, y = dims(a), dims(b)
    m, k = (x[2], x[1]) if transpose_a else (x[1], x[2])
    n = y[1] if transpose_b else y[2]
    r = te.reduce_axis((0, k), name="k")

    def element(z: Any, i: Any, j: Any) -> Any:
        za, zb = (0 if isinstance(t[0], int) and t[0] == 1 else z for t in (x, y))
        left = a(za, r.var, i) if transpose_a else a(za, i, r.var)
        right = b(zb, j, r.var) if transpose_b else b(zb, r.var, j)
        return te.sum(left.astype(out_dtype) * right.astype(out_dtype), axis=r)

    batch = y[0] if isinstance(x[0], int) and x[0] == 1 else x[0]
    return te.compute((batch, m, n), element, name="batch_matmul", tag="batch_matmul")
