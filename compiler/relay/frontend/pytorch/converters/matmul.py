"""Matrix products."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.converters.matmul import matmul as product
from compiler.relay.frontend.pytorch.converters.elementwise import is_number
from compiler.relay.frontend.pytorch.dtypes import promoted, tensor
from compiler.relay.frontend.pytorch.registry import converter, converters
from compiler.relay.frontend.pytorch.tensors import (
    axis_of,
    dims_of,
    dtype_of,
    ops,
    rank_of,
    reshape,
    static_shape,
    transpose,
    unsqueeze,
)
from compiler.relay.frontend.pytorch.values import Scalar, as_expr
from compiler.relay.frontend.shared.einsum import explicit_equation


def _product(a: RelayExpr, b: RelayExpr) -> RelayExpr:
    left, right = promoted(a, b)
    return product(left, right)


@converter("matmul", "mm", "bmm", "mv", "linalg_matmul", "__matmul__")
def matmul(
    a: RelayExpr, other: RelayExpr | None = None, mat2: RelayExpr | None = None, vec: RelayExpr | None = None
) -> RelayExpr:
    """Build a matrix product with the semantics of ``numpy.matmul``."""
    right = next(v for v in (other, mat2, vec) if v is not None)
    return dot(a, right) if rank_of(a) == rank_of(right) == 1 else _product(a, right)


@converter("dot", "vdot", "inner")
def dot(a: RelayExpr, tensor: RelayExpr | None = None, other: RelayExpr | None = None) -> RelayExpr:
    """Compute inner products along the last axes."""
    right = as_expr(tensor if other is None else other)
    if rank_of(a) == rank_of(right) == 1:
        return ops.sum(ops.multiply(a, right))
    return _contract(a, right, [rank_of(a) - 1], [rank_of(right) - 1])


@converter("outer", "ger", "linalg_outer")
def _outer(a: RelayExpr, vec2: RelayExpr | None = None, other: RelayExpr | None = None) -> RelayExpr:
    right = as_expr(vec2 if other is None else other)
    return ops.multiply(*promoted(unsqueeze(a, [1]), unsqueeze(right, [0])))


@converter("linear")
def linear(x: RelayExpr, weight: RelayExpr, bias: RelayExpr | None = None) -> RelayExpr:
    """Build a linear layer: ``x @ weight.T + bias``."""
    rank, dims = rank_of(x), dims_of(x)
    rows = x if rank == 2 else reshape(x, [-1 if rank > 1 else 1, dims[-1]])
    if rank_of(weight) == 1:
        y = product(x, weight)
        return y if bias is None else ops.add(y, bias)
    y = ops.nn.dense(rows, weight)
    if bias is not None:
        y = ops.nn.bias_add(y, bias, axis=-1)
    return y if rank == 2 else reshape(y, [*dims[:-1], dims_of(weight)[0]])


def _plus(added: RelayExpr, y: RelayExpr, beta: Scalar, alpha: Scalar) -> RelayExpr:
    """Compute ``beta * added + alpha * y``."""
    if not (is_number(alpha) and alpha == 1):
        y = ops.multiply(y, tensor(alpha, dtype_of(y)))
    if is_number(beta) and beta == 0:
        return y
    if not (is_number(beta) and beta == 1):
        added = ops.multiply(added, tensor(beta, dtype_of(added)))
    return ops.add(y, added)


converters(
    {
        "addmm": lambda x, mat1, mat2, beta=1, alpha=1: _plus(x, product(mat1, mat2), beta, alpha),
        "addmv": lambda x, mat, vec, beta=1, alpha=1: _plus(x, product(mat, vec), beta, alpha),
        "addr": lambda x, vec1, vec2, beta=1, alpha=1: _plus(x, _outer(vec1, vec2), beta, alpha),
        "baddbmm": lambda x, batch1, batch2, beta=1, alpha=1: _plus(x, product(batch1, batch2), beta, alpha),
        "addbmm": lambda x, batch1, batch2, beta=1, alpha=1: _plus(
            x, ops.sum(product(batch1, batch2), axis=[0]), beta, alpha
        ),
    }
)


@converter("einsum")
def _einsum(equation: str, tensors: Sequence[RelayExpr], path: object = None) -> RelayExpr:
    values = promoted(*tensors)
    return ops.einsum(values, explicit_equation(equation, [rank_of(x) for x in values]))


@converter("tensordot")
def _tensordot(a: RelayExpr, other: RelayExpr, dims_self: Sequence[int], dims_other: Sequence[int]) -> RelayExpr:
    left = [axis_of(d, rank_of(a)) for d in dims_self]
    return _contract(a, other, left, [axis_of(d, rank_of(other)) for d in dims_other])


def _contract(a: RelayExpr, b: RelayExpr, axes_a: Sequence[int], axes_b: Sequence[int]) -> RelayExpr:
    """Contract two tensors along pairs of axes."""
    free_a = [i for i in range(rank_of(a)) if i not in axes_a]
    free_b = [i for i in range(rank_of(b)) if i not in axes_b]
    shape_a, shape_b = static_shape(a), static_shape(b)
    count = math.prod(shape_a[axis] for axis in axes_a)
    left = reshape(transpose(a, [*free_a, *axes_a]), [-1, count])
    right = reshape(transpose(b, [*axes_b, *free_b]), [count, -1])
    return reshape(product(left, right), [*(shape_a[i] for i in free_a), *(shape_b[i] for i in free_b)])


@converter("bilinear")
def _bilinear(input1: RelayExpr, input2: RelayExpr, weight: RelayExpr, bias: RelayExpr | None = None) -> RelayExpr:
    batch, (outputs, n, m) = static_shape(input1)[:-1], static_shape(weight)
    left, right = reshape(input1, [-1, n]), reshape(input2, [-1, m])
    y = ops.einsum([left, weight, right], "bn,onm,bm->bo")
    y = y if bias is None else ops.add(y, bias)
    return reshape(y, [*batch, outputs])


@converter("linalg_multi_dot", "chain_matmul")
def _chain(tensors: Sequence[RelayExpr]) -> RelayExpr:
    return functools.reduce(matmul, tensors)


@converter("kron")
def _kron(a: RelayExpr, other: RelayExpr) -> RelayExpr:
    rank = max(rank_of(a), rank_of(other))
    shapes = [[1] * (rank - rank_of(x)) + list(static_shape(x)) for x in (a, other)]
    left = reshape(a, [d for extent in shapes[0] for d in (extent, 1)])
    right = reshape(other, [d for extent in shapes[1] for d in (1, extent)])
    return reshape(ops.multiply(left, right), [m * n for m, n in zip(*shapes, strict=True)])


@converter("cdist")
def _cdist(x1: RelayExpr, x2: RelayExpr, p: float = 2.0, compute_mode: object = None) -> RelayExpr:
    from compiler.relay.frontend.pytorch.converters.reductions import vector_norm

    apart = ops.subtract(unsqueeze(x1, [rank_of(x1) - 1]), unsqueeze(x2, [rank_of(x2) - 2]))
    return vector_norm(apart, p, None, [-1], False)
