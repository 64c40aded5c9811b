"""Matrix products: MatMul, Gemm, Einsum."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.ir.expr.primexpr import PrimExpr
from compiler.relay.frontend.onnx.config import current_config
from compiler.relay.frontend.onnx.integers import product_on_integers
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.registry import converter
from compiler.relay.frontend.shared.einsum import explicit_equation
from compiler.relay.frontend.shared.folding import constant, dims_of, dtype_of, ops, rank_of
from compiler.relay.frontend.shared.tensors import expand, merged, reshape, static_dims, told, transpose, unsqueeze
from compiler.relay.op.type_relations import broadcast_dims
from compiler.relay.ty import Dim


@converter("MatMul")
def _matmul(node: Node) -> RelayExpr:
    a, b = node.inputs
    product = product_on_integers(a, b, dims_of(a)[-1], (-1, -1), matmul) if rank_of(b) == 2 <= rank_of(a) else None
    return matmul(a, b) if product is None else product


def matmul(a: RelayExpr, b: RelayExpr, out_dtype: str = "") -> RelayExpr:
    """Build a matrix product with the semantics of ``numpy.matmul``."""
    if rank_of(a) == 1:
        return _without(matmul(unsqueeze(a, [0]), b, out_dtype), -2)
    if rank_of(b) == 1:
        return _without(matmul(a, unsqueeze(b, [1]), out_dtype), -1)
    if rank_of(b) == 2 and rank_of(a) >= 2:
        return _rows_times_matrix(a, b, out_dtype)
    return _batched(a, b, out_dtype)


def _without(x: RelayExpr, axis: int) -> RelayExpr:
    return ops.squeeze(x, axis=[rank_of(x) + axis])


def _rows_times_matrix(a: RelayExpr, b: RelayExpr, out_dtype: str) -> RelayExpr:
    dims, (k, n) = dims_of(a), dims_of(b)
    if len(dims) == 2:
        rows = a
    elif isinstance(k, int):
        rows = reshape(a, [_known_product(dims[:-1]), k])
    else:
        rows = merged(a, 0, len(dims) - 1)
    product = ops.nn.dense(rows, transpose(b, [1, 0]), out_dtype=out_dtype or dtype_of(a))
    if len(dims) == 2:
        return product
    return reshape(product, [*dims[:-1], n]) if _unknown((*dims[:-1], n)) < 2 else _apart(product, a, len(dims) - 1)


def _apart(product: RelayExpr, a: RelayExpr, count: int) -> RelayExpr:
    """Make the first axes of a tensor of the first of a product, whatever their extents."""
    return ops.reshape_like(product, a, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=count)


def _known_product(dims: Sequence[Dim]) -> int | PrimExpr | None:
    return math.prod(dims) if all(isinstance(d, int) for d in dims) else None


def _batched(a: RelayExpr, b: RelayExpr, out_dtype: str) -> RelayExpr:
    batch = broadcast_dims(dims_of(a)[:-2], dims_of(b)[:-2])
    (m, k), n = dims_of(a)[-2:], dims_of(b)[-1]
    if len(batch) == 1 and rank_of(a) == rank_of(b) == 3:
        return _matrices(a, b, out_dtype)
    if _unknown((*dims_of(a), *dims_of(b))) > 1:
        if _is_same(dims_of(a)[:-2], dims_of(b)[:-2]):
            left, right = merged(a, 0, len(batch)), merged(b, 0, len(batch))
            return _apart(_matrices(left, right, out_dtype), a, len(batch))
        return told(_batched_at_run_time(a, b, out_dtype), [*batch, m, n])
    count = _known_product(batch)
    left = reshape(expand(a, [*batch, m, k]), [count, m, k])
    right = reshape(expand(b, [*batch, k, n]), [count, k, n])
    return reshape(_matrices(left, right, out_dtype), [*batch, m, n])


def _is_same(a: Sequence[Dim], b: Sequence[Dim]) -> bool:
    """Return whether two shapes are certainly the same."""
    return len(a) == len(b) and all(x is y or (isinstance(x, int) and x == y) for x, y in zip(a, b, strict=True))


def _unknown(dims: Sequence[Dim]) -> int:
    return sum(not isinstance(d, int) for d in dims)


def _batched_at_run_time(a: RelayExpr, b: RelayExpr, out_dtype: str) -> RelayExpr:
    """Build a batched matrix product with dynamic shapes."""
    left_batch, left = _split_shape(a)
    right_batch, right = _split_shape(b)
    count = max(rank_of(a), rank_of(b)) - 2
    batch = ops.maximum(_with_ones(left_batch, count), _with_ones(right_batch, count))
    columns = ops.take(right, constant([1], "int64"), axis=0)
    rows = ops.take(left, constant([0], "int64"), axis=0)
    any_number = constant([-1], "int64")
    x = ops.reshape(ops.broadcast_to(a, ops.concatenate([batch, left], 0)), ops.concatenate([any_number, left], 0))
    y = ops.reshape(ops.broadcast_to(b, ops.concatenate([batch, right], 0)), ops.concatenate([any_number, right], 0))
    return ops.reshape(_matrices(x, y, out_dtype), ops.concatenate([batch, rows, columns], 0))


def _split_shape(x: RelayExpr) -> tuple[RelayExpr, RelayExpr]:
    """Split a shape into those of the batch and the matrix, as vectors."""
    shape, rank = ops.shape_of(x, dtype="int64"), rank_of(x)
    parts = (list(range(rank - 2)), [rank - 2, rank - 1])
    batch, matrix = (ops.take(shape, constant(np.array(part, "int64")), axis=0) for part in parts)
    return batch, matrix


def _with_ones(shape: RelayExpr, count: int) -> RelayExpr:
    """Prepend ones to the shape of a batch up to the rank of another."""
    missing = count - static_dims(shape, "the shape of a batch")[0]
    ones = constant(np.ones(missing, "int64"))
    if missing == count:
        return ones
    return ops.concatenate([ones, shape], 0) if missing else shape


def _matrices(a: RelayExpr, b: RelayExpr, out_dtype: str) -> RelayExpr:
    """Multiply two three-dimensional batches of matrices."""
    nt = current_config().use_nt_batch_matmul
    right = transpose(b, [0, 2, 1]) if nt else b
    return ops.nn.batch_matmul(a, right, out_dtype=out_dtype or dtype_of(a), transpose_a=False, transpose_b=nt)


@converter("Gemm")
def _gemm(node: Node) -> RelayExpr:
    (a, b), c = node.inputs[:2], node.input(2)
    alpha, beta = node.attr("alpha", 1.0), node.attr("beta", 1.0)
    rows, columns = node.attr("transA", 0), not node.attr("transB", 0)

    def multiply(a: RelayExpr, b: RelayExpr, out_dtype: str) -> RelayExpr:
        left, right = (transpose(x, [1, 0]) if flag else x for x, flag in ((a, rows), (b, columns)))
        return ops.nn.dense(left, right, out_dtype=out_dtype)

    product = product_on_integers(a, b, dims_of(a)[0 if rows else 1], (1 if columns else 0, 1), multiply)
    if product is None:
        product = multiply(a, b, "")
    if alpha != 1.0:
        product = ops.multiply(product, alpha)
    if c is None or beta == 0.0:
        return product
    return ops.add(product, c if beta == 1.0 else ops.multiply(c, beta))


@converter("Einsum")
def _einsum(node: Node) -> RelayExpr:
    equation = explicit_equation(node.required("equation"), [rank_of(x) for x in node.inputs])
    return ops.einsum(list(node.inputs), equation)
