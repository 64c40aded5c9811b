"""Matrix products: MatMul, Gemm, Einsum."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.config import current_config
from compiler.relay.frontend.onnx.converters.shape import joint_shape
from compiler.relay.frontend.onnx.integers import product_on_integers
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.registry import converter
from compiler.relay.frontend.shared.einsum import explicit_equation
from compiler.relay.frontend.shared.folding import constant, dims_of, dtype_of, ops, rank_of
from compiler.relay.frontend.shared.tensors import count_of, expand, merged, reshape, told, transpose, unsqueeze
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
    is_known = isinstance(k, int) and len(dims) > 2
    rows = reshape(a, [count_of(dims[:-1]), k]) if is_known else merged(a, 0, len(dims) - 1)
    product = ops.nn.dense(rows, transpose(b, [1, 0]), out_dtype=out_dtype or dtype_of(a))
    if len(dims) == 2:
        return product
    return _apart(product, a, len(dims) - 1) if _unknown(dims[:-1]) else reshape(product, [*dims[:-1], n])


def _apart(product: RelayExpr, a: RelayExpr, count: int) -> RelayExpr:
    """Make the first axes of a tensor of the first of a product, whatever their extents."""
    return ops.reshape_like(product, a, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=count)


def _batched(a: RelayExpr, b: RelayExpr, out_dtype: str) -> RelayExpr:
    batch = broadcast_dims(dims_of(a)[:-2], dims_of(b)[:-2])
    (m, k), n = dims_of(a)[-2:], dims_of(b)[-1]
    if len(batch) == 1 and rank_of(a) == rank_of(b) == 3:
        return _matrices(a, b, out_dtype)
    if _unknown((*dims_of(a), *dims_of(b))) > 1:
        if not _is_same(dims_of(a)[:-2], dims_of(b)[:-2]):
            return _batched_at_run_time(a, b, batch, out_dtype)
        left, right = merged(a, 0, len(batch)), merged(b, 0, len(batch))
        return _apart(_matrices(left, right, out_dtype), a, len(batch))
    count = count_of(batch)
    left = reshape(expand(a, [*batch, m, k]), [count, m, k])
    right = reshape(expand(b, [*batch, k, n]), [count, k, n])
    return reshape(_matrices(left, right, out_dtype), [*batch, m, n])


def _is_same(a: Sequence[Dim], b: Sequence[Dim]) -> bool:
    """Return whether two shapes are certainly the same."""
    return len(a) == len(b) and all(x is y or (isinstance(x, int) and x == y) for x, y in zip(a, b, strict=True))


def _unknown(dims: Sequence[Dim]) -> int:
    return sum(not isinstance(d, int) for d in dims)


def _batched_at_run_time(a: RelayExpr, b: RelayExpr, batch: Sequence[Dim], out_dtype: str) -> RelayExpr:
    """Build a batched matrix product of batches that are broadcast to each other, of extents that only a run knows."""
    x, y = (
        told(ops.broadcast_to(each, joint_shape(each, _batch_of(other))), [*batch, *dims_of(each)[-2:]])
        for each, other in ((a, b), (b, a))
    )
    return _apart(_matrices(merged(x, 0, len(batch)), merged(y, 0, len(batch)), out_dtype), x, len(batch))


def _batch_of(x: RelayExpr) -> RelayExpr:
    """Return the shape of a batch of matrices as if these had one element, as a value."""
    matrix, count = constant([1, 1], "int64"), rank_of(x) - 2
    shape = ops.shape_of(x, dtype="int64")
    return ops.concatenate([ops.strided_slice(shape, [0], [count]), matrix], 0) if count else matrix


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
