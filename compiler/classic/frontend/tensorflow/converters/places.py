"""Where, unique, histograms and non-maximum suppression."""

from __future__ import annotations

import math

import numpy as np

from compiler.classic.frontend.shared.boxes import non_max_suppression, pad_boxes
from compiler.classic.frontend.shared.index_operators import argwhere, leading, unique
from compiler.classic.frontend.tensorflow.node import Node
from compiler.classic.frontend.tensorflow.registry import converter
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dims_of, dtype_of, ops, rank_of, scalar
from compiler.relay.frontend.shared.tensors import bounded, cast


@converter("Where")
def _where(node: Node) -> RelayExpr:
    return argwhere(node.inputs[0])


@converter("Unique", "UniqueWithCounts")
def _unique(node: Node) -> list[RelayExpr]:
    """Convert ``Unique``: values in order of first occurrence, inverse indices, and counts."""
    results = unique(node.inputs[0], node.attr("out_idx", "int32"))
    return results[: 3 if node.operator == "UniqueWithCounts" else 2]


@converter("UnravelIndex")
def _unravel_index(node: Node) -> RelayExpr:
    return ops.unravel_index(*node.inputs)


@converter("Bincount", "DenseBincount")
def _bincount(node: Node) -> RelayExpr:
    """Count integers below a limit, optionally weighted; for matrices, per row."""
    x, weights = node.inputs[0], node.inputs[2]
    (limit,) = node.ints(1, "the number of bins")
    bounded(limit)
    is_one = ops.equal(ops.expand_dims(x, -1), constant(np.arange(limit), dtype_of(x)))
    dtype = dtype_of(weights)
    weighted = dims_of(weights) == dims_of(x)
    counted = ops.multiply(cast(is_one, dtype), ops.expand_dims(weights, -1)) if weighted else cast(is_one, dtype)
    per_row = node.operator == "DenseBincount" and rank_of(x) == 2
    total = ops.sum(counted, axis=[rank_of(x) - 1] if per_row else list(range(rank_of(x))))
    return cast(ops.greater(total, scalar(0, total)), dtype) if node.attr("binary_output", False) else total


@converter("SparseToDense")
def _sparse_to_dense(node: Node) -> RelayExpr:
    indices, _, values, default = node.inputs
    return ops.sparse_to_dense(indices, node.ints(1, "the shape"), values, default)


_NMS = ("NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionV4", "NonMaxSuppressionV5")


@converter(*_NMS)
def _non_max_suppression(node: Node) -> list[RelayExpr] | RelayExpr:
    boxes, scores, limit, overlap, *rest = node.inputs
    least = rest[0] if rest else scalar(-math.inf, scores)
    if node.operator == "NonMaxSuppressionV5" and node.value(5, "the softness").any():
        raise ConversionError("soft non-maximum suppression (soft_nms_sigma) is not supported")
    chosen, count = non_max_suppression(boxes, scores, limit, overlap, least)
    if not node.attr("pad_to_max_output_size", False):
        kept = leading(chosen, count)
        values = ops.take(scores, kept, axis=0)
    else:
        (most,) = node.ints(2, "the number of boxes")
        kept, values = pad_boxes(chosen, count, scores, most)
    return {"NonMaxSuppressionV4": [kept, count], "NonMaxSuppressionV5": [kept, values, count]}.get(node.operator, kept)


@converter("BatchNormWithGlobalNormalization")
def _batch_norm(node: Node) -> RelayExpr:
    """Convert the oldest form of batch normalization, whose last inputs are shift and scale."""
    x, mean, variance, beta, gamma = node.inputs
    factor = ops.rsqrt(ops.add(variance, scalar(float(node.attr("variance_epsilon", 1e-3)), variance)))
    factor = ops.multiply(factor, gamma) if node.attr("scale_after_normalization", True) else factor
    return ops.add(ops.multiply(ops.subtract(x, mean), factor), beta)
