"""Products of matrices: MatMul, Gemm, Einsum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.config import current_config
from compiler.relay.frontend.onnx.converters.shape import expand, reshape, transpose, unsqueeze
from compiler.relay.frontend.onnx.errors import ConversionError
from compiler.relay.frontend.onnx.folding import dims_of, dtype_of, ops, rank_of
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.registry import converter
from compiler.relay.op.type_relations import broadcast_dims
from compiler.relay.ty import Dim


@converter("MatMul")
def _matmul(node: Node) -> Any:
    return matmul(*node.inputs)


def matmul(a: RelayExpr, b: RelayExpr, out_dtype: str = "") -> Any:
    """Multiply as NumPy does: vectors are rows or columns, leading axes are batches that broadcast."""
    if rank_of(a) == 1:
        return _without(matmul(unsqueeze(a, [0]), b, out_dtype), -2)
    if rank_of(b) == 1:
        return _without(matmul(a, unsqueeze(b, [1]), out_dtype), -1)
    if rank_of(b) == 2 and rank_of(a) >= 2:
        return _rows_times_matrix(a, b, out_dtype)
    return _batched(a, b, out_dtype)


def _without(x: RelayExpr, axis: int) -> Any:
    return ops.squeeze(x, axis=[rank_of(x) + axis])


def _rows_times_matrix(a: RelayExpr, b: RelayExpr, out_dtype: str) -> Any:
    dims = dims_of(a)
    rows = a if len(dims) == 2 else reshape(a, [_known_product(dims[:-1]), dims[-1]])
    product = ops.nn.dense(rows, transpose(b, [1, 0]), out_dtype=out_dtype or dtype_of(a))
    return product if len(dims) == 2 else reshape(product, [*dims[:-1], dims_of(b)[1]])


def _known_product(dims: Sequence[Dim]) -> Any:
    return math.prod(dims) if all(isinstance(d, int) for d in dims) else None


def _batched(a: RelayExpr, b: RelayExpr, out_dtype: str) -> Any:
    batch = broadcast_dims(dims_of(a)[:-2], dims_of(b)[:-2])
    (m, k), n = dims_of(a)[-2:], dims_of(b)[-1]
    if len(batch) == 1 and rank_of(a) == rank_of(b) == 3:
        return _matrices(a, b, out_dtype)
    count = _known_product(batch)
    left = reshape(expand(a, [*batch, m, k]), [count, m, k])
    right = reshape(expand(b, [*batch, k, n]), [count, k, n])
    return reshape(_matrices(left, right, out_dtype), [*batch, m, n])


def _matrices(a: RelayExpr, b: RelayExpr, out_dtype: str) -> Any:
    """Multiply two batches of matrices, three-dimensional ones."""
    nt = current_config().use_nt_batch_matmul
    right = transpose(b, [0, 2, 1]) if nt else b
    return ops.nn.batch_matmul(a, right, out_dtype=out_dtype or dtype_of(a), transpose_a=False, transpose_b=nt)


@converter("Gemm")
def _gemm(node: Node) -> Any:
    a, b, c = node.take(3)
    alpha, beta = node.attr("alpha", 1.0), node.attr("beta", 1.0)
    if node.attr("transA", 0):
        a = transpose(a, [1, 0])
    if not node.attr("transB", 0):
        b = transpose(b, [1, 0])
    product = ops.nn.dense(a, b)
    if alpha != 1.0:
        product = ops.multiply(product, alpha)
    if c is None or beta == 0.0:
        return product
    return ops.add(product, c if beta == 1.0 else ops.multiply(c, beta))


@converter("Einsum")
def _einsum(node: Node) -> Any:
    equation = spelled_out(node.required("equation"), [rank_of(x) for x in node.inputs])
    return ops.einsum(list(node.inputs), equation)


def spelled_out(equation: str, ranks: list[int]) -> str:
    """Return an equation with a letter for every axis: ellipses and a missing result are written out."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ConversionError(f"equation {equation!r} has {len(terms)} terms for {len(ranks)} inputs")
    free = [c for c in "ZYXWVUTSRQPONMLKJIHGFEDCBA" if c not in equation]
    hidden = [rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks, strict=True)]
    most = max((h for h, term in zip(hidden, terms, strict=True) if "..." in term), default=0)
    dots = "".join(free[:most])[::-1]

    def written(term: str, count: int) -> str:
        return term.replace("...", dots[len(dots) - count :])

    terms = [written(term, h) for term, h in zip(terms, hidden, strict=True)]
    if not arrow:
        letters = "".join(terms)
        right = dots + "".join(sorted(c for c in set(letters) - set(dots) if letters.count(c) == 1))
    return f"{','.join(terms)}->{written(right, len(dots))}"
