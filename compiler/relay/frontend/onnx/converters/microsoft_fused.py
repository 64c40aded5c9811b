"""Fused operators of ONNX Runtime: products with activations, normalisations with residuals, embeddings."""

from __future__ import annotations

import dataclasses

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.converters.elementwise import hard_sigmoid
from compiler.relay.frontend.onnx.converters.matmul import matmul
from compiler.relay.frontend.onnx.converters.normalization import rms_normalization
from compiler.relay.frontend.onnx.microsoft import as_standard, microsoft, with_rank
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.registry import converter
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dims_of, dtype_of, ops, rank_of
from compiler.relay.frontend.shared.tensors import bounded, static_dims, transpose

converter("SimplifiedLayerNormalization")(rms_normalization)


def _activated(x: RelayExpr, name: str, numbers: list[float]) -> RelayExpr:
    """Return what an activation makes of a tensor; ``numbers`` are its parameters."""

    def number(index: int, default: float) -> float:
        return numbers[index] if index < len(numbers) else default

    if name in ("Relu", "Sigmoid", "Tanh"):
        return {"Relu": ops.nn.relu, "Sigmoid": ops.sigmoid, "Tanh": ops.tanh}[name](x)
    if name == "LeakyRelu":
        return ops.nn.leaky_relu(x, number(0, 0.01))
    if name == "Clip":
        return ops.clip(x, number(0, float("-inf")), number(1, float("inf")))
    if name == "HardSigmoid":
        return hard_sigmoid(x, number(0, 0.2), number(1, 0.5))
    raise ConversionError(f"the activation {name!r} is not supported")


@microsoft("FusedConv", "X W B? Z?")
def _fused_conv(node: Node, x: RelayExpr, w: RelayExpr, bias: RelayExpr | None, added: RelayExpr | None) -> RelayExpr:
    result = as_standard("Conv", node, x, w, bias)
    result = result if added is None else ops.add(result, added)
    activation = node.attr("activation", "")
    return _activated(result, activation, node.attr("activation_params", [])) if activation else result


@microsoft("FusedGemm", "A B C?")
def _fused_gemm(node: Node, a: RelayExpr, b: RelayExpr, c: RelayExpr | None) -> RelayExpr:
    result = as_standard("Gemm", node, a, b, c)
    numbers = [node.attr(name) for name in ("activation_alpha", "activation_beta") if name in node.attributes]
    activation = node.attr("activation", "")
    return _activated(result, activation, numbers) if activation else result


@microsoft("FusedMatMul TransposeMatMul", "A B")
def _fused_matmul(node: Node, a: RelayExpr, b: RelayExpr) -> RelayExpr:
    a = _with_rows_last(a, bool(node.attr("transA", 0)), bool(node.attr("transBatchA", 0)))
    b = _with_rows_last(b, bool(node.attr("transB", 0)), bool(node.attr("transBatchB", 0)))
    alpha = node.attr("alpha", 1.0)
    product = matmul(a, b)
    return product if alpha == 1.0 else ops.multiply(product, alpha)


def _with_rows_last(x: RelayExpr, transposed: bool, batch_inside: bool) -> RelayExpr:
    """Return a batch of matrices whose last two axes are rows and columns."""
    rank = rank_of(x)
    if rank < 2:
        return x
    axes = [*range(1, rank - 1), 0, rank - 1] if batch_inside else list(range(rank))
    if transposed:
        axes[-2:] = axes[:-3:-1]
    return transpose(x, axes)


@microsoft("Gelu", "X")
def _gelu(node: Node, x: RelayExpr) -> RelayExpr:
    return as_standard("Gelu", node, x, opset=20)


@microsoft("BiasGelu", "A B")
def _bias_gelu(node: Node, x: RelayExpr, bias: RelayExpr | None) -> RelayExpr:
    return _gelu(node, ops.add(x, bias))


@microsoft("FastGelu", "X bias?")
def _fast_gelu(node: Node, x: RelayExpr, bias: RelayExpr | None) -> RelayExpr:
    tanh = Node("Gelu", [], {"approximate": "tanh"}, node.outputs, 20, node.run)
    return as_standard("Gelu", tanh, x if bias is None else ops.add(x, bias), opset=20)


@microsoft("QuickGelu", "X")
def _quick_gelu(node: Node, x: RelayExpr) -> RelayExpr:
    return ops.multiply(x, ops.sigmoid(ops.multiply(x, node.attr("alpha", 1.702))))


@microsoft("SkipLayerNormalization", "input skip gamma beta? bias?")
def _skip_layer_normalization(
    node: Node, x: RelayExpr, skip: RelayExpr, gamma: RelayExpr, beta: RelayExpr | None, bias: RelayExpr | None
) -> list[RelayExpr | None]:
    total = _summed(x, skip, bias)
    return [_layer_norm(total, gamma, beta, node.attr("epsilon", 1e-12)), None, None, total]


@microsoft("SkipSimplifiedLayerNormalization", "input skip gamma bias?")
def _skip_rms_normalization(
    node: Node, x: RelayExpr, skip: RelayExpr, gamma: RelayExpr, bias: RelayExpr | None
) -> list[RelayExpr | None]:
    total = _summed(x, skip, bias)
    exact = dataclasses.replace(node, attributes={"epsilon": 1e-12, **node.attributes})
    return [as_standard("RMSNormalization", exact, total, gamma, opset=23), None, None, total]


def _summed(x: RelayExpr, skip: RelayExpr, bias: RelayExpr | None) -> RelayExpr:
    total = ops.add(x, skip)
    return total if bias is None else ops.add(total, bias)


def _layer_norm(x: RelayExpr, gamma: RelayExpr, beta: RelayExpr | None, epsilon: float) -> RelayExpr:
    beta = constant(np.zeros(static_dims(gamma, "gamma"), np.float32), dtype_of(x)) if beta is None else beta
    return ops.nn.layer_norm(x, gamma, beta, axis=-1, epsilon=epsilon)


@microsoft(
    "EmbedLayerNormalization",
    "input_ids segment_ids? word_embedding position_embedding segment_embedding? gamma beta mask? position_ids?",
)
def _embed_layer_normalization(
    node: Node,
    ids: RelayExpr,
    segments: RelayExpr | None,
    words: RelayExpr,
    positions: RelayExpr,
    segment_table: RelayExpr | None,
    gamma: RelayExpr,
    beta: RelayExpr,
    mask: RelayExpr | None,
    places: RelayExpr | None,
) -> list[RelayExpr]:
    batch, length = static_dims(with_rank(ids, (2,), "input_ids"), "input_ids")
    if places is None:
        _check_length(length, positions)
        places = constant(np.arange(length, dtype=np.int64)[None])
    total = ops.add(ops.take(words, ids, axis=0), ops.take(positions, places, axis=0))
    if segments is not None:
        if segment_table is None:
            raise ConversionError("segment_ids are given without a segment_embedding")
        total = ops.add(total, ops.take(segment_table, segments, axis=0))
    index = constant(np.zeros(batch, np.int32)) if mask is None else ops.cast(ops.sum(mask, axis=1), "int32")
    return [_layer_norm(total, gamma, beta, node.attr("epsilon", 1e-12)), index, total]


def _check_length(length: int, positions: RelayExpr) -> None:
    bounded(length)
    rows = dims_of(positions)[0]
    if isinstance(rows, int) and length > rows:
        raise ConversionError(f"a sequence of {length} needs as many positions, position_embedding has {rows}")
