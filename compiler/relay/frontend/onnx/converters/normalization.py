"""Normalisation operators."""

from __future__ import annotations

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.reader import dtype_name
from compiler.relay.frontend.onnx.registry import converter
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dtype_of, ops, rank_of
from compiler.relay.frontend.shared.tensors import cast, static_dims


@converter("BatchNormalization")
def _batch_normalization(node: Node) -> RelayExpr | list[RelayExpr]:
    x, scale, bias, mean, variance = node.inputs
    epsilon = node.attr("epsilon", 1e-5)
    if not node.attr("training_mode", 0):
        return ops.nn.batch_norm(x, scale, bias, mean, variance, axis=1, epsilon=epsilon)[0]
    axes = [a for a in range(rank_of(x)) if a != 1]
    own_mean = ops.mean(x, axis=axes)
    away = ops.subtract(x, ops.mean(x, axis=axes, keepdims=True))
    own_variance = ops.mean(ops.multiply(away, away), axis=axes)
    kept = node.attr("momentum", 0.9)
    normalized = ops.nn.batch_norm(x, scale, bias, own_mean, own_variance, axis=1, epsilon=epsilon)[0]
    return [normalized, mixed(mean, own_mean, kept), mixed(variance, own_variance, kept)]


def mixed(old: RelayExpr, new: RelayExpr, kept: float) -> RelayExpr:
    """Return ``old * kept + new * (1 - kept)``."""
    return ops.add(ops.multiply(old, kept), ops.multiply(new, 1 - kept))


@converter("InstanceNormalization")
def _instance_normalization(node: Node) -> RelayExpr:
    return ops.nn.instance_norm(*node.inputs, axis=1, epsilon=node.attr("epsilon", 1e-5))


@converter("GroupNormalization", since=21)
def _group_normalization(node: Node) -> RelayExpr:
    x, scale, bias = node.inputs
    return ops.nn.group_norm(x, scale, bias, node.required("num_groups"), axis=1, epsilon=node.attr("epsilon", 1e-5))


@converter("LayerNormalization")
def _layer_normalization(node: Node) -> RelayExpr | list[RelayExpr]:
    (x, scale), bias = node.inputs[:2], node.input(2)
    rank = rank_of(x)
    axis, epsilon = node.attr("axis", -1) % rank, node.attr("epsilon", 1e-5)
    plain = axis == rank - 1 and rank_of(scale) == 1 and dtype_of(x) == "float32"
    if plain and bias is not None and rank_of(bias) == 1 and not node.wants(1) and not node.wants(2):
        return ops.nn.layer_norm(x, scale, bias, axis=axis, epsilon=epsilon)
    dtype, inner = dtype_of(x), dtype_name(node.attr("stash_type", 1), "attribute 'stash_type'")
    axes = list(range(axis, rank))
    wide = cast(x, inner)
    mean = ops.mean(wide, axis=axes, keepdims=True)
    away = ops.subtract(wide, mean)
    variance = ops.mean(ops.multiply(away, away), axis=axes, keepdims=True)
    inverse = ops.divide(1.0, ops.sqrt(ops.add(variance, epsilon)))
    normalized = ops.multiply(cast(ops.multiply(away, inverse), dtype), scale)
    return [normalized if bias is None else ops.add(normalized, bias), mean, inverse]


@converter("RMSNormalization")
def rms_normalization(node: Node) -> RelayExpr:
    """Divide by the root mean square, without subtracting the mean."""
    x, scale = node.inputs
    axis, dtype = node.attr("axis", -1) % rank_of(x), dtype_of(x)
    wide = cast(x, dtype_name(node.attr("stash_type", 1), "attribute 'stash_type'"))
    square = ops.mean(ops.multiply(wide, wide), axis=list(range(axis, rank_of(x))), keepdims=True)
    root = ops.sqrt(ops.add(square, node.attr("epsilon", 1e-5)))
    return ops.multiply(cast(ops.divide(wide, root), dtype), scale)


@converter("LRN")
def _lrn(node: Node) -> RelayExpr:
    alpha, beta, bias = node.attr("alpha", 1e-4), node.attr("beta", 0.75), node.attr("bias", 1.0)
    return ops.nn.lrn(node.inputs[0], size=node.required("size"), axis=1, bias=bias, alpha=alpha, beta=beta)


@converter("LpNormalization")
def _lp_normalization(node: Node) -> RelayExpr:
    x, axis, p = node.inputs[0], node.attr("axis", -1), node.attr("p", 2)
    if p not in (1, 2):
        raise ConversionError(f"p must be 1 or 2, got {p}")
    size = ops.sum(ops.abs(x) if p == 1 else ops.multiply(x, x), axis=[axis % rank_of(x)], keepdims=True)
    size = size if p == 1 else ops.sqrt(size)
    return ops.where(ops.equal(size, 0.0), 0.0, ops.divide(x, ops.where(ops.equal(size, 0.0), 1.0, size)))


@converter("MeanVarianceNormalization")
def _mean_variance_normalization(node: Node) -> RelayExpr:
    x, axes = node.inputs[0], [a % rank_of(node.inputs[0]) for a in node.attr("axes", [0, 2, 3])]
    away = ops.subtract(x, ops.mean(x, axis=axes, keepdims=True))
    deviation = ops.sqrt(ops.mean(ops.multiply(away, away), axis=axes, keepdims=True))
    return ops.divide(away, ops.add(deviation, 1e-9))


@converter("Det")
def _det(node: Node) -> RelayExpr:
    """Convert ``Det`` by Laplace expansion, which suits small matrices."""
    x = node.inputs[0]
    (n,) = static_dims(x, "the input", [-1])
    if not 1 <= n <= 5:
        raise ConversionError(f"determinants are supported from 1 x 1 to 5 x 5, got {n} x {n}")
    return _determinant(x, tuple(range(n)), 0, {})


def _determinant(
    x: RelayExpr, columns: tuple[int, ...], row: int, known: dict[tuple[int, ...], RelayExpr]
) -> RelayExpr:
    if columns in known:
        return known[columns]
    total: RelayExpr | None = None
    for i, column in enumerate(columns):
        entry = ops.take(ops.take(x, _index(row), axis=-2), _index(column), axis=-1)
        rest = columns[:i] + columns[i + 1 :]
        term = ops.multiply(entry, _determinant(x, rest, row + 1, known)) if rest else entry
        total = term if total is None else (ops.subtract if i % 2 else ops.add)(total, term)
    assert total is not None  # there is at least one column
    known[columns] = total
    return total


def _index(value: int) -> RelayExpr:
    return constant(value, "int64")
